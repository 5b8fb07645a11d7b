"""Registers in the room of others that are done before they begin."""

from __future__ import annotations

from collections.abc import Collection

from tarsus.program.ir.program import Program
from tarsus.program.lowering.scopes import accesses, local_registers

Span = tuple[int, int]  # first and last of the blocks that touch a register, counted in order


def overlapping(
    program: Program, names: Collection[str], shared: Collection[str] = ()
) -> tuple[dict[str, int], int]:
    """Where registers begin, in numbers, and how much room all of them take.

    shared: registers that others than the program read too
    """
    spans, placed, room = _spans(program, shared), list[tuple[Span, int, int]](), 0
    found = dict.fromkeys(names, 0)
    for name in sorted(spans.keys() & found.keys(), key=lambda name: (spans[name], name)):
        size, span, at = program.sizes[name], spans[name], 0
        alive = sorted((a, b) for other, a, b in placed if _meet(span, other))
        for first, end in alive:
            if at + size <= first:
                break
            at = max(at, end)
        found[name] = at
        placed.append((span, at, at + size))
        room = max(room, at + size)
    return found, room


def _meet(a: Span, b: Span) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def _spans(program: Program, shared: Collection[str]) -> dict[str, Span]:
    """From when to when each register holds something: in a loop throughout, unless it lives there
    alone.
    """
    # every block reads first, then it writes
    touched, at, wrote = list(accesses(program.blocks)), list[int](), False
    for _, writes, _ in touched:
        at.append((at[-1] if at else 0) + (wrote and not writes))
        wrote = writes
    loops: dict[int, Span] = {}
    for k, (_, _, around) in zip(at, touched, strict=True):
        for loop in around:
            loops[loop] = (loops.get(loop, (k, k))[0], k)
    local = {
        (name, loop) for loop, names in local_registers(program, shared).items() for name in names
    }
    found: dict[str, Span] = {}
    for k, (name, _, around) in zip(at, touched, strict=True):
        own = [i for i, loop in enumerate(around) if (name, loop) in local]
        inside = around[own[0] + 1 :] if own else around
        first, last = loops[inside[0]] if inside else (k, k)
        known = found.get(name, (first, last))
        found[name] = min(known[0], first), max(known[1], last)
    return found
