"""Live-in and live-out entries of cold functions: the temporaries that a call passes and returns.

The kernel copies these entries where it calls the function, which it rarely does. Elsewhere the
compiler is free to keep them in machine registers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from tarsus.program.ir.blocks import BasicBlock, Block, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.instructions import instructions

Entry = tuple[str, int]  # register, index


@dataclass(frozen=True)
class EntryAccesses:
    """Entries of temporaries that blocks read and write."""

    read: set[Entry] = field(default_factory=set)
    written: set[Entry] = field(default_factory=set)


@dataclass(frozen=True)
class ColdInterface:
    """Temporaries that a cold function exchanges with its caller.

    Attributes
    ----------
    live_in
        Entries that the caller passes.
    live_out
        Entries that the function writes and others read after it.
    """

    live_in: list[Entry]
    live_out: list[Entry]


def cold_interfaces(program: Program, shared: tuple[str, ...] = ()) -> list[ColdInterface]:
    """Find the interface of each of the program's cold loops.

    Parameters
    ----------
    program
        Program with cold loops.
    shared
        Temporaries that code outside of the program reads and writes.

    Returns
    -------
    list of ColdInterface
        Interfaces, in the order of `program.cold_loops`.
    """
    accesses = [_collect_accesses(program, [loop]) for loop in program.cold_loops]
    rest = _collect_accesses(program, program.blocks, set(map(id, program.cold_loops)))
    outside = {(name, k) for name in shared for k in range(program.sizes[name])}
    rest.read.update(outside)
    rest.written.update(outside)
    interfaces = []
    for k, inside in enumerate(accesses):
        others = [rest, *accesses[:k], *accesses[k + 1 :]]
        read, written = set[Entry](), set[Entry]()
        for other in others:
            read |= other.read
            written |= other.written
        # live-out entries are live-in too: worlds that skip the loop keep their values
        live_out = inside.written & read
        live_in = (inside.read | live_out) & written
        interfaces.append(ColdInterface(sorted(live_in), sorted(live_out)))
    return interfaces


def _collect_accesses(
    program: Program, blocks: Iterable[Block], skip: Collection[int] = ()
) -> EntryAccesses:
    """Collect the accesses of blocks, except loops with the ids in `skip`."""
    result, sizes = EntryAccesses(), {r.name: r.size for r in program.of_kind("temporary")}

    def all_entries(*names: str) -> set[Entry]:
        return {(name, k) for name in names for k in range(sizes.get(name, 0))}

    def visit(block: Block) -> None:
        if id(block) in skip:
            return
        if isinstance(block, While):
            result.read.update(all_entries(block.condition))
            for inner in block.body:
                visit(inner)
        elif isinstance(block, BasicBlock):
            result.read.update(entry for entry in _entries_read(block) if entry[0] in sizes)
            result.written.update(all_entries(*block.written))
        else:
            result.read.update(all_entries(*block.read))
            result.written.update(all_entries(*block.written))

    for block in blocks:
        visit(block)
    return result


def _entries_read(block: BasicBlock) -> list[Entry]:
    rows = instructions(block.function)
    operands = np.unique(rows[rows[:, 0] == ca.OP_INPUT][:, 2:4], axis=0)
    return [(block.inputs[argument], entry) for argument, entry in operands.tolist()]
