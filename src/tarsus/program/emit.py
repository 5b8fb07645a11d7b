"""A program as LLVM IR text: `lanes` worlds in every instruction, loops with a mask a lane.

One kernel: kernel(worlds, log, tables, first, last, steps, groups). Worlds are stored in groups of `lanes`:
worlds[group][register entry][lane]. After each step the state and report registers of a group are copied to
log[step][group][entry][lane] if `log` is not null.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tarsus.program.blocks import Block, Lookup, Program, Straight, While
from tarsus.program.scribe import Scribe
from tarsus.program.tape import tape


@dataclass(frozen=True)
class Target:
    """What code is emitted for: worlds an instruction, and 32 or 64 bits a number."""

    lanes: int
    bits: int = 64

    @property
    def scalar(self) -> str:
        """LLVM's name of one number."""
        return "double" if self.bits == 64 else "float"

    @property
    def vector(self) -> str:
        """LLVM's name of one number in every lane."""
        return self.scalar if self.lanes == 1 else f"<{self.lanes} x {self.scalar}>"

    def of(self, scalar: str) -> str:
        """A vector of another scalar type, one a lane."""
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"


def layout(program: Program) -> tuple[dict[str, int], dict[str, int]]:
    """Offsets of persistent registers in a world's record, and of temporaries in the workspace."""
    persistent, temporary, at = {}, {}, 0
    for register in program.persistent:
        persistent[register.name] = at
        at += register.size
    at = 0
    for register in program.of_kind("temporary"):
        temporary[register.name] = at
        at += register.size
    return persistent, temporary


def record_size(program: Program) -> int:
    """Numbers a world keeps between runs."""
    return sum(r.size for r in program.persistent)


def logged_size(program: Program) -> int:
    """Numbers a world writes into the log each step: state and report."""
    return sum(r.size for r in program.of_kind("state", "report"))


