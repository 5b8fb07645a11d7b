"""Calls of the functions that hold seldom loops, and what follows the last of them.

What a step ends with is written twice where it is short: once for worlds that entered no such loop,
and once behind each call. Else all that a loop may change would have to lie in one place when the
two ways meet, however it came there: a standing robot carried the empty slots of a fallen one
through every step (docs/decisions/0065-a-step-s-end-twice.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from tarsus.program.codegen import on_entry
from tarsus.program.codegen.kernels import KernelShell
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.rounds import Rounds
from tarsus.program.ir.blocks import Block, Later, Straight, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.passed import Entry
from tarsus.program.lowering.tape import Node
from tarsus.program.lowering.unchanged import Same, unchanged

SHORT = 2000  # operations of a step's end that is written twice
END = "step.done"


class SeldomCalls(Rounds):
    """Writes calls, and the blocks of a step around them."""

    def __init__(
        self, program: Program, target: Target, frame: KernelShell, shared: Sequence[str]
    ) -> None:
        super().__init__(program, target, frame, shared)
        self._calls = 0  # functions so far
        self._sites = 0  # places where they are called
        self._told = 0  # operations whose worlds know of them
        self.operations: list[
            tuple[int, int]
        ] = []  # arithmetic instructions of each block, number of its loop or 0

    @abstractmethod
    def _block(self, block: Block) -> None:
        """Write a block."""

    def _step(self) -> None:
        """Write the blocks of a step."""
        blocks = self.program.blocks
        first = self._first_of_end()
        known = [Same()] * len(blocks)
        if first < len(blocks):
            known = unchanged(self.program, blocks, first)
        for k, block in enumerate(blocks):
            self._same = known[k] if isinstance(block, Straight) or k >= first else {}
            if k >= first and isinstance(block, While | Later):
                self._call(block, blocks[k + 1 :])
            else:
                self._block(block)
        self._tell(self.scribe.arithmetic - self._told)
        if first < len(blocks):
            self._jump(END)
            self.scribe.forget()

    def _first_of_end(self) -> int:
        """The number of the first call of a step's end that is written twice; that of no block if
        none is.
        """
        blocks, length, first = self.program.blocks, 0, len(self.program.blocks)
        for k in range(len(blocks) - 1, -1, -1):
            block = blocks[k]
            if isinstance(block, Straight):
                length += block.function.n_instructions()
            elif self._is_apart(block) and length <= SHORT:
                first = k
            else:
                break
        return first

    def _is_apart(self, block: Block) -> bool:
        """Whether it is a loop that is a function of its own."""
        seldom = isinstance(block, While | Later) and block.seldom
        return seldom and self.frame.sets_apart and not self.program.sections

    def _call(self, block: While | Later, rest: Sequence[Block] = ()) -> None:
        """A call of the function that holds the loop, where a lane wants it; rest: the step's end
        behind it, if it is written for these worlds apart.
        """
        s, number = self.scribe, self._calls
        wanted = self._wanting(block.more)
        if self._masks and self.target.lanes > 1:
            self._write(s.select(wanted, s.const(1.0), s.const(0.0)), block.more, 0)
        called = s.any(wanted)
        handed = self._handing(number)
        self._calls += 1
        self._sites += 1
        tag, after = f"call{self._sites}", self._end_again(rest) if rest else []
        s.lines += on_entry.call(number, tag, called, handed, after)
        s.forget()

    def _end_again(self, rest: Sequence[Block]) -> list[str]:
        """The lines of a step's end for worlds that entered a loop before it."""
        # as if nothing had been written before, and nothing were known
        s = self.scribe
        lines, same, calls = s.lines, self._same, self._calls
        count, untold = len(self.operations), s.arithmetic - self._told
        s.lines, self._same = [], {}
        s.forget()
        for block in rest:
            self._block(block)
        self._tell(s.arithmetic - self._told)
        # a line that is in no other end, or LLVM would let the two meet before
        written = [*s.lines, '  call void asm sideeffect "", ""()', f"  br label %{END}"]
        # and as it was
        s.lines, self._same, self._calls = lines, same, calls
        self._told = s.arithmetic - untold
        del self.operations[count:]
        s.forget()
        return written

    def _is_there(self, block: Straight, node: Node, to: Entry) -> bool:
        """Whether an entry of the record has a node's value already."""
        if node.op != "input":
            return False
        read = block.inputs[node.place[0]], node.place[1]
        return self._same.get(read) == to

    def _wanting(self, more: str) -> str:
        """The lanes that want a loop's next round: of several lanes those alone that take part."""
        mask = self.scribe.lt(self.scribe.const(0.0), self._load(more, 0))
        if self._masks and self.target.lanes > 1:
            return self.scribe.operation("and", [mask, self._masks[-1]])
        return mask

    def _tell(self, operations: int) -> None:
        """Add operations to the effort of the worlds that took them."""
        s, begun = self.scribe, self.scribe.arithmetic
        self._told += operations
        if at := self.frame.effort(s, self.target, self.program):
            before = s.access(f"load {self._number}, {at}, align {self._align}")
            after = s.add(before, s.const(float(operations)))
            if self._masks:
                after = s.select(self._masks[-1], after, before)
            s.lines.append(f"  store {self._number} {after}, {at}, align {self._align}")
        self._told += s.arithmetic - begun
