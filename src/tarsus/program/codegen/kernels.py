"""Outer functions of kernels, which load, iterate over and store worlds.

On a CPU a kernel loops over groups of lanes; on a GPU each world has a thread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from tarsus.program.codegen.cold_table import TABLES
from tarsus.program.codegen.ir_writer import IrWriter
from tarsus.program.codegen.layout import Target, effort_offset, lane_record_size, logged_size
from tarsus.program.ir.program import Program
from tarsus.program.lowering.schedule import schedule_on_demand
from tarsus.program.lowering.spill import (
    Memory,
    register_pressure,
    registers_in_memory,
    spill_values,
)
from tarsus.program.lowering.tape import Tape, create_tape

# values of these bits in the registers of a GPU thread: its 255 less addresses and flags
GPU_REGISTERS = {32: 235, 64: 105}


@dataclass(frozen=True)
class KernelCode:
    """Lines of IR before and after the code of one step, and their declarations."""

    declarations: list[str]
    opening: list[str]
    closing: list[str]


class KernelShell(ABC):
    """How worlds are stored and iterated."""

    has_cold_functions: bool = False
    """Whether cold loops are separate functions."""

    embeds_cold_functions: bool = False
    """Whether these functions are compiled with the kernel, in the same module."""

    reuses_memory: bool = False
    """Whether temporaries with disjoint live ranges share memory."""

    @property
    def fingerprint(self) -> str:
        """Text that identifies the code of the shell."""
        return type(self).__name__

    def effort(self, writer: IrWriter, target: Target, program: Program) -> str | None:
        """Create a typed pointer to the operation counter of the worlds; None if not counted."""
        return None

    @abstractmethod
    def wrap(self, program: Program, target: Target, work: str) -> KernelCode:
        """Wrap the code of a step in a kernel; the lines `work` allocate memory."""

    @abstractmethod
    def persistent(self, writer: IrWriter, target: Target, entry: int) -> str:
        """Create a typed pointer to an entry of the current world's record."""

    @abstractmethod
    def table(self, writer: IrWriter, target: Target, program: Program, number: int) -> str:
        """Create a typed pointer to the first entry of a look-up table."""

    def cold_shell(self, program: Program) -> KernelShell:
        """Create the shell of the embedded cold functions of a program."""
        return self

    def registers_in_memory(self, program: Program, target: Target) -> list[str]:
        """Find the temporaries that code must store in memory."""
        return []

    def schedule(self, t: Tape, target: Target, memory: Memory) -> Tape:
        """Order the operations of a tape as in the code."""
        return t


class LaneGroups(KernelShell):
    """Kernel of a CPU: kernel(worlds, log, tables, first, last, steps, groups).

    Worlds are stored as worlds[group][entry][lane]. The worlds of a group wait for each other, so
    the operations of each are counted (`run.grouping`). After each step the state and report
    registers are copied to log[step][group][entry][lane], if log is not null.
    """

    has_cold_functions = True

    def wrap(self, program: Program, target: Target, work: str) -> KernelCode:
        vector, logged = target.vector, logged_size(program)
        size = logged * target.lanes * target.bits // 8
        opening = f"""\
define void @kernel(ptr noalias %worlds, ptr noalias %log, ptr noalias %tables,
    i64 %first, i64 %last, i64 %steps, i64 %groups) #0 {{
entry:
{work}
  br label %groups.head
groups.head:
  %group = phi i64 [ %first, %entry ], [ %group.next, %groups.next ]
  %group.more = icmp slt i64 %group, %last
  br i1 %group.more, label %group.begin, label %exit
group.begin:
  %record.at = mul i64 %group, {lane_record_size(program, target)}
  %world = getelementptr {vector}, ptr %worlds, i64 %record.at
  br label %steps.head
steps.head:
  %step = phi i64 [ 0, %group.begin ], [ %step.next, %step.end ]
  %step.more = icmp slt i64 %step, %steps
  br i1 %step.more, label %step.begin, label %groups.next
step.begin:"""
        # the stack is realigned, or spilled vectors would straddle cache lines
        closing = f"""  %logging = icmp ne ptr %log, null
  br i1 %logging, label %log.begin, label %step.end
log.begin:
  %log.row = mul i64 %step, %groups
  %log.cell = add i64 %log.row, %group
  %log.at = mul i64 %log.cell, {logged}
  %log.to = getelementptr {vector}, ptr %log, i64 %log.at
  call void @llvm.memcpy.p0.p0.i64(ptr %log.to, ptr %world, i64 {size}, i1 false)
  br label %step.end
step.end:
  %step.next = add i64 %step, 1
  br label %steps.head
groups.next:
  %group.next = add i64 %group, 1
  br label %groups.head
exit:
  ret void
}}
attributes #0 = {{ nounwind "stackrealign" }}"""
        return KernelCode(
            ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"], [opening], [closing]
        )

    def persistent(self, writer: IrWriter, target: Target, entry: int) -> str:
        pointer = f"getelementptr inbounds {target.vector}, ptr %world, i64 {entry}"
        return f"ptr {writer.access(pointer)}"

    def effort(self, writer: IrWriter, target: Target, program: Program) -> str | None:
        return self.persistent(writer, target, effort_offset(program)) if target.lanes > 1 else None

    def table(self, writer: IrWriter, target: Target, program: Program, number: int) -> str:
        slot = writer.access(f"getelementptr ptr, ptr %tables, i64 {number}")
        return f"ptr {writer.access(f'load ptr, ptr {slot}')}"


