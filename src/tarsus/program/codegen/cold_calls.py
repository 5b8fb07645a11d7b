"""Calls of cold functions, and the short way past the last of them.

The end of a step is written twice where it is short: first for worlds that enter none of its cold
loops, then for all others. If both ways met, everything that a cold loop may change would have to
lie in one place in memory, and a standing robot would carry the empty slots of a fallen one through
every step (docs/decisions/0065-a-step-s-end-twice.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from tarsus.program.codegen import branch_weights, cold_table
from tarsus.program.codegen.kernels import KernelShell
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.rounds import Rounds
from tarsus.program.ir.blocks import Block, ColdLoop, Straight, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.passed import Entry
from tarsus.program.lowering.short_way import ShortWay, short_way
from tarsus.program.lowering.tape import Node
from tarsus.program.lowering.unchanged import Same

END = "step.done"


class ColdCalls(Rounds):
    """Writes calls, and the short way around them."""

    def __init__(
        self,
        program: Program,
        target: Target,
        frame: KernelShell,
        shared: Sequence[str],
        in_pieces: bool,
    ) -> None:
        super().__init__(program, target, frame, shared, in_pieces)
        self._calls = 0  # functions so far
        self._told = 0  # operations whose worlds know of them
        self.operations: list[
            tuple[int, int]
        ] = []  # arithmetic instructions of each block, number of its loop or 0
        self._short: ShortWay | None = None  # the short way, if there is one
        self._doors: dict[int, str] = {}  # labels of blocks to which it leads, by their id

    @abstractmethod
    def _block(self, block: Block) -> None:
        """Write a block."""

    @abstractmethod
    def _straight(self, block: Straight) -> None:
        """Write straight code."""

    def _short_way(self) -> ShortWay | None:
        """The end of the step that is written twice."""
        return short_way(self.program, self._is_cold)

    def _step(self) -> None:
        """Write the blocks of a step."""
        self._short = self._short_way()
        for block in self.program.blocks:
            self._block(block)
        self._tell(self.scribe.arithmetic - self._told)
        if self._short:
            # a line that is in no other end, or LLVM would let the two meet before
            self.scribe.lines.append('  call void asm sideeffect "", ""()')
            self._jump(END)
            self.scribe.forget()

    def _arrive(self, at: Block) -> None:
        """Before a block is written: the short way may begin here, or lead here."""
        if self._short and at is self._short.blocks[0]:
            self._take_short_way(self._short)
        self._open(id(at))

    def _open(self, place: int) -> None:
        """A place to which the short way may lead."""
        if place in self._doors:
            self._jump(self._doors.pop(place))
            self.scribe.forget()

    def _take_short_way(self, way: ShortWay) -> None:
        """Write the step's end for worlds that enter no loop of it."""
        s, first = self.scribe, "short.begin"
        told, begun, count = self._told, s.arithmetic, len(self.operations)
        masks, turns, local = self._masks, self._turns, self._local
        if masks and self.target.lanes > 1:
            # all worlds take part in this round, or none takes it
            every = s.all(masks[-1])
            s.lines += [f"  br i1 {every}, label %{first}, label %{self._door(way.blocks[0])}"]
            s.lines.append(f"{first}:")
        self._masks, self._turns, self._local = [], [], []
        for k, block in enumerate(way.blocks):
            self._same = way.known[k]
            if way.around and k == way.inside:
                self._leave(way.around.more, f"short.{k}.round", self._door(way.around))
            if isinstance(block, Straight):
                self._straight(block)
            elif isinstance(block, While | ColdLoop):
                self._leave(block.more, f"short.{k}", self._door(block))
        self._tell(s.arithmetic - self._told)
        # as if nothing had been written
        self._masks, self._turns, self._local, self._same = masks, turns, local, Same()
        self._told = told + s.arithmetic - begun
        del self.operations[count:]
        s.lines += [f"  br label %{END}", f"{self._doors.pop(id(way.blocks[0]))}:"]
        s.forget()

    def _door(self, block: Block) -> str:
        """The label of a block, or of the end of a loop's round, to which the short way leads."""
        assert self._short
        way = self._short.blocks
        number = way.index(block) if block in way else len(way)
        return self._doors.setdefault(id(block), f"short.door{number}")

    def _leave(self, more: str, tag: str, door: str) -> None:
        """Leave the short way if a world wants a loop. What temporaries hold of the record is read
        again for the other way, or it would have to wait at hand.
        """
        s = self.scribe
        wanted = s.any(self._wanting(more))
        s.lines += [
            f"  br i1 {wanted}, label %{tag}.leave, label %{tag}.on, !prof !{branch_weights.COLD}",
            f"{tag}.leave:",
        ]
        for (name, entry), own in self._same.items():
            self._write(self._load(*own, anew=True), name, entry)
        s.lines += [f"  br label %{door}", f"{tag}.on:"]
        s.forget()

    def _is_cold(self, block: Block) -> bool:
        """Whether it is a loop that is a function of its own."""
        cold = isinstance(block, While | ColdLoop) and block.cold
        return cold and self.frame.has_cold_functions and not self.program.sections

    def _call(self, block: While | ColdLoop) -> None:
        """A call of the function that holds the loop, where a lane wants it."""
        s, number = self.scribe, self._calls
        wanted = self._wanting(block.more)
        if self._masks and self.target.lanes > 1:
            self._write(s.select(wanted, s.const(1.0), s.const(0.0)), block.more, 0)
        called = s.any(wanted)
        self._calls += 1
        s.lines += cold_table.call(number, called, self._handing(number))
        s.forget()

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
