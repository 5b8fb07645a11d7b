"""What temporaries hold of the record: numbers that a step has not changed so far."""

from __future__ import annotations

from collections.abc import Sequence

from tarsus.program.ir.blocks import Block, Straight, While, names_in
from tarsus.program.ir.program import Program
from tarsus.program.lowering.passed import Entry
from tarsus.program.lowering.tape import tape

Same = dict[Entry, Entry]  # entries of temporaries: the one of the record that holds as much


def unchanged(program: Program, blocks: Sequence[Block], first: int) -> list[Same]:
    """Before each of a program's blocks, where no world enters a `seldom` loop from block number
    `first` on.
    """
    record = {r.name for r in program.persistent}
    same, found = Same(), list[Same]()
    for k, block in enumerate(blocks):
        found.append(same)
        if isinstance(block, Straight):
            same = _after(block, same, record)
        elif k < first or (isinstance(block, While) and not block.seldom):
            gone = names_in((block,)) if isinstance(block, While) else set(block.written)
            same = _without(same, gone)
    return found


def _after(block: Straight, same: Same, record: set[str]) -> Same:
    """What is known after a straight block."""
    # where what it writes comes from
    t = tape(block.function)
    source = dict[Entry, Entry]()
    for (argument, entry), k in t.outputs:
        node = t.nodes[k]
        if node.op == "input":
            read = block.inputs[node.place[0]], node.place[1]
            if read[0] in record or read in same:
                source[block.outputs[argument], entry] = same.get(read, read)
    # numbers of the record that get a value of others are no more what they were
    written = {(block.outputs[argument], entry) for (argument, entry), _ in t.outputs}
    lost = {to for to in written if to[0] in record and source.get(to) != to}
    kept = {at: own for at, own in same.items() if at not in written}
    kept |= {to: own for to, own in source.items() if to[0] not in record}
    return {at: own for at, own in kept.items() if own not in lost}


def _without(same: Same, names: set[str]) -> Same:
    """Without what is known of some registers."""
    return {at: own for at, own in same.items() if at[0] not in names and own[0] not in names}
