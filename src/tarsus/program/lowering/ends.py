"""When a straight block writes what it ends with."""

from __future__ import annotations

from tarsus.program.ir.blocks import Straight
from tarsus.program.lowering.tape import Tape

Soon = dict[int, list[tuple[str, int]]]
Late = list[tuple[str, int, int]]


def ends(t: Tape, block: Straight, early: bool) -> tuple[Soon, Late]:
    """Entries of registers that get a node's value as soon as it is known, by the node, and those
    that get one at the block's end, for they are still read: register, entry and node.

    early: whether any are written before the end. Unoptimized code lets each value that waits for
    it wait in a place of its own.
    """
    found = [(block.outputs[argument], entry, k) for (argument, entry), k in t.outputs]
    if not early:
        return {}, found
    read = {
        (block.inputs[node.place[0]], node.place[1]): k
        for k, node in enumerate(t.nodes)
        if node.op == "input"
    }
    soon, late = Soon(), Late()
    for register, entry, k in found:
        if read.get((register, entry), -1) <= k:
            soon.setdefault(k, []).append((register, entry))
        else:
            late.append((register, entry, k))
    return soon, late
