"""What a function for a cold loop is passed of the temporaries, and what it gives back.

The kernel copies these entries where it calls the function, which it hardly ever does: until then
they stay where the compiler of the kernel likes them best.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from tarsus.program.ir.blocks import Block, Straight, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.instructions import instructions

Entry = tuple[str, int]  # of a register


@dataclass(frozen=True)
class Touched:
    """Entries of temporaries that some blocks read, and those that they write."""

    read: set[Entry] = field(default_factory=set)
    written: set[Entry] = field(default_factory=set)


@dataclass(frozen=True)
class Passed:
    """given: entries that the function finds; back: those that others read after it."""

    given: list[Entry]
    back: list[Entry]


def passed(program: Program, shared: tuple[str, ...] = ()) -> list[Passed]:
    """Of each of the program's cold loops.

    shared: temporaries that others than the program read and write
    """
    own = [_touched(program, [loop]) for loop in program.cold]
    rest = _touched(program, program.blocks, set(map(id, program.cold)))
    outside = {(name, k) for name in shared for k in range(program.sizes[name])}
    rest.read.update(outside)
    rest.written.update(outside)
    found = []
    for k, inside in enumerate(own):
        others = [rest, *own[:k], *own[k + 1 :]]
        read, written = set[Entry](), set[Entry]()
        for other in others:
            read |= other.read
            written |= other.written
        # worlds that do not enter keep what is given back
        back = inside.written & read
        given = (inside.read | back) & written
        found.append(Passed(sorted(given), sorted(back)))
    return found


def _touched(program: Program, blocks: Iterable[Block], without: Collection[int] = ()) -> Touched:
    """By blocks, but for the loops with some ids."""
    found, sizes = Touched(), {r.name: r.size for r in program.of_kind("temporary")}

    def whole(*names: str) -> set[Entry]:
        return {(name, k) for name in names for k in range(sizes.get(name, 0))}

    def through(block: Block) -> None:
        if id(block) in without:
            return
        if isinstance(block, While):
            found.read.update(whole(block.more))
            for inner in block.body:
                through(inner)
        elif isinstance(block, Straight):
            found.read.update(entry for entry in _inputs(block) if entry[0] in sizes)
            found.written.update(whole(*block.written))
        else:
            found.read.update(whole(*block.read))
            found.written.update(whole(*block.written))

    for block in blocks:
        through(block)
    return found


def _inputs(block: Straight) -> list[Entry]:
    """The entries that it reads."""
    rows = instructions(block.function)
    taken = np.unique(rows[rows[:, 0] == ca.OP_INPUT][:, 2:4], axis=0)
    return [(block.inputs[argument], entry) for argument, entry in taken.tolist()]
