"""The end of a step for worlds that need none of its loops any more: where it begins, its blocks,
and what is known on it.

Most worlds take it. A step whose loop goes around everything, as one on a file's servos does, may
have the beginning of its end in that loop: then it leads out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from tarsus.program.ir.blocks import Block, ColdLoop, Straight, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.instructions import instructions
from tarsus.program.lowering.unchanged import Same, unchanged, without

LONGEST = 4000  # instructions of an end that is written twice, what they read and write included


@dataclass(frozen=True, eq=False)
class ShortWay:
    """blocks: of a step's end; known: what temporaries hold of the record before each of them and
    after the last, if no loop of it is entered
    around, inside: the loop in whose body it begins, and how many of the blocks are there
    """

    blocks: tuple[Block, ...]
    known: list[Same]
    around: While | None = None
    inside: int = 0


def short_way(program: Program, is_cold: Callable[[Block], bool]) -> ShortWay | None:
    """The longest end of a step that begins with a loop that is a function of its own and is not
    too long; None if there is none.
    """
    return _out_of_loop(program, is_cold) or _behind_loops(program, is_cold)


def _behind_loops(program: Program, is_cold: Callable[[Block], bool]) -> ShortWay | None:
    """Of an end outside of any loop."""
    blocks = program.blocks
    first = _first(blocks, LONGEST, is_cold)
    if first is None:
        return None
    return ShortWay(tuple(blocks[first:]), unchanged(program, blocks, first)[first:])


def _out_of_loop(program: Program, is_cold: Callable[[Block], bool]) -> ShortWay | None:
    """Of an end that begins in the last loop, if every world enters that."""
    blocks = program.blocks
    loops = [k for k, block in enumerate(blocks) if isinstance(block, While) and not block.cold]
    if not loops or not _entered(blocks, loops[-1]):
        return None
    at, behind = loops[-1], blocks[loops[-1] + 1 :]
    loop, left = blocks[at], LONGEST - sum(map(_length, behind))
    assert isinstance(loop, While)
    first = _first(loop.body, left, is_cold) if left >= 0 else None
    if first is None:
        return None
    # what holds in every round
    before = without(unchanged(program, blocks[:at], at)[-1], (loop,))
    known = unchanged(program, loop.body, first, before)
    known = known[first:-1] + unchanged(program, behind, 0, known[-1])
    return ShortWay((*loop.body[first:], *behind), known, loop, len(loop.body) - first)


def _first(blocks: Sequence[Block], longest: int, is_cold: Callable[[Block], bool]) -> int | None:
    """Return the number of the first cold loop behind which no more than that is straight code."""
    length, first = 0, None
    for k in range(len(blocks) - 1, -1, -1):
        block = blocks[k]
        length += _length(block)
        if length > longest or not isinstance(block, Straight | While | ColdLoop):
            break
        if is_cold(block):
            first = k
    return first


def _length(block: Block) -> int:
    """Operations of straight code; none of a loop, to which the way does not lead."""
    return block.function.n_instructions() if isinstance(block, Straight) else 0


def _entered(blocks: Sequence[Block], at: int) -> bool:
    """Whether the block before a loop says of every world that it enters."""
    before, loop = blocks[at - 1], blocks[at]
    assert isinstance(loop, While)
    if not at or not isinstance(before, Straight) or loop.more not in before.outputs:
        return False
    number, always = before.outputs.index(loop.more), dict[int, bool]()
    for code, to, one, two in instructions(before.function).tolist():
        if code != ca.OP_OUTPUT:
            always[to] = code == ca.OP_CONST and (one, two) != (0, 0)
        elif (to, two) == (number, 0):
            return always.get(one, False)
    return False