class ColdShell(LaneGroups):
    """Cold function, which a kernel over groups of lanes calls for a loop (`cold_table`)."""

    reuses_memory = True

    def table(self, writer: IrWriter, target: Target, program: Program, number: int) -> str:
        slot = writer.access(f"getelementptr ptr, ptr @{TABLES}, i64 {number}")
        return f"ptr {writer.access(f'load ptr, ptr {slot}')}"


class GpuThreads(KernelShell):
    """Kernel of a GPU: kernel(worlds, tables, count, steps), one thread per world.

    Worlds are stored as worlds[entry][world], look-up tables contiguously. `count` points to the
    number of worlds in memory, which is loaded again in every step. If it were known before, the
    compiler would compute all addresses of a record once, and fill the thread's registers with
    them.

    Cold loops are functions of the same module, which no other code inlines: the registers of the
    hot code are then allocated without them (docs/decisions/0011-gpu-backend.md).
    """

    has_cold_functions = True
    embeds_cold_functions = True

    def wrap(self, program: Program, target: Target, work: str) -> KernelCode:
        opening = f"""{self._opening(work)}
  %all = load i64, ptr addrspace(1) %count
  %inside = icmp slt i64 %mine, %all
  br i1 %inside, label %begin, label %exit
begin:
  %world = getelementptr {target.scalar}, ptr addrspace(1) %worlds, i64 %mine
  br label %steps.head
steps.head:
  %step = phi i64 [ 0, %begin ], [ %step.next, %step.end ]
  %step.more = icmp slt i64 %step, %steps
  br i1 %step.more, label %step.begin, label %exit
step.begin:
  %stride = load volatile i64, ptr addrspace(1) %count"""
        closing = """  br label %step.end
step.end:
  %step.next = add i64 %step, 1
  br label %steps.head
exit:
  ret void
}
attributes #0 = { nounwind }"""
        return KernelCode(self._declarations(), [opening], [closing])

    def _declarations(self) -> list[str]:
        return [
            f"declare i32 @llvm.nvvm.read.ptx.sreg.{register}.x()"
            for register in ("ctaid", "ntid", "tid")
        ]

    def _opening(self, work: str) -> str:
        """Write the head of the kernel, up to the index of its world, %mine."""
        return f"""\
define ptx_kernel void @kernel(ptr addrspace(1) noalias %worlds, ptr addrspace(1) noalias %tables,
    ptr addrspace(1) %count, i64 %steps) #0 {{
entry:
{work}
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block.first = mul i32 %block, %size
  %number = add i32 %block.first, %thread
  %mine = zext i32 %number to i64"""

    def persistent(self, writer: IrWriter, target: Target, entry: int) -> str:
        offset = writer.define(f"mul i64 %stride, {entry}")
        pointer = f"getelementptr {target.scalar}, ptr addrspace(1) %world, i64 {offset}"
        return f"ptr addrspace(1) {writer.access(pointer)}"

    def table(self, writer: IrWriter, target: Target, program: Program, number: int) -> str:
        first = self._table_offsets(program)[list(program.tables)[number]]
        pointer = f"getelementptr {target.scalar}, ptr addrspace(1) %tables, i64 {first}"
        return f"ptr addrspace(1) {writer.access(pointer)}"

    def cold_shell(self, program: Program) -> KernelShell:
        return GpuColdFunction(self._table_offsets(program))

    def _table_offsets(self, program: Program) -> Mapping[str, int]:
        """Compute where each table begins, among those of the kernel and its cold functions."""
        tables = program.expanded.tables
        sizes = [len(values) for values in tables.values()]
        return dict(zip(tables, accumulate(sizes, initial=0), strict=False))

    def registers_in_memory(self, program: Program, target: Target) -> list[str]:
        looped = [block for block, inside in program.basic_blocks() if inside]
        pressure = {
            block: register_pressure(schedule_on_demand(create_tape(block.function)))
            for block in looped
        }
        return registers_in_memory(program, pressure, GPU_REGISTERS[target.bits])

    def schedule(self, t: Tape, target: Target, memory: Memory) -> Tape:
        return spill_values(schedule_on_demand(t), GPU_REGISTERS[target.bits], memory)


class GpuColdFunction(GpuThreads):
    """Cold function of a GPU kernel (`cold_table.embedded_function`).

    Parameters
    ----------
    offsets
        Where each table of the kernel begins, by name.
    """

    def __init__(self, offsets: Mapping[str, int]) -> None:
        self._offsets = offsets

    def _table_offsets(self, program: Program) -> Mapping[str, int]:
        return self._offsets


class HostThread(GpuThreads):
    """GPU kernel compiled for a CPU: kernel(worlds, tables, count, steps, mine).

    The caller passes the index of the thread. It tests the code, memory layout and launcher of the
    GPU on machines without one.
    """

    def _declarations(self) -> list[str]:
        return []

    def _opening(self, work: str) -> str:
        return f"""\
define void @kernel(ptr addrspace(1) noalias %worlds, ptr addrspace(1) noalias %tables,
    ptr addrspace(1) %count, i64 %steps, i64 %mine) #0 {{
entry:
{work}"""
