"""A program as LLVM IR text: `lanes` worlds in every instruction, loops with a mask a lane."""

from __future__ import annotations

from tarsus.errors import TarsusError
from tarsus.program.codegen import on_entry
from tarsus.program.codegen.ir_writer import IrWriter
from tarsus.program.codegen.kernels import KernelShell, LaneGroups
from tarsus.program.codegen.layout import Target, layout
from tarsus.program.ir.blocks import CYCLES, Block, Lookup, Program, Stamp, Straight, While
from tarsus.program.lowering.passed import Entry, passed
from tarsus.program.lowering.scopes import local_registers
from tarsus.program.lowering.spill import Memory
from tarsus.program.lowering.tape import Node, tape

SPARE = "~spare"  # room for values that wait in memory within one block
STAYING = ("!0 = distinct !{!0, !1}", '!1 = !{!"llvm.licm.disable"}')
EXACT_FLOAT32 = 1 << 24  # beyond it float32 skips integers, and with them entries of a table


class Emitter:
    """Writes a kernel: what is done with a world; the frame says how they are stored and walked."""

    def __init__(self, program: Program, target: Target, frame: KernelShell | None = None) -> None:
        # where registers lie
        self.program, self.target, self.frame = program, target, frame or LaneGroups()
        self.scribe = IrWriter(target.lanes, target.bits)
        self._number, self._align = target.vector, target.lanes * target.bits // 8
        self._persistent, self._temporary = layout(program)
        self._memory: dict[str, int] = {}
        self._reserved = 0
        for name in (*self.frame.in_memory(program, target), SPARE):
            self._memory[name] = self._reserved
            self._reserved += program.sizes.get(name, 0)
        self._shared: dict[str, int] = {}
        for name in sorted(program.apart) if self.frame.sets_apart else ():
            self._shared[name] = sum(program.sizes[other] for other in self._shared)
        # what is known while blocks are written
        self._calls = 0
        self._passed = passed(program) if self.frame.passes and self._shared else []
        self._labels = 0
        self._masks: list[str] = []
        self._local: list[frozenset[str]] = []
        self._inside = self._stays = False  # a seldom function; a loop whose code stays in it
        self._scopes = local_registers(program)
        if program.sections and not (target == Target(1) and isinstance(self.frame, LaneGroups)):
            raise TarsusError(
                f"the program {program.name!r} is timed: time stamps are read for one world at a"
                " time, on a processor and in float64; compile it with lanes=1 and bits=64."
            )
        self.operations: list[
            tuple[int, int]
        ] = []  # arithmetic instructions of each block, number of its loop or 0

    def text(self) -> str:
        """The kernel's module; those of the functions it calls for seldom loops: `apart`."""
        for block in self.program.blocks:
            self._block(block)
        around = self.frame.around(self.program, self.target, self._workspace())
        declarations = [*self.scribe.declarations(), *around.declarations]
        table = on_entry.table(self._calls) if self._calls else []
        lines = [*declarations, *table, *around.opening, *self.scribe.lines, *around.closing]
        told = [*(STAYING if self._stays else []), *([on_entry.SELDOM] if self._calls else [])]
        return "\n".join([*lines, *told, ""])

    def apart(self, number: int) -> str:
        """The module of one of those functions, `on_entry.NAME`."""
        self._inside = True
        self._while(self.program.seldom[number])
        s = self.scribe
        return "\n".join([*s.declarations(), *on_entry.function(s.lines)])

    def _call(self, block: While) -> None:
        """A call of the function that holds the loop, where a lane wants it."""
        s = self.scribe
        wanted = s.lt(s.const(0.0), self._load(block.more, 0))
        if self._masks:
            wanted = s.operation("and", [wanted, self._masks[-1]])
            self._write(s.select(wanted, s.const(1.0), s.const(0.0)), block.more, 0)
        s.lines += on_entry.branch(self._calls, s.any(wanted))
        if self._passed:
            self._copy(self._passed[self._calls].given, inward=True)
        s.lines += on_entry.call(self._calls)
        if self._passed:
            self._copy(self._passed[self._calls].back, inward=False)
        s.lines += on_entry.past(self._calls)
        s.forget()
        self._calls += 1

    def _copy(self, entries: list[Entry], inward: bool) -> None:
        """Entries of temporaries for a function, or back from it."""
        for register, entry in entries:
            ours, theirs = (self._pointer(register, entry, there) for there in (False, True))
            start, end = (ours, theirs) if inward else (theirs, ours)
            value = self.scribe.access(f"load {self._number}, {start}, align {self._align}")
            self.scribe.lines.append(f"  store {self._number} {value}, {end}, align {self._align}")

    def _workspace(self) -> str:
        """Room for temporaries that a compiler keeps in registers, and those that stay in memory.

        The latter begin at an offset that is zero, but no compiler knows it: else the assembler of
        a GPU makes registers of them as well, and then spills what does not fit.
        """
        size = max(sum(r.size for r in self.program.of_kind("temporary")), 1)
        lines = [f"  %work = alloca [{size} x {self.target.vector}], align {max(self._align, 64)}"]
        if self._shared:
            size = sum(self.program.sizes[name] for name in self._shared)
            lines.append(f"  %shared = alloca [{size} x {self.target.vector}], align 64")
        if self._reserved:
            lines += [
                f"  %reserved = alloca [{self._reserved} x {self.target.vector}], align 64",
                "  %zero = lshr i64 %steps, 62",
                f"  %memory = getelementptr {self.target.vector}, ptr %reserved, i64 %zero",
            ]
        return "\n".join(lines)

    def _block(self, block: Block) -> None:
        if isinstance(block, Straight):
            self._straight(block)
        elif isinstance(block, While):
            apart = self._shared and block.seldom and not self._inside
            self._call(block) if apart else self._while(block)
        elif isinstance(block, Stamp):
            self._stamp(block)
        else:
            self._lookup(block)

    def _pointer(self, register: str, entry: int, shared: bool | None = None) -> str:
        """A typed pointer to one entry of a register.

        shared: where functions for seldom loops have it; None: where it is for this code
        """
        if shared is None:
            shared = self._inside or not self._passed
        if register in self._persistent:
            return self.frame.persistent(
                self.scribe, self.target, self._persistent[register] + entry
            )
        base, offset = "%work", entry
        if register in self._memory:
            base, offset = "%memory", self._memory[register] + entry
            self._reserved = max(self._reserved, offset + 1)
        elif shared and register in self._shared:
            base, offset = "%shared", self._shared[register] + entry
        else:
            offset += self._temporary[register]
        place = f"getelementptr inbounds {self._number}, ptr {base}, i64 {offset}"
        return f"ptr {self.scribe.access(place)}"

    def _load(self, register: str, entry: int, anew: bool = False) -> str:
        """The entry's value; `anew`: from memory, whatever is known of it."""
        how = "load volatile" if anew or register in self._memory else "load"
        pointer = self._pointer(register, entry)
        return self.scribe.access(f"{how} {self._number}, {pointer}, align {self._align}")

    def _store(self, value: str, register: str, entry: int) -> None:
        """The entry's value in worlds that are not done, in all where it is of this round alone."""
        if self._masks and register != SPARE and register not in self._local[-1]:
            pointer = self._pointer(register, entry)
            old = self.scribe.access(f"load {self._number}, {pointer}, align {self._align}")
            value = self.scribe.select(self._masks[-1], value, old)
        self._write(value, register, entry)

    def _write(self, value: str, register: str, entry: int) -> None:
        pointer = self._pointer(register, entry)
        how = "store volatile" if register in self._memory else "store"
        self.scribe.lines.append(f"  {how} {self._number} {value}, {pointer}, align {self._align}")

    def _straight(self, block: Straight) -> None:
        t = self.frame.arranged(tape(block.function), self.target, self._lying(block))
        s, outputs = self.scribe, (*block.outputs, SPARE)
        begun = s.arithmetic
        values: list[str] = []
        for node, used in zip(t.nodes, t.live(), strict=True):
            values.append(self._value(node, values, block, outputs) if used else "")
        self.operations.append((s.arithmetic - begun, self._labels if self._masks else 0))
        for (argument, entry), node in t.outputs:
            self._store(s.number(values[node]), block.outputs[argument], entry)
        s.forget()

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
        # count the rounds from 0
        self._labels += 1
        tag, s = f"loop{self._labels}", self.scribe
        before = f"{tag}.before"
        s.lines += [
            f"  br label %{before}",
            f"{before}:",
            f"  br label %{tag}.head",
            f"{tag}.head:",
            f"  %{tag}.count = phi i64 [ 0, %{before} ], [ %{tag}.count.next, %{tag}.end ]",
        ]
        # go on while a lane of those active wants more
        more = self._load(block.more, 0)
        mask = s.lt(s.const(0.0), more)
        if self._masks:
            mask = s.operation("and", [mask, self._masks[-1]])
        some = s.any(mask)
        s.lines += [
            f"  %{tag}.within = icmp slt i64 %{tag}.count, {block.maximum}",
            f"  %{tag}.go = and i1 %{tag}.within, {some}",
            f"  br i1 %{tag}.go, label %{tag}.body, label %{tag}.exit",
            f"{tag}.body:",
        ]
        # the body, for these lanes alone
        s.forget()
        self._masks.append(mask)
        self._local.append(self._scopes.get(id(block), frozenset()))
        for inner in block.body:
            self._block(inner)
        self._masks.pop()
        self._local.pop()
        # back to the head; no value read before holds after it
        s.lines += [
            f"  br label %{tag}.end",
            f"{tag}.end:",
            f"  %{tag}.count.next = add i64 %{tag}.count, 1",
            f"  br label %{tag}.head{self._hint(block)}",
            f"{tag}.exit:",
        ]
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
            raise TarsusError(
                f"the table {block.table!r} has {last + 1} entries, but float32 counts exactly only"
                f" up to {EXACT_FLOAT32}: use precision 'float64'."
            )
        table = self.frame.table(s, self.target, self.program, number)
        for entry in range(self.program.sizes[block.index]):
            index = self._load(block.index, entry)
            held = s.fmin(s.fmax(s.floor(index), s.const(0.0)), s.const(float(last)))
            self._store(s.gather(table, held), block.output, entry)
        s.forget()

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


def ir_text(program: Program, target: Target) -> str:
    """LLVM IR of the program's kernel."""
    return Emitter(program, target).text()
