"""Schedule the stores of a basic block's outputs."""

from __future__ import annotations

from tarsus.program.ir.blocks import BasicBlock
from tarsus.program.lowering.tape import Tape

EarlyStores = dict[int, list[tuple[str, int]]]  # by node: registers and entries
LateStores = list[tuple[str, int, int]]  # register, entry, node


def schedule_stores(t: Tape, block: BasicBlock, early: bool) -> tuple[EarlyStores, LateStores]:
    """Schedule the stores right after a node, and those at the end of the block.

    An entry that the block still reads is stored at the end.

    Parameters
    ----------
    t
        Tape of the block.
    block
        Basic block.
    early
        Whether any output is stored before the end. In unoptimized code every value that is live
        until the end takes a stack slot of its own.

    Returns
    -------
    tuple
        Early and late stores.
    """
    stores = [(block.outputs[argument], entry, k) for (argument, entry), k in t.outputs]
    if not early:
        return {}, stores
    last_read = {
        (block.inputs[node.slot[0]], node.slot[1]): k
        for k, node in enumerate(t.nodes)
        if node.op == "input"
    }
    after_node, at_end = EarlyStores(), LateStores()
    for register, entry, k in stores:
        if last_read.get((register, entry), -1) <= k:
            after_node.setdefault(k, []).append((register, entry))
        else:
            at_end.append((register, entry, k))
    return after_node, at_end
