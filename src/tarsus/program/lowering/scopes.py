"""Which registers live inside a loop alone: written anew in every round before they are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tarsus.program.ir.blocks import Block, While
from tarsus.program.ir.program import Program

Access = tuple[str, bool, tuple[int, ...]]  # register, whether it is written, loops around it


def local_registers(program: Program, shared: Collection[str] = ()) -> dict[int, frozenset[str]]:
    """By the id of each loop the registers whose values no other round, and nothing outside the
    loop, reads: what stands in them in worlds that are done does not matter.

    shared: registers that others than the program read too
    """
    # who touches each register, in order
    touched = list(accesses(program.blocks))
    by_register: dict[str, list[Access]] = {}
    for access in touched:
        by_register.setdefault(access[0], []).append(access)
    temporary = {r.name for r in program.registers if r.kind == "temporary"}.difference(shared)
    # first written by a block of the loop itself, never touched outside
    found: dict[int, set[str]] = {}
    for name in temporary & by_register.keys():
        (_, written, around), *others = by_register[name]
        if written and around and all(other[2][: len(around)] == around for other in others):
            found.setdefault(around[-1], set()).add(name)
    return {loop: frozenset(names) for loop, names in found.items()}


def written(blocks: tuple[Block, ...]) -> list[str]:
    """The registers that blocks write, in the order in which they first do."""
    return list(dict.fromkeys(name for name, writes, _ in accesses(blocks) if writes))


def accesses(blocks: tuple[Block, ...], around: tuple[int, ...] = ()) -> Iterator[Access]:
    """Every reading and writing of a register, in the order of the program."""
    for block in blocks:
        if isinstance(block, While):
            yield block.more, False, around
            yield from accesses(block.body, (*around, id(block)))
            yield block.more, False, (*around, id(block))
        else:
            yield from ((name, False, around) for name in block.read)
            yield from ((name, True, around) for name in block.written)
