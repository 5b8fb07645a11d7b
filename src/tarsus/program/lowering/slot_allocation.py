"""Allocate memory to registers, shared by registers with disjoint live ranges (stack coloring)."""

from __future__ import annotations

from collections.abc import Collection

from tarsus.program.ir.program import Program
from tarsus.program.lowering.scopes import accesses, local_registers

LiveRange = tuple[int, int]  # first and last block that accesses a register, counted in order


def allocate_slots(
    program: Program, names: Collection[str], shared: Collection[str] = ()
) -> tuple[dict[str, int], int]:
    """Assign offsets to registers so that overlapping live ranges do not share memory.

    Parameters
    ----------
    program
        Program that accesses the registers.
    names
        Registers to allocate.
    shared
        Registers that code outside of the program reads too.

    Returns
    -------
    offsets : dict
        Offset of each register, in entries.
    size : int
        Total number of entries.
    """
    ranges, allocated, size = _live_ranges(program, shared), list[tuple[LiveRange, int, int]](), 0
    offsets = dict.fromkeys(names, 0)
    for name in sorted(ranges.keys() & offsets.keys(), key=lambda name: (ranges[name], name)):
        entries, spans, offset = program.sizes[name], ranges[name], 0
        live = sorted((a, b) for other, a, b in allocated if _overlap(spans, other))
        for first, end in live:
            if offset + entries <= first:
                break
            offset = max(offset, end)
        offsets[name] = offset
        allocated.append((spans, offset, offset + entries))
        size = max(size, offset + entries)
    return offsets, size


def _overlap(a: LiveRange, b: LiveRange) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def _live_ranges(program: Program, shared: Collection[str]) -> dict[str, LiveRange]:
    """Compute the live range of each register.

    A register accessed in a loop is live in the whole loop, unless it is local to an iteration.
    """
    # number the blocks: each reads first, then writes
    touched, numbers, wrote = list(accesses(program.blocks)), list[int](), False
    for _, writes, _ in touched:
        numbers.append((numbers[-1] if numbers else 0) + (wrote and not writes))
        wrote = writes
    loops: dict[int, LiveRange] = {}
    for k, (_, _, enclosing) in zip(numbers, touched, strict=True):
        for loop in enclosing:
            loops[loop] = (loops.get(loop, (k, k))[0], k)
    local = {
        (name, loop) for loop, names in local_registers(program, shared).items() for name in names
    }
    ranges: dict[str, LiveRange] = {}
    for k, (name, _, enclosing) in zip(numbers, touched, strict=True):
        local_loops = [i for i, loop in enumerate(enclosing) if (name, loop) in local]
        inner = enclosing[local_loops[0] + 1 :] if local_loops else enclosing
        first, last = loops[inner[0]] if inner else (k, k)
        known = ranges.get(name, (first, last))
        ranges[name] = min(known[0], first), max(known[1], last)
    return ranges
