"""Available copies: which temporaries hold a value that is still in the world's record.

This is the data-flow analysis behind copy propagation. The fast path uses it to leave out stores of
values that are already in the record.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from tarsus.program.ir.blocks import BasicBlock, Block, ColdLoop, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.cold_interface import Entry
from tarsus.program.lowering.instructions import instructions
from tarsus.program.lowering.scopes import written_registers

Copies = dict[Entry, Entry]  # entries of temporaries: the entry of the record with the same value


def available_copies(
    program: Program, blocks: Sequence[Block], first: int, before: Copies | None = None
) -> list[Copies]:
    """Find the copies available before each block and after the last.

    Parameters
    ----------
    program
        Program of the blocks.
    blocks
        Consecutive blocks.
    first
        Index of a block; from it on no world enters a loop.
    before
        Copies available before the first block.

    Returns
    -------
    list of dict
        len(blocks) + 1 sets of copies.
    """
    record = {r.name for r in program.persistent}
    result = [Copies() if before is None else before]
    for k, block in enumerate(blocks):
        copies = result[-1]
        if isinstance(block, BasicBlock):
            copies = _after_block(block, copies, record)
        elif k < first or not isinstance(block, While | ColdLoop):
            copies = kill(copies, (block,))
        result.append(copies)
    return result


def _after_block(block: BasicBlock, copies: Copies, record: set[str]) -> Copies:
    # sources of the entries that the block copies
    moves, source = _find_moves(block), dict[Entry, Entry]()
    for to, read in moves.items():
        if read is not None and (read[0] in record or read in copies):
            source[to] = copies.get(read, read)
    # entries of the record that change
    changed = {to for to in moves if to[0] in record and source.get(to) != to}
    remaining = {entry: copied for entry, copied in copies.items() if entry not in moves}
    remaining |= {to: copied for to, copied in source.items() if to[0] not in record}
    return {entry: copied for entry, copied in remaining.items() if copied not in changed}


def _find_moves(block: BasicBlock) -> dict[Entry, Entry | None]:
    """Find the source of each entry that the block writes; None if it is computed."""
    contents, moves = dict[int, Entry](), dict[Entry, Entry | None]()
    for code, to, one, two in instructions(block.function).tolist():
        if code == ca.OP_OUTPUT:
            moves[block.outputs[to], two] = contents.get(one)
        elif code == ca.OP_INPUT:
            contents[to] = block.inputs[one], two
        else:
            contents.pop(to, None)
    return moves


def kill(copies: Copies, blocks: Sequence[Block]) -> Copies:
    """Select the copies that are still available after the blocks."""
    names = set(written_registers(tuple(blocks)))
    return {
        entry: source
        for entry, source in copies.items()
        if entry[0] not in names and source[0] not in names
    }
