"""Fast path: the end of a step for worlds that enter none of its remaining cold loops.

Most worlds take it. The code generator writes the end of a step twice (tail duplication): once for
the fast path, once for all other worlds. A step whose outermost loop encloses everything, such as
one with servos of a robot's file, may begin its end inside of that loop; the fast path then leaves
the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from tarsus.program.ir.blocks import BasicBlock, Block, ColdLoop, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.available_copies import Copies, available_copies, kill
from tarsus.program.lowering.instructions import instructions

MAX_LENGTH = 4000  # instructions of an end that is duplicated, loads and stores included


@dataclass(frozen=True, eq=False)
class FastPath:
    """End of a step that is duplicated.

    Attributes
    ----------
    blocks
        Blocks of the end.
    copies
        Available copies before each block and after the last, if no loop is entered.
    enclosing
        Loop in whose body the end begins; None outside of loops.
    count_inside
        Number of blocks in the body of that loop.
    """

    blocks: tuple[Block, ...]
    copies: list[Copies]
    enclosing: While | None = None
    count_inside: int = 0


def find_fast_path(program: Program, is_cold: Callable[[Block], bool]) -> FastPath | None:
    """Find the longest end of a step that begins with a cold loop and is not too long.

    Parameters
    ----------
    program
        Program of a step.
    is_cold
        Whether a block is a loop with a function of its own.

    Returns
    -------
    FastPath or None
        None if there is no such end.
    """
    return _from_inside_loop(program, is_cold) or _find_after_loops(program, is_cold)


def _find_after_loops(program: Program, is_cold: Callable[[Block], bool]) -> FastPath | None:
    """Find an end outside of all loops."""
    blocks = program.blocks
    first = _find_first_block(blocks, MAX_LENGTH, is_cold)
    if first is None:
        return None
    return FastPath(tuple(blocks[first:]), available_copies(program, blocks, first)[first:])


def _from_inside_loop(program: Program, is_cold: Callable[[Block], bool]) -> FastPath | None:
    """Find an end that begins in the last loop, if every world enters that loop."""
    blocks = program.blocks
    loops = [k for k, block in enumerate(blocks) if isinstance(block, While) and not block.cold]
    if not loops or not _always_entered(blocks, loops[-1]):
        return None
    loop_index, after = loops[-1], blocks[loops[-1] + 1 :]
    loop, remaining = blocks[loop_index], MAX_LENGTH - sum(map(_count_length, after))
    assert isinstance(loop, While)
    first = _find_first_block(loop.body, remaining, is_cold) if remaining >= 0 else None
    if first is None:
        return None
    # copies that are available in every iteration
    before = kill(available_copies(program, blocks[:loop_index], loop_index)[-1], (loop,))
    copies = available_copies(program, loop.body, first, before)
    copies = copies[first:-1] + available_copies(program, after, 0, copies[-1])
    return FastPath((*loop.body[first:], *after), copies, loop, len(loop.body) - first)


def _find_first_block(
    blocks: Sequence[Block], max_length: int, is_cold: Callable[[Block], bool]
) -> int | None:
    """Find the first cold loop with at most `max_length` instructions after it."""
    length, first = 0, None
    for k in range(len(blocks) - 1, -1, -1):
        block = blocks[k]
        length += _count_length(block)
        if length > max_length or not isinstance(block, BasicBlock | While | ColdLoop):
            break
        if is_cold(block):
            first = k
    return first


def _count_length(block: Block) -> int:
    """Count the instructions of a basic block; 0 for a loop, which the fast path skips."""
    return block.function.n_instructions() if isinstance(block, BasicBlock) else 0


def _always_entered(blocks: Sequence[Block], index: int) -> bool:
    """Return whether the block before a loop sets its condition to a nonzero constant."""
    before, loop = blocks[index - 1], blocks[index]
    assert isinstance(loop, While)
    if not index or not isinstance(before, BasicBlock) or loop.condition not in before.outputs:
        return False
    output, is_nonzero = before.outputs.index(loop.condition), dict[int, bool]()
    for code, to, one, two in instructions(before.function).tolist():
        if code != ca.OP_OUTPUT:
            is_nonzero[to] = code == ca.OP_CONST and (one, two) != (0, 0)
        elif (to, two) == (output, 0):
            return is_nonzero.get(one, False)
    return False