class Emitter:
    """Writes one kernel."""

    def __init__(self, program: Program, target: Target) -> None:
        self.program, self.target = program, target
        self.scribe = Scribe(target.lanes, target.bits)
        self._persistent, self._temporary = layout(program)
        self._labels = 0
        self._masks: list[str] = []
        self.operations: list[tuple[int, int]] = []  # arithmetic instructions of each block, number of its loop or 0

    def text(self) -> str:
        """The whole module."""
        s, target = self.scribe, self.target
        self._prologue()
        for block in self.program.blocks:
            self._block(block)
        self._epilogue()
        workspace = max(sum(r.size for r in self.program.of_kind("temporary")), 1)
        arguments = "ptr noalias %worlds, ptr noalias %log, ptr noalias %tables, "
        arguments += "i64 %first, i64 %last, i64 %steps, i64 %groups"
        head = f"define void @kernel({arguments}) #0 {{\nentry:\n"
        head += (
            f"  %work = alloca [{workspace} x {target.vector}], align {max(self._align, 64)}\n  br label %groups.head\n"
        )
        # realigned, or spilled vectors would straddle cache lines
        attributes = 'attributes #0 = { nounwind "stackrealign" }'
        return "\n".join([*s.declarations(), head + "\n".join(s.lines) + "\n}", attributes, ""])

    def _prologue(self) -> None:
        width, vector = record_size(self.program), self.target.vector
        self.scribe.lines += [
            "groups.head:",
            "  %group = phi i64 [ %first, %entry ], [ %group.next, %groups.next ]",
            "  %group.more = icmp slt i64 %group, %last",
            "  br i1 %group.more, label %group.begin, label %exit",
            "group.begin:",
            f"  %record.at = mul i64 %group, {width}",
            f"  %world = getelementptr {vector}, ptr %worlds, i64 %record.at",
            "  br label %steps.head",
            "steps.head:",
            "  %step = phi i64 [ 0, %group.begin ], [ %step.next, %step.end ]",
            "  %step.more = icmp slt i64 %step, %steps",
            "  br i1 %step.more, label %step.begin, label %groups.next",
            "step.begin:",
        ]

    def _epilogue(self) -> None:
        vector, logged = self.target.vector, logged_size(self.program)
        bytes_each = self.target.lanes * self.target.bits // 8
        self.scribe.lines += [
            "  %logging = icmp ne ptr %log, null",
            "  br i1 %logging, label %log.begin, label %step.end",
            "log.begin:",
            "  %log.row = mul i64 %step, %groups",
            "  %log.cell = add i64 %log.row, %group",
            f"  %log.at = mul i64 %log.cell, {logged}",
            f"  %log.to = getelementptr {vector}, ptr %log, i64 %log.at",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %log.to, ptr %world, i64 {logged * bytes_each}, i1 false)",
            "  br label %step.end",
            "step.end:",
            "  %step.next = add i64 %step, 1",
            "  br label %steps.head",
            "groups.next:",
            "  %group.next = add i64 %group, 1",
            "  br label %groups.head",
            "exit:",
            "  ret void",
        ]
        self.scribe.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")

    def _block(self, block: Block) -> None:
        if isinstance(block, Straight):
            self._straight(block)
        elif isinstance(block, While):
            self._while(block)
        else:
            self._lookup(block)

    def _address(self, register: str, entry: int) -> str:
        if register in self._persistent:
            base, offset = "%world", self._persistent[register] + entry
        else:
            base, offset = "%work", self._temporary[register] + entry
        return self.scribe.define(f"getelementptr inbounds {self.target.vector}, ptr {base}, i64 {offset}")

    def _load(self, register: str, entry: int) -> str:
        return self.scribe.define(
            f"load {self.target.vector}, ptr {self._address(register, entry)}, align {self._align}"
        )

    def _store(self, value: str, register: str, entry: int) -> None:
        address = self._address(register, entry)
        if self._masks:
            old = self.scribe.define(f"load {self.target.vector}, ptr {address}, align {self._align}")
            value = self.scribe.select(self._masks[-1], value, old)
        self.scribe.lines.append(f"  store {self.target.vector} {value}, ptr {address}, align {self._align}")

    @property
    def _align(self) -> int:
        return self.target.lanes * self.target.bits // 8

    def _straight(self, block: Straight) -> None:
        t, s = tape(block.function), self.scribe
        begun = len(s.lines)
        uses, values = t.live(), [""] * len(t.nodes)
        for k, node in enumerate(t.nodes):
            if not uses[k]:
                continue
            if node.op == "input":
                values[k] = self._load(block.inputs[node.place[0]], node.place[1])
            elif node.op == "const":
                values[k] = s.const(node.value)
            else:
                values[k] = s.operation(node.op, [values[a] for a in node.args])
        arithmetic = sum(" load " not in line and " getelementptr " not in line for line in s.lines[begun:])
        self.operations.append((arithmetic, self._labels if self._masks else 0))
        for (argument, entry), node in t.outputs:
            self._store(s.number(values[node]), block.outputs[argument], entry)
        s.forget()

    def _while(self, block: While) -> None:
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
        s.forget()
        self._masks.append(mask)
        for inner in block.body:
            self._block(inner)
        self._masks.pop()
        s.lines += [
            f"  br label %{tag}.end",
            f"{tag}.end:",
            f"  %{tag}.count.next = add i64 %{tag}.count, 1",
            f"  br label %{tag}.head",
            f"{tag}.exit:",
        ]
        s.forget()

    def _lookup(self, block: Lookup) -> None:
        s, number = self.scribe, list(self.program.tables).index(block.table)
        last = len(self.program.tables[block.table]) - 1
        slot = s.define(f"getelementptr ptr, ptr %tables, i64 {number}")
        table = s.define(f"load ptr, ptr {slot}")
        for entry in range(self.program.sizes[block.index]):
            index = self._load(block.index, entry)
            held = s.fmin(s.fmax(s.floor(index), s.const(0.0)), s.const(float(last)))
            self._store(s.gather(table, held), block.output, entry)
        s.forget()


def ir_text(program: Program, target: Target) -> str:
    """LLVM IR of the program's kernel."""
    return Emitter(program, target).text()


def hex_of(x: float, bits: int) -> str:
    """LLVM's exact spelling of a constant."""
    if bits == 32:
        x = struct.unpack("f", struct.pack("f", x))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
