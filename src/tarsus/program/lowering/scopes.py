"""Scopes of registers: which ones are local to the iterations of a loop."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tarsus.program.ir.blocks import Block, While
from tarsus.program.ir.program import Program

Access = tuple[str, bool, tuple[int, ...]]  # register, whether it is written, enclosing loops


def local_registers(program: Program, shared: Collection[str] = ()) -> dict[int, frozenset[str]]:
    """Find the registers that are local to an iteration of each loop.

    They are written before they are read in every iteration, and not used outside of the loop. So
    their values in inactive worlds do not matter.

    Parameters
    ----------
    program
        Program with loops.
    shared
        Registers that code outside of the program reads too.

    Returns
    -------
    dict
        Names of registers, by the id of the loop.
    """
    touched = list(accesses(program.blocks))
    by_register: dict[str, list[Access]] = {}
    for access in touched:
        by_register.setdefault(access[0], []).append(access)
    temporary = {r.name for r in program.registers if r.kind == "temporary"}.difference(shared)
    # first written by a block of the loop itself, and never used outside
    local: dict[int, set[str]] = {}
    for name in temporary & by_register.keys():
        (_, written, enclosing), *others = by_register[name]
        inside = all(other[2][: len(enclosing)] == enclosing for other in others)
        if written and enclosing and inside:
            local.setdefault(enclosing[-1], set()).add(name)
    return {loop: frozenset(names) for loop, names in local.items()}


def written_registers(blocks: tuple[Block, ...]) -> list[str]:
    """List the registers that blocks write, in the order of their first write."""
    return list(dict.fromkeys(name for name, writes, _ in accesses(blocks) if writes))


def accesses(blocks: tuple[Block, ...], enclosing: tuple[int, ...] = ()) -> Iterator[Access]:
    """Yield every read and write of a register, in program order."""
    for block in blocks:
        if isinstance(block, While):
            yield block.condition, False, enclosing
            yield from accesses(block.body, (*enclosing, id(block)))
            yield block.condition, False, (*enclosing, id(block))
        else:
            yield from ((name, False, enclosing) for name in block.read)
            yield from ((name, True, enclosing) for name in block.written)
