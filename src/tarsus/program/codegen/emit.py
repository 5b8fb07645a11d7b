"""Emit a program as LLVM IR: an instruction for all lanes, and loops with a mask per lane."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from tarsus.errors import IncompatibleOptions
from tarsus.program.codegen import branch_weights, cold_table
from tarsus.program.codegen.cold_calls import ColdCalls
from tarsus.program.codegen.kernels import KernelShell, LaneGroups
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.register_file import HANDOVER, SAVED, SLICED, SPILL
from tarsus.program.ir.blocks import BasicBlock, Block, ColdLoop, Lookup, Slice, Stamp, While
from tarsus.program.ir.program import CYCLES, Program
from tarsus.program.lowering.output_stores import schedule_stores
from tarsus.program.lowering.spill import Memory
from tarsus.program.lowering.tape import Node, create_tape

MIN_OUTLINED_LINES = 500  # of a basic block that is outlined to a separate function
POINTERS = ("%world", "%tables", "%shared", "%work", "%memory", HANDOVER, SAVED, SLICED)
NAME = re.compile(r"%[\w.]+")
MAX_EXACT_FLOAT32 = 1 << 24  # float32 represents no larger integers exactly


class Emitter(ColdCalls):
    """Writes a kernel: the code of a step, inside of a shell that iterates over worlds.

    Parameters
    ----------
    program
        Program whose code is written.
    target
        Lanes and bits.
    shell
        How worlds are stored and iterated; groups of lanes by default.
    shared
        Temporaries of a cold function that its caller passes in memory.
    split_blocks
        Whether LLVM basic blocks are kept short and long ones are outlined to functions: for cold
        code, and all code that is not optimized. LLVM compiles short functions faster, and their
        stack is free when they return. A robot that falls calls nested functions of hundreds of
        thousands of instructions, which would otherwise exceed a stack of 8 MB.
    """

    def __init__(
        self,
        program: Program,
        target: Target,
        shell: KernelShell | None = None,
        shared: Sequence[str] = (),
        split_blocks: bool = False,
    ) -> None:
        super().__init__(program, target, shell or LaneGroups(), shared, split_blocks)
        program = self.program
        self._labels = 0
        self._outlined: list[str] = []  # functions of outlined blocks
        self._symbol = "kernel"
        self._embedded: list[str] = []  # cold functions in the module of the kernel
        self._embedded_declarations: list[str] = []
        self._iterations: list[str] = []  # counters of the enclosing loops
        self._disables_licm = False  # whether a loop excludes loop-invariant code motion
        self._has_weights = isinstance(self.shell, LaneGroups)  # whether branches have weights
        if program.sections and not (target == Target(1) and isinstance(self.shell, LaneGroups)):
            raise IncompatibleOptions(
                f"the program {program.name!r} is timed, which is possible only for one world at a"
                " time, on a CPU and in float64: compile it with lanes=1 and bits=64.",
                "lanes",
            )

    def text(self) -> str:
        """Generate the module of the kernel, without its cold functions."""
        self._step()
        shell = self.shell.wrap(self.program, self.target, self._workspace())
        own = [*self.writer.declarations(), *self._embedded_declarations]
        declarations = [*dict.fromkeys(own), *shell.declarations]
        called = self._calls if not self.shell.embeds_cold_functions else 0
        table = cold_table.table(called) if called else []
        lines = [*declarations, *table, *self._embedded, *self._outlined]
        lines += [*shell.opening, *self.writer.lines, *shell.closing]
        metadata = [*(branch_weights.NO_LICM if self._disables_licm else ())]
        return "\n".join([*lines, *metadata, *branch_weights.METADATA, ""])

    def cold_function(self) -> str:
        """Generate the module of a cold function, from a program of `Program.cold_program`.

        That program is a single loop. The function's symbol is `cold_table.NAME`.
        """
        self._in_cold_function = True
        for block in self.program.blocks:
            self._write_block(block)
        table = cold_table.table(self._calls) if self._calls else []
        lines = [self._workspace(), *self.writer.lines]
        whole = cold_table.function(lines, len(self.program.tables))
        lines = [
            *self.writer.declarations(),
            *table,
            *self._outlined,
            *whole,
            *branch_weights.METADATA,
        ]
        return "\n".join([*lines, ""])

    def _embed(self, number: int) -> str:
        part, shell = self.program.cold_program(number), self.shell.cold_shell(self.program)
        shared = self.program.shared_temporaries(number)
        function = Emitter(part, self.target, shell, shared, self.split_blocks)
        function._symbol, function._in_cold_function = f"{self._symbol}_cold{number}", True
        for block in part.blocks:
            function._write_block(block)
        body = [function._workspace(), *function.writer.lines]
        self._embedded += [
            *function._embedded,
            *cold_table.embedded_function(function._symbol, body),
        ]
        self._embedded_declarations += function.writer.declarations()
        self._embedded_declarations += function._embedded_declarations
        return function._symbol

    def _write_block(self, block: Block) -> None:
        self._enter_block(block)
        if isinstance(block, BasicBlock):
            self._write_basic_block(block)
        elif isinstance(block, While):
            self._write_call(block) if self._is_cold(block) else self._write_while(block)
        elif isinstance(block, ColdLoop):
            self._write_call(block)
        elif isinstance(block, Stamp):
            self._write_stamp(block)
        elif isinstance(block, Slice):
            self._write_slice(block)
        elif isinstance(block, Lookup):
            self._write_lookup(block)
        else:
            assert_never(block)

    def _write_basic_block(self, block: BasicBlock) -> None:
        t = self.shell.schedule(create_tape(block.function), self.target, self._memory_of(block))
        s, outputs = self.writer, (*block.outputs, SPILL)
        begin, first = s.arithmetic, len(s.lines)
        values: list[str] = []
        early, late = schedule_stores(t, block, self.shell.reuses_memory)
        for k, (node, used) in enumerate(zip(t.nodes, t.use_counts(), strict=True)):
            values.append(self._write_value(node, values, block, outputs) if used else "")
            for register, entry in early.get(k, ()):
                self._store(s.number(values[k]), register, entry)
        self.operations.append((s.arithmetic - begin, self._labels if self._masks else 0))
        for register, entry, k in late:
            if not self._is_stored_already(block, t.nodes[k], (register, entry)):
                self._store(s.number(values[k]), register, entry)
        self._outline_if_long(first)
        s.forget()

    def _outline_if_long(self, first: int) -> None:
        """Move the lines from index `first` on to a separate function, if they are many."""
        s = self.writer
        code = s.lines[first:]
        if (
            not self.split_blocks
            or not self.shell.has_cold_functions
            or self.shell.embeds_cold_functions
            or len(code) < MIN_OUTLINED_LINES
        ):
            return
        types = dict.fromkeys(POINTERS, "ptr")
        types |= dict.fromkeys(self._masks, s.mask) | dict.fromkeys(self._iterations, "i64")
        used = set(NAME.findall("\n".join(code)))
        parameters = ", ".join(f"{kind} {name}" for name, kind in types.items() if name in used)
        name = f"@piece{len(self._outlined)}"
        opening = f"define internal void {name}({parameters}) noinline #0 {{\nentry:"
        self._outlined.append("\n".join([opening, *code, "  ret void", "}"]))
        s.lines[first:] = [f"  call void {name}({parameters})"]

    def _write_value(
        self, node: Node, values: list[str], block: BasicBlock, outputs: tuple[str, ...]
    ) -> str:
        """Write a node and return the name of its value, given those of earlier nodes."""
        op, s = node.op, self.writer
        if op == "input":
            return self._load(block.inputs[node.slot[0]], node.slot[1])
        if op == "again":
            return self._load(block.inputs[node.slot[0]], node.slot[1], reload=True)
        if op == "reload":
            return self._load(outputs[node.slot[0]], node.slot[1], reload=True)
        if op == "store":
            self._store(s.number(values[node.args[0]]), outputs[node.slot[0]], node.slot[1])
            return ""
        if op == "const":
            return s.const(node.value)
        return s.operation(op, [values[a] for a in node.args])

    def _memory_of(self, block: BasicBlock) -> Memory:
        """Find the arguments of a block that are in memory."""
        names = self._persistent | self._memory
        written = [
            k for k, name in enumerate(block.outputs) if name in names and name not in block.inputs
        ]
        read = [k for k, name in enumerate(block.inputs) if name in names]
        return Memory(read, written, len(block.outputs))

    def _write_while(self, block: While) -> None:
        # does any lane begin an iteration?
        self._labels += 1
        tag, s = f"loop{self._labels}", self.writer
        self._begin_block(f"{tag}.before")
        first = self._entering(block.condition)
        some = s.any(first)
        weights = (
            branch_weights.loop_weights(block)
            if self._has_weights and not self._in_cold_function
            else ""
        )
        s.lines += [
            f"  br i1 {some}, label %{tag}.first, label %{tag}.exit{weights}",
            f"{tag}.first:",
        ]
        # the body, for active lanes
        begin = s.arithmetic - self._counted
        self._masks.append(s.declare_mask(f"%{tag}.mask"))
        self._iterations.append(f"%{tag}.count")
        self._local.append(self._scopes.get(id(block), frozenset()))
        saved = self._entries_to_save(block)
        self._save(saved, first, tag, "first")
        s.lines += [
            f"{tag}.body:",
            f"  %{tag}.count = phi i64 [ 1, %{tag}.first.by ], [ %{tag}.next, %{tag}.again.by ]",
            f"  %{tag}.mask = phi {s.mask} [ {first}, %{tag}.first.by ],"
            f" [ %{tag}.more, %{tag}.again.by ]",
        ]
        s.forget()
        for inner in block.body:
            self._write_block(inner)
        self._place_exit(id(block))
        self._count_effort(s.arithmetic - self._counted - begin)
        begin = s.arithmetic
        self._restore(saved, tag)
        self._counted += s.arithmetic - begin  # too rare to count
        self._masks.pop()
        self._iterations.pop()
        self._local.pop()
        # another iteration? values loaded before are not valid in it
        more = self._entering(block.condition)
        some = s.any(more)
        s.lines += [
            f"  %{tag}.more = and {s.mask} {more}, {more}",
            f"  %{tag}.next = add i64 %{tag}.count, 1",
            f"  %{tag}.within = icmp slt i64 %{tag}.count, {block.max_iterations}",
            f"  %{tag}.go = and i1 %{tag}.within, {some}",
            f"  br i1 %{tag}.go, label %{tag}.again, label %{tag}.exit{weights}",
            f"{tag}.again:",
        ]
        self._save(saved, more, tag, "again", self._loop_metadata(block))
        s.lines.append(f"{tag}.exit:")
        s.forget()

    def _loop_metadata(self, block: While) -> str:
        """Create metadata that excludes loop-invariant code motion from the outermost loop.

        Moved out of it, invariant values of inner loops would be computed even if those loops are
        not entered, and need more registers than there are.
        """
        has_inner = not self._masks and any(isinstance(inner, While) for inner in block.body)
        if not has_inner or self._in_cold_function:
            return ""
        self._disables_licm = True
        return ", !llvm.loop !0"

    def _write_lookup(self, block: Lookup) -> None:
        s, number = self.writer, list(self.program.tables).index(block.table)
        last = len(self.program.tables[block.table]) - 1
        if self.target.bits == 32 and last > MAX_EXACT_FLOAT32:
            raise IncompatibleOptions(
                f"the table {block.table!r} has {last + 1} entries, but float32 can index only"
                f" {MAX_EXACT_FLOAT32}: use precision 'float64'.",
                "precision",
            )
        table = self.shell.table(s, self.target, self.program, number)
        for entry in range(self.program.sizes[block.index]):
            index = self._load(block.index, entry)
            clamped = s.fmin(s.fmax(s.floor(index), s.const(0.0)), s.const(float(last)))
            self._store(s.gather(table, clamped), block.output, entry)
        s.forget()

    def _write_slice(self, block: Slice) -> None:
        first = len(self.writer.lines)
        size, shift = self.program.sizes[block.slice], self._slice_offset(block)
        for k in range(size):
            if block.is_store:
                self._store(self._load(block.slice, k), block.array, k, shift)
            else:
                self._store(self._load(block.array, k, shift=shift), block.slice, k)
        self._outline_if_long(first)
        self.writer.forget()

    def _slice_offset(self, block: Slice) -> str:
        """Name an i64: the beginning of the slice of this iteration."""
        before = self.writer.access(f"sub i64 {self._iterations[-1]}, 1")
        return self.writer.access(f"mul i64 {before}, {self.program.sizes[block.slice]}")

    def _write_stamp(self, block: Stamp) -> None:
        """Read the cycle counter between two sections of code that must not mix.

        An empty assembly statement that may write all memory is a barrier: LLVM stores results
        before it, and loads values after it.
        """
        s = self.writer
        s.declare("i64 @llvm.readcyclecounter()")
        barrier = '  call void asm sideeffect "", "r,r,~{memory}"(ptr %work, ptr %world)'
        s.lines.append(barrier)
        now = s.define("call i64 @llvm.readcyclecounter()")
        clock = self._pointer(block.clock, 0)
        if block.section is None:
            for entry in range(len(self.program.sections)):
                self._store(s.const(0.0), CYCLES, entry)
        else:
            spent = s.define(f"sub i64 {now}, {s.define(f'load i64, {clock}, align 8')}")
            spent = s.define(f"sitofp i64 {spent} to double")
            self._store(s.add(self._load(CYCLES, block.section), spent), CYCLES, block.section)
        s.lines += [f"  store i64 {now}, {clock}, align 8", barrier]


def ir_text(program: Program, target: Target, split_blocks: bool = False) -> str:
    """Generate the LLVM IR of a program's kernel; `split_blocks` as in `Emitter`."""
    return Emitter(program, target, split_blocks=split_blocks).text()
