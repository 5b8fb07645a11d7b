"""Emit a tangent program as LLVM IR: one world, with its directions in the lanes.

Values that all directions share are computed once, as scalars. The tangents follow, one chunk of a
block after the other, a vector of directions at a time. The shared values that they use are
broadcast from memory to all lanes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from tarsus.program.codegen import cold_table
from tarsus.program.codegen.emit import Emitter
from tarsus.program.codegen.ir_writer import IrWriter
from tarsus.program.codegen.kernels import KernelCode, KernelShell
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.register_file import offsets_of
from tarsus.program.ir.blocks import BasicBlock, Block, Slice, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.activity import analyze_activity
from tarsus.program.lowering.tangent_chunks import (
    GroupSchedule,
    SplitBlock,
    TangentChunk,
    without_zeros,
)

SLOTS = "~slots"
SHARED_PER_INSTRUCTION = 2  # shared values of a block that are saved for its directions
INSTRUCTIONS_PER_SLOT = 8  # of the longest block, for each slot of a value saved between chunks


@dataclass(frozen=True)
class DirectionLanes(KernelShell):
    """Kernel of one world along all directions: kernel(world, tables, shared).

    Attributes
    ----------
    varying
        Registers that differ by direction.
    lanes
        Directions in a vector.
    groups
        Groups of directions that begin with nonzero tangents of different registers: number of
        vectors, and those registers.
    """

    varying: frozenset[str]
    lanes: int
    groups: tuple[tuple[int, frozenset[str]], ...]
    has_cold_functions = True

    @property
    def vectors(self) -> int:
        """Number of vectors of directions."""
        return sum(count for count, _ in self.groups)

    @property
    def fingerprint(self) -> str:
        groups = [(count, sorted(names)) for count, names in self.groups]
        text = repr((sorted(self.varying), self.lanes, groups))
        return f"DirectionLanes {hashlib.sha256(text.encode()).hexdigest()}"

    def wrap(self, program: Program, target: Target, work: str) -> KernelCode:
        names = ", ".join(f"ptr noalias %{name}" for name in ("world", "tables", "shared"))
        opening = [f"define void @kernel({names}) #0 {{", "entry:", work]
        closing = ["  ret void", "}", 'attributes #0 = { nounwind "stackrealign" }']
        return KernelCode([], opening, closing)

    def persistent(self, writer: IrWriter, target: Target, entry: int) -> str:
        return f"ptr {writer.access(f'getelementptr inbounds double, ptr %world, i64 {entry}')}"

    def table(self, writer: IrWriter, target: Target, program: Program, number: int) -> str:
        slot = writer.access(f"getelementptr ptr, ptr %tables, i64 {number}")
        return f"ptr {writer.access(f'load ptr, ptr {slot}')}"


@dataclass(frozen=True)
class SharedLayout:
    """Layout of a kernel's array `shared`; offsets and sizes are in numbers.

    First come temporaries of cold loops, then registers that differ by direction and slots, as
    [entry][direction], then shared values of a block that its directions use.
    """

    program: Program
    shell: DirectionLanes

    @cached_property
    def scalars(self) -> dict[str, int]:
        """Offsets of temporaries of cold loops that do not differ by direction."""
        program, names = self.program, set[str]()
        for k in range(len(program.cold_loops)):
            names.update(program.shared_temporaries(k))
        return offsets_of(program, sorted(names - self.shell.varying))

    @cached_property
    def vectors(self) -> dict[str, int]:
        """Offsets of registers that differ by direction."""
        size, lanes = sum(self.program.sizes[name] for name in self.scalars), self.shell.lanes
        offset, offsets = -(-size // lanes) * lanes, dict[str, int]()
        for register in self.program.registers:
            if register.name in self.shell.varying:
                offsets[register.name] = offset
                offset += register.size * self.width
        offsets[SLOTS] = offset
        return offsets

    @property
    def width(self) -> int:
        """Size of an entry that differs by direction."""
        return self.shell.vectors * self.shell.lanes

    @cached_property
    def longest(self) -> int:
        """Number of instructions of the longest basic block."""
        return max(block.function.n_instructions() for block, _ in self.program.basic_blocks())

    @property
    def slots(self) -> int:
        """Number of slots for values saved between chunks."""
        return self.longest // INSTRUCTIONS_PER_SLOT

    @property
    def shared_values(self) -> int:
        """Offset of the shared values that directions use."""
        return self.vectors[SLOTS] + self.slots * self.width

    @property
    def size(self) -> int:
        """Size of the array."""
        return self.shared_values + SHARED_PER_INSTRUCTION * self.longest


class TangentEmitter(Emitter):
    """Writes a kernel of one world and its directions."""

    shell: DirectionLanes

    def __init__(self, program: Program, shell: DirectionLanes, split_blocks: bool = False) -> None:
        super().__init__(program, Target(1), shell, split_blocks=split_blocks)
        self.wide = self.writer.with_lanes(shell.lanes)
        self._layout = SharedLayout(program, shell)
        self._shared = self._layout.scalars
        self._sliced = self._sliced_offsets(shell.varying | self._shared.keys())
        seeds = {
            name: sum(1 << k for k, (_, names) in enumerate(shell.groups) if name in names)
            for name in shell.varying
        }
        self._activity = analyze_activity(program, seeds, (1 << len(shell.groups)) - 1)

    def cold_module(self, number: int) -> str:
        """Generate the module of a cold loop's function."""
        self._in_cold_function = True
        loop = self.program.cold_loops[number]
        assert isinstance(loop, While)
        self._write_while(loop)
        w = self.writer
        return "\n".join([*w.declarations(), *cold_table.function(w.lines, 0)])

    def _find_fast_path(self) -> None:
        """Return None: what a loop can change is in memory in any case."""

    def _is_cold(self, block: Block) -> bool:
        return super()._is_cold(block) and not self._in_cold_function

    def _handover(self, number: int) -> cold_table.Handover:
        return cold_table.Handover("%shared", [], [])  # the function uses the same array

    def _workspace(self) -> str:
        size = max(sum(r.size for r in self.program.of_kind("temporary")), 1)
        line = f"  %work = alloca [{size} x double], align 64"
        return "\n".join([line, *self._sliced_workspace()])

    def _write_slice(self, block: Slice) -> None:
        if block.slice not in self.shell.varying:
            super()._write_slice(block)
            return
        # all directions of an entry are contiguous
        w, width, shift = self.writer, self._layout.width, self._slice_offset(block)
        count = self.program.sizes[block.slice] * width
        scaled = w.access(f"mul i64 {shift}, {width}")
        offset = w.access(f"add i64 {scaled}, {self._layout.vectors[block.array]}")
        whole = w.access(f"getelementptr double, ptr %shared, i64 {offset}")
        vectors = self._layout.vectors[block.slice]
        part = w.access(f"getelementptr double, ptr %shared, i64 {vectors}")
        to, source = (whole, part) if block.is_store else (part, whole)
        w.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        w.lines.append(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {8 * count}, i1 false)"
        )

    def _write_basic_block(self, block: BasicBlock) -> None:
        # values that all directions share
        split = SplitBlock(block, self._activity, self.shell.varying, self._layout.slots)
        w, values = self.writer, list[str]()
        for node, computed in zip(split.tape.nodes, split.shared.computed, strict=True):
            values.append(self._write_value(node, values, block, block.outputs) if computed else "")
        for k, index in split.shared.saved.items():
            offset = self._layout.shared_values + index
            to = w.access(f"getelementptr double, ptr %shared, i64 {offset}")
            w.lines.append(f"  store double {w.number(values[k])}, ptr {to}, align 8")
        for register, entry, node in split.shared.stores:
            self._store(w.number(values[node]), register, entry)
        w.forget()
        # tangents, one group of directions after the other
        first = 0
        for group, (vectors, _) in enumerate(self.shell.groups):
            schedule = split.schedule(group)
            for chunk in schedule.chunks:
                if chunk.nodes or chunk.stores:
                    self._write_chunk(split, schedule, chunk, (first, first + vectors))
            first += vectors

    def _write_chunk(
        self,
        split: SplitBlock,
        schedule: GroupSchedule,
        chunk: TangentChunk,
        vectors: tuple[int, int],
    ) -> None:
        """Write a chunk as a loop over a range of vectors of directions."""
        w, wide, t = self.writer, self.wide, split.tape
        self._labels += 1
        tag, vector, align = f"along{self._labels}", wide.vector, f"align {wide.lanes * 8}"
        w.lines += _loop_head(tag, vectors)
        base = w.access(f"getelementptr {vector}, ptr %shared, i64 %{tag}.at")

        def pointer(register: str, entry: int) -> str:
            offset = self._layout.vectors[register] // wide.lanes + entry * self.shell.vectors
            return f"ptr {w.access(f'getelementptr inbounds {vector}, ptr {base}, i64 {offset}')}"

        # values of nodes, loaded when first used; shared ones are broadcast
        values: dict[int, str] = {}

        def value(k: int) -> str:
            if t.nodes[k].op == "const" or not schedule.nonzero[k]:
                return wide.const(t.nodes[k].value)
            if k not in values:
                values[k] = load(k)
            return values[k]

        def load(k: int) -> str:
            node = t.nodes[k]
            if not split.differs[k]:
                offset = self._layout.shared_values + split.shared.saved[k]
                address = w.access(f"getelementptr double, ptr %shared, i64 {offset}")
                return wide.broadcast(w.access(f"load double, ptr {address}, align 8"))
            address = (
                pointer(SLOTS, schedule.slots[k])
                if node.op != "input"
                else pointer(split.block.inputs[node.slot[0]], node.slot[1])
            )
            return wide.access(f"load {vector}, {address}, {align}")

        for k in chunk.nodes:
            if t.nodes[k].op != "input":
                op, args = without_zeros(t.nodes[k], schedule.nonzero)
                values[k] = wide.operation(op, [value(a) for a in args])
        saved = [(SLOTS, slot, k) for k, slot in chunk.saved.items()]
        for register, entry, node in (*saved, *chunk.stores):
            number, to = wide.number(value(node)), pointer(register, entry)
            w.lines.append(f"  store {vector} {number}, {to}, {align}")
        wide.forget()
        w.lines += _loop_end(tag)


def _loop_head(tag: str, vectors: tuple[int, int]) -> list[str]:
    """Write the head of a loop over vectors of directions."""
    return [
        f"  br label %{tag}.before",
        f"{tag}.before:",
        f"  br label %{tag}.head",
        f"{tag}.head:",
        f"  %{tag}.at = phi i64 [ {vectors[0]}, %{tag}.before ], [ %{tag}.next, %{tag}.end ]",
        f"  %{tag}.go = icmp slt i64 %{tag}.at, {vectors[1]}",
        f"  br i1 %{tag}.go, label %{tag}.body, label %{tag}.exit",
        f"{tag}.body:",
    ]


def _loop_end(tag: str) -> list[str]:
    """Write the end of the loop."""
    return [
        f"  br label %{tag}.end",
        f"{tag}.end:",
        f"  %{tag}.next = add i64 %{tag}.at, 1",
        f"  br label %{tag}.head",
        f"{tag}.exit:",
    ]
