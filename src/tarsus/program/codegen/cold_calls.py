"""Calls of cold functions, and the fast path around the last of them.

A short end of a step is written twice (`lowering.fast_path`): first for worlds that enter none of
its cold loops, then for all others. If both paths merged, everything that a cold loop can change
would have to be in one place in memory. A standing robot would then load and store the empty
contact slots of a fallen one in every step (docs/decisions/0065-two-copies-of-the-step-end.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from tarsus.program.codegen import branch_weights, cold_table
from tarsus.program.codegen.inactive_lanes import InactiveLanes
from tarsus.program.codegen.kernels import KernelShell
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.blocks import BasicBlock, Block, ColdLoop, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.available_copies import Copies
from tarsus.program.lowering.cold_interface import Entry
from tarsus.program.lowering.fast_path import FastPath, find_fast_path
from tarsus.program.lowering.tape import Node

END = "step.done"


class ColdCalls(InactiveLanes):
    """Writes calls of cold functions, and the fast path around them."""

    def __init__(
        self,
        program: Program,
        target: Target,
        shell: KernelShell,
        shared: Sequence[str],
        split_blocks: bool,
    ) -> None:
        super().__init__(program, target, shell, shared, split_blocks)
        self._calls = 0  # cold functions so far
        self._counted = 0  # operations that have been added to the effort of worlds
        # arithmetic instructions of each basic block, and the number of its loop or 0
        self.operations: list[tuple[int, int]] = []
        self._fast_path: FastPath | None = None
        self._exits: dict[int, str] = {}  # labels of blocks to which it exits, by their id

    @abstractmethod
    def _write_block(self, block: Block) -> None:
        """Write a block."""

    @abstractmethod
    def _write_basic_block(self, block: BasicBlock) -> None:
        """Write a basic block."""

    @abstractmethod
    def _embed(self, number: int) -> str:
        """Write a cold function into the module, and return its symbol."""

    def _find_fast_path(self) -> FastPath | None:
        """Find the end of the step that is written twice; none on a GPU."""
        if self.shell.embeds_cold_functions:
            return None
        return find_fast_path(self.program, self._is_cold)

    def _step(self) -> None:
        """Write the blocks of a step."""
        self._fast_path = self._find_fast_path()
        for block in self.program.blocks:
            self._write_block(block)
        self._count_effort(self.writer.arithmetic - self._counted)
        if self._fast_path:
            # a line that the other end does not have, or LLVM would merge the two ends
            self.writer.lines.append('  call void asm sideeffect "", ""()')
            self._begin_block(END)
            self.writer.forget()

    def _enter_block(self, block: Block) -> None:
        """Write the fast path if it starts at this block, and the label if an exit leads here."""
        if self._fast_path and block is self._fast_path.blocks[0]:
            self._write_fast_path(self._fast_path)
        self._place_exit(id(block))

    def _place_exit(self, key: int) -> None:
        """Write the label of a target of the fast path's exits."""
        if key in self._exits:
            self._begin_block(self._exits.pop(key))
            self.writer.forget()

    def _write_fast_path(self, path: FastPath) -> None:
        """Write the end of the step for worlds that enter none of its loops."""
        w, label = self.writer, "short.begin"
        counted, begin, count = self._counted, w.arithmetic, len(self.operations)
        masks, iterations, local = self._masks, self._iterations, self._local
        if masks and self.target.lanes > 1:
            # only if all lanes are active
            all_active = w.all(masks[-1])
            other = self._exit_label(path.blocks[0])
            w.lines += [f"  br i1 {all_active}, label %{label}, label %{other}"]
            w.lines.append(f"{label}:")
        self._masks, self._iterations, self._local = [], [], []
        for k, block in enumerate(path.blocks):
            self._copies = path.copies[k]
            if path.enclosing and k == path.count_inside:
                exit_label = self._exit_label(path.enclosing)
                self._exit_if(path.enclosing.condition, f"short.{k}.round", exit_label)
            if isinstance(block, BasicBlock):
                self._write_basic_block(block)
            elif isinstance(block, While | ColdLoop):
                self._exit_if(block.condition, f"short.{k}", self._exit_label(block))
        self._count_effort(w.arithmetic - self._counted)
        # restore the state of the writer
        self._masks, self._iterations, self._local = masks, iterations, local
        self._copies = Copies()
        self._counted = counted + w.arithmetic - begin
        del self.operations[count:]
        w.lines += [f"  br label %{END}", f"{self._exits.pop(id(path.blocks[0]))}:"]
        w.forget()

    def _exit_label(self, block: Block) -> str:
        """Choose the label of a block, or of a loop's end, to which the fast path exits."""
        assert self._fast_path
        blocks = self._fast_path.blocks
        number = blocks.index(block) if block in blocks else len(blocks)
        return self._exits.setdefault(id(block), f"short.door{number}")

    def _exit_if(self, condition: str, tag: str, exit_label: str) -> None:
        """Exit from the fast path if a world enters a loop.

        Temporaries that are copies of the record are loaded again there. Otherwise they would be
        live on the fast path too.
        """
        w = self.writer
        enters = w.any(self._entering(condition))
        w.lines += [
            f"  br i1 {enters}, label %{tag}.leave, label %{tag}.on, !prof !{branch_weights.COLD}",
            f"{tag}.leave:",
        ]
        for (name, entry), copy in self._copies.items():
            self._write(self._load(*copy, reload=True), name, entry)
        w.lines += [f"  br label %{exit_label}", f"{tag}.on:"]
        w.forget()

    def _is_cold(self, block: Block) -> bool:
        """Return whether a block is a loop with a function of its own."""
        cold = isinstance(block, While | ColdLoop) and block.cold
        return cold and self.shell.has_cold_functions and not self.program.sections

    def _write_call(self, block: While | ColdLoop) -> None:
        """Write the call of a cold loop's function, if a lane enters the loop."""
        w, number = self.writer, self._calls
        entering = self._entering(block.condition)
        if self._masks and self.target.lanes > 1:
            self._write(w.select(entering, w.const(1.0), w.const(0.0)), block.condition, 0)
        called = w.any(entering)
        self._calls += 1
        handover = self._handover(number)
        if self.shell.embeds_cold_functions:
            w.lines += cold_table.embedded_call(self._embed(number), called, handover)
        else:
            w.lines += cold_table.call(number, called, handover)
        w.forget()

    def _is_stored_already(self, block: BasicBlock, node: Node, to: Entry) -> bool:
        """Return whether an entry of the record already has a node's value."""
        if node.op != "input":
            return False
        read = block.inputs[node.slot[0]], node.slot[1]
        return self._copies.get(read) == to

    def _entering(self, condition: str) -> str:
        """Compute the mask of active lanes that begin another iteration."""
        mask = self.writer.lt(self.writer.const(0.0), self._load(condition, 0))
        if self._masks and self.target.lanes > 1:
            return self.writer.operation("and", [mask, self._masks[-1]])
        return mask

    def _count_effort(self, operations: int) -> None:
        """Add operations to the effort of the active worlds."""
        w, begin = self.writer, self.writer.arithmetic
        self._counted += operations
        if pointer := self.shell.effort(w, self.target, self.program):
            before = w.access(f"load {self._number}, {pointer}, align {self._align}")
            after = w.add(before, w.const(float(operations)))
            if self._masks:
                after = w.select(self._masks[-1], after, before)
            w.lines.append(f"  store {self._number} {after}, {pointer}, align {self._align}")
        self._counted += w.arithmetic - begin
