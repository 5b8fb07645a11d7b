"""A program as LLVM IR text: `lanes` worlds in every instruction, loops with a mask a lane."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from tarsus.errors import IncompatibleOptions
from tarsus.program.codegen import branch_weights, cold_table
from tarsus.program.codegen.cold_calls import ColdCalls
from tarsus.program.codegen.kernels import KernelShell, LaneGroups
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.registers import BY, ROOM, SLICED, SPARE
from tarsus.program.ir.blocks import Block, ColdLoop, Lookup, Slice, Stamp, Straight, While
from tarsus.program.ir.program import CYCLES, Program
from tarsus.program.lowering.ends import ends
from tarsus.program.lowering.spill import Memory
from tarsus.program.lowering.tape import Node, tape

LONG_PIECE = 500  # lines of a straight piece that may be a function of its own
POINTERS = ("%world", "%tables", "%shared", "%work", "%memory", ROOM, BY, SLICED)
NAME = re.compile(r"%[\w.]+")
EXACT_FLOAT32 = 1 << 24  # beyond it float32 skips integers, and with them entries of a table


class Emitter(ColdCalls):
    """Writes a kernel: what is done with a world; the frame says how they are stored and walked.

    shared: temporaries of a loop's function that lie where its caller brought them
    in_pieces: whether the code is cut into short blocks, and long straight pieces are functions of
        their own: for cold code, and all that is not optimized. LLVM compiles pieces in less time,
        and their places on the stack are free when they end: a robot that falls calls functions of
        hundreds of thousands of instructions, each within another, and without pieces they need
        more than the 8 MB that a stack may have.
    """

    def __init__(
        self,
        program: Program,
        target: Target,
        frame: KernelShell | None = None,
        shared: Sequence[str] = (),
        in_pieces: bool = False,
    ) -> None:
        super().__init__(program, target, frame or LaneGroups(), shared, in_pieces)
        program = self.program
        # what is known while blocks are written
        self._labels = 0
        self._pieces: list[str] = []  # functions of long straight pieces
        self._turns: list[str] = []  # how many rounds each loop around has begun
        self._stays = False  # whether a loop's code stays in it
        self._odds = isinstance(self.frame, LaneGroups)  # whether LLVM is told how often
        if program.sections and not (target == Target(1) and isinstance(self.frame, LaneGroups)):
            raise IncompatibleOptions(
                f"the program {program.name!r} has time stamps, which are read only for one world"
                " at a time, on a CPU and in float64: compile it with lanes=1 and bits=64.",
                "lanes",
            )

    def text(self) -> str:
        """Return the kernel's module, without those of its cold functions."""
        self._step()
        around = self.frame.around(self.program, self.target, self._workspace())
        declarations = [*self.scribe.declarations(), *around.declarations]
        table = cold_table.table(self._calls) if self._calls else []
        lines = [*declarations, *table, *self._pieces]
        lines += [*around.opening, *self.scribe.lines, *around.closing]
        told = [*(branch_weights.STAYING if self._stays else ()), *branch_weights.TOLD]
        return "\n".join([*lines, *told, ""])

    def cold_function(self) -> str:
        """The module of one of those functions, `cold_table.NAME`, of a program of one loop
        (`Program.part`).
        """
        self._inside = True
        for block in self.program.blocks:
            self._block(block)
        table = cold_table.table(self._calls) if self._calls else []
        lines = [self._workspace(), *self.scribe.lines]
        whole = cold_table.function(lines, len(self.program.tables))
        lines = [*self.scribe.declarations(), *table, *self._pieces, *whole, *branch_weights.TOLD]
        return "\n".join([*lines, ""])

    def _block(self, block: Block) -> None:
        self._arrive(block)
        if isinstance(block, Straight):
            self._straight(block)
        elif isinstance(block, While):
            self._call(block) if self._is_cold(block) else self._while(block)
        elif isinstance(block, ColdLoop):
            self._call(block)
        elif isinstance(block, Stamp):
            self._stamp(block)
        elif isinstance(block, Slice):
            self._slice(block)
        elif isinstance(block, Lookup):
            self._lookup(block)
        else:
            assert_never(block)

    def _straight(self, block: Straight) -> None:
        t = self.frame.arranged(tape(block.function), self.target, self._lying(block))
        s, outputs = self.scribe, (*block.outputs, SPARE)
        begun, first = s.arithmetic, len(s.lines)
        values: list[str] = []
        soon, late = ends(t, block, self.frame.overlaps)
        for k, (node, used) in enumerate(zip(t.nodes, t.live(), strict=True)):
            values.append(self._value(node, values, block, outputs) if used else "")
            for register, entry in soon.get(k, ()):
                self._store(s.number(values[k]), register, entry)
        self.operations.append((s.arithmetic - begun, self._labels if self._masks else 0))
        for register, entry, k in late:
            if not self._is_there(block, t.nodes[k], (register, entry)):
                self._store(s.number(values[k]), register, entry)
        self._move_long_piece(first)
        s.forget()

    def _move_long_piece(self, first: int) -> None:
        """Move a long straight piece into a function of its own, if code is written so.

        first: number of its first line
        """
        s = self.scribe
        code = s.lines[first:]
        if not self.in_pieces or not self.frame.has_cold_functions or len(code) < LONG_PIECE:
            return
        kinds = dict.fromkeys(POINTERS, "ptr")
        kinds |= dict.fromkeys(self._masks, s.mask) | dict.fromkeys(self._turns, "i64")
        used = set(NAME.findall("\n".join(code)))
        given = ", ".join(f"{kind} {name}" for name, kind in kinds.items() if name in used)
        name = f"@piece{len(self._pieces)}"
        opening = f"define internal void {name}({given}) noinline #0 {{\nentry:"
        self._pieces.append("\n".join([opening, *code, "  ret void", "}"]))
        s.lines[first:] = [f"  call void {name}({given})"]

    def _value(
        self, node: Node, values: list[str], block: Straight, outputs: tuple[str, ...]
    ) -> str:
        """The name of one node's value; those of the nodes before it are given."""
        op, s = node.op, self.scribe
        if op == "input":
            return self._load(block.inputs[node.place[0]], node.place[1])
        if op == "again":
            return self._load(block.inputs[node.place[0]], node.place[1], anew=True)
        if op == "reload":
            return self._load(outputs[node.place[0]], node.place[1], anew=True)
        if op == "store":
            self._store(s.number(values[node.args[0]]), outputs[node.place[0]], node.place[1])
            return ""
        if op == "const":
            return s.const(node.value)
        return s.operation(op, [values[a] for a in node.args])

    def _lying(self, block: Straight) -> Memory:
        """What of a block's arguments lies in memory: records, and temporaries put there."""
        lying = self._persistent | self._memory
        written = [
            k for k, name in enumerate(block.outputs) if name in lying and name not in block.inputs
        ]
        return Memory(
            [k for k, name in enumerate(block.inputs) if name in lying], written, len(block.outputs)
        )

    def _while(self, block: While) -> None:
        # is there a first round?
        self._labels += 1
        tag, s = f"loop{self._labels}", self.scribe
        self._jump(f"{tag}.before")
        first = self._wanting(block.more)
        some = s.any(first)
        chance = branch_weights.of_loop(block) if self._odds and not self._inside else ""
        s.lines += [
            f"  br i1 {some}, label %{tag}.first, label %{tag}.exit{chance}",
            f"{tag}.first:",
        ]
        # the body, for the lanes that want it
        begun = s.arithmetic - self._told
        self._masks.append(s.called_mask(f"%{tag}.mask"))
        self._turns.append(f"%{tag}.count")
        self._local.append(self._scopes.get(id(block), frozenset()))
        kept = self._to_be_kept(block)
        self._put_by(kept, first, tag, "first")
        s.lines += [
            f"{tag}.body:",
            f"  %{tag}.count = phi i64 [ 1, %{tag}.first.by ], [ %{tag}.next, %{tag}.again.by ]",
            f"  %{tag}.mask = phi {s.mask} [ {first}, %{tag}.first.by ],"
            f" [ %{tag}.more, %{tag}.again.by ]",
        ]
        s.forget()
        for inner in block.body:
            self._block(inner)
        self._open(id(block))
        self._tell(s.arithmetic - self._told - begun)
        begun = s.arithmetic
        self._put_right(kept, tag)
        self._told += s.arithmetic - begun  # so cold that nobody counts it
        self._masks.pop()
        self._turns.pop()
        self._local.pop()
        # another one? no value read before holds after it
        more = self._wanting(block.more)
        some = s.any(more)
        s.lines += [
            f"  %{tag}.more = and {s.mask} {more}, {more}",
            f"  %{tag}.next = add i64 %{tag}.count, 1",
            f"  %{tag}.within = icmp slt i64 %{tag}.count, {block.maximum}",
            f"  %{tag}.go = and i1 %{tag}.within, {some}",
            f"  br i1 %{tag}.go, label %{tag}.again, label %{tag}.exit{chance}",
            f"{tag}.again:",
        ]
        self._put_by(kept, more, tag, "again", self._hint(block))
        s.lines.append(f"{tag}.exit:")
        s.forget()

    def _hint(self, block: While) -> str:
        """For the outermost loop that holds others: what is the same in every round is computed
        where it stands. Taken out of the loop it would be computed also for the loops inside that
        are hardly ever entered, and need more registers than there are.
        """
        whole = not self._masks and any(isinstance(inner, While) for inner in block.body)
        if not whole or self._inside:
            return ""
        self._stays = True
        return ", !llvm.loop !0"

    def _lookup(self, block: Lookup) -> None:
        s, number = self.scribe, list(self.program.tables).index(block.table)
        last = len(self.program.tables[block.table]) - 1
        if self.target.bits == 32 and last > EXACT_FLOAT32:
            raise IncompatibleOptions(
                f"the table {block.table!r} has {last + 1} entries, but float32 indexes exactly"
                f" only up to {EXACT_FLOAT32}: use precision 'float64'.",
                "precision",
            )
        table = self.frame.table(s, self.target, self.program, number)
        for entry in range(self.program.sizes[block.index]):
            index = self._load(block.index, entry)
            held = s.fmin(s.fmax(s.floor(index), s.const(0.0)), s.const(float(last)))
            self._store(s.gather(table, held), block.output, entry)
        s.forget()

    def _slice(self, block: Slice) -> None:
        first = len(self.scribe.lines)
        size, moved = self.program.sizes[block.part], self._moved(block)
        for k in range(size):
            if block.stored:
                self._store(self._load(block.part, k), block.whole, k, moved)
            else:
                self._store(self._load(block.whole, k, moved=moved), block.part, k)
        self._move_long_piece(first)
        self.scribe.forget()

    def _moved(self, block: Slice) -> str:
        """Where the part of this round begins in the whole, an i64."""
        before = self.scribe.access(f"sub i64 {self._turns[-1]}, 1")
        return self.scribe.access(f"mul i64 {before}, {self.program.sizes[block.part]}")

    def _stamp(self, block: Stamp) -> None:
        """Read the counter between two pieces of code that must not mix: all memory is, for all
        that LLVM may know, rewritten here, so what was computed before is stored before, and what
        is used after is loaded after.
        """
        s = self.scribe
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


def ir_text(program: Program, target: Target, in_pieces: bool = False) -> str:
    """Return the LLVM IR of the program's kernel; in_pieces: as of `Emitter`."""
    return Emitter(program, target, in_pieces=in_pieces).text()
