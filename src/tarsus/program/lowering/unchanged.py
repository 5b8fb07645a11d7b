"""What temporaries hold of the record: numbers that a step has not changed so far."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from tarsus.program.ir.blocks import Block, ColdLoop, Straight, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.instructions import instructions
from tarsus.program.lowering.passed import Entry
from tarsus.program.lowering.scopes import written

Same = dict[Entry, Entry]  # entries of temporaries: the one of the record that holds as much


def unchanged(
    program: Program, blocks: Sequence[Block], first: int, before: Same | None = None
) -> list[Same]:
    """Before each of the blocks and after the last, where no world enters a loop from block number
    `first` on; before: the first.
    """
    record = {r.name for r in program.persistent}
    found = [Same() if before is None else before]
    for k, block in enumerate(blocks):
        same = found[-1]
        if isinstance(block, Straight):
            same = _after(block, same, record)
        elif k < first or not isinstance(block, While | ColdLoop):
            same = without(same, (block,))
        found.append(same)
    return found


def _after(block: Straight, same: Same, record: set[str]) -> Same:
    """What is known after a straight block."""
    # where what it writes comes from
    put, source = _moves(block), dict[Entry, Entry]()
    for to, read in put.items():
        if read is not None and (read[0] in record or read in same):
            source[to] = same.get(read, read)
    # numbers of the record that get a value of others are no more what they were
    lost = {to for to in put if to[0] in record and source.get(to) != to}
    kept = {at: own for at, own in same.items() if at not in put}
    kept |= {to: own for to, own in source.items() if to[0] not in record}
    return {at: own for at, own in kept.items() if own not in lost}


def _moves(block: Straight) -> dict[Entry, Entry | None]:
    """Each entry that it writes, and the one whose value that is; None if it is computed."""
    held, found = dict[int, Entry](), dict[Entry, Entry | None]()
    for code, to, one, two in instructions(block.function).tolist():
        if code == ca.OP_OUTPUT:
            found[block.outputs[to], two] = held.get(one)
        elif code == ca.OP_INPUT:
            held[to] = block.inputs[one], two
        else:
            held.pop(to, None)
    return found


def without(same: Same, blocks: Sequence[Block]) -> Same:
    """What is known whatever some blocks have done."""
    names = set(written(tuple(blocks)))
    return {at: own for at, own in same.items() if at[0] not in names and own[0] not in names}
