"""Where worlds lie in memory and how a kernel walks them: groups of lanes on a processor, a thread
a world on a GPU.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tarsus.program.codegen.cold_table import TABLES
from tarsus.program.codegen.ir_writer import IrWriter
from tarsus.program.codegen.layout import Target, effort_at, lane_record_size, logged_size
from tarsus.program.ir.program import Program
from tarsus.program.lowering.schedule import on_demand
from tarsus.program.lowering.spill import Memory, in_memory, most_alive, within
from tarsus.program.lowering.tape import Tape, tape

HELD = {
    32: 235,
    64: 105,
}  # numbers of these bits that a GPU's thread holds, its 255 registers less addresses and flags


@dataclass(frozen=True)
class Around:
    """IR lines before and after the code of one step, and what they need declared."""

    declarations: list[str]
    opening: list[str]
    closing: list[str]


class KernelShell(ABC):
    """How worlds are stored and walked."""

    has_cold_functions: bool = False
    """Whether cold loops are functions of their own."""

    overlaps: bool = False
    """Whether a temporary may lie where another lay that is done."""

    @property
    def fingerprint(self) -> str:
        """What of it decides the code."""
        return type(self).__name__

    def effort(self, scribe: IrWriter, target: Target, program: Program) -> str | None:
        """A typed pointer to how many operations the worlds took; None where nobody asks."""
        return None

    @abstractmethod
    def around(self, program: Program, target: Target, work: str) -> Around:
        """The kernel around one step's code; `work` is the line that reserves the workspace."""

    @abstractmethod
    def persistent(self, scribe: IrWriter, target: Target, entry: int) -> str:
        """A typed pointer to one entry of the current world's record."""

    @abstractmethod
    def table(self, scribe: IrWriter, target: Target, program: Program, number: int) -> str:
        """A typed pointer to the first entry of a table."""

    def in_memory(self, program: Program, target: Target) -> list[str]:
        """The temporaries that code must keep in memory rather than in registers."""
        return []

    def arranged(self, t: Tape, target: Target, memory: Memory) -> Tape:
        """The tape in the order in which it is written."""
        return t


class LaneGroups(KernelShell):
    """kernel(worlds, log, tables, first, last, steps, groups) over worlds[group][entry][lane].

    Worlds that stand side by side wait for each other: what each takes is counted (`run.grouping`).
    After each step the state and report registers are copied to log[step][group][entry][lane] if
    log is not null.
    """

    has_cold_functions = True

    def around(self, program: Program, target: Target, work: str) -> Around:
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
        return Around(
            ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"], [opening], [closing]
        )

    def persistent(self, scribe: IrWriter, target: Target, entry: int) -> str:
        place = f"getelementptr inbounds {target.vector}, ptr %world, i64 {entry}"
        return f"ptr {scribe.access(place)}"

    def effort(self, scribe: IrWriter, target: Target, program: Program) -> str | None:
        return self.persistent(scribe, target, effort_at(program)) if target.lanes > 1 else None

    def table(self, scribe: IrWriter, target: Target, program: Program, number: int) -> str:
        slot = scribe.access(f"getelementptr ptr, ptr %tables, i64 {number}")
        return f"ptr {scribe.access(f'load ptr, ptr {slot}')}"


class ColdShell(LaneGroups):
    """A function that a kernel over groups of lanes calls for a loop (`cold_table`)."""

    overlaps = True

    def table(self, scribe: IrWriter, target: Target, program: Program, number: int) -> str:
        slot = scribe.access(f"getelementptr ptr, ptr @{TABLES}, i64 {number}")
        return f"ptr {scribe.access(f'load ptr, ptr {slot}')}"


class GpuThreads(KernelShell):
    """kernel(worlds, tables, count, steps) over worlds[entry][world]: one thread for each world.

    tables: all of them, one behind the other; count points to the number of worlds in memory. It is
    read anew in every step: a number known before would let the compiler compute all the addresses
    of a record once, and a thread's registers would be full of them.
    """

    def around(self, program: Program, target: Target, work: str) -> Around:
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
        return Around(self._declarations(), [opening], [closing])

    def _declarations(self) -> list[str]:
        return [
            f"declare i32 @llvm.nvvm.read.ptx.sreg.{register}.x()"
            for register in ("ctaid", "ntid", "tid")
        ]

    def _opening(self, work: str) -> str:
        """The kernel's head up to its world's number, %mine."""
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

    def persistent(self, scribe: IrWriter, target: Target, entry: int) -> str:
        at = scribe.define(f"mul i64 %stride, {entry}")
        return (
            "ptr addrspace(1)"
            f" {scribe.access(f'getelementptr {target.scalar}, ptr addrspace(1) %world, i64 {at}')}"
        )

    def table(self, scribe: IrWriter, target: Target, program: Program, number: int) -> str:
        first = sum(len(values) for values in list(program.tables.values())[:number])
        pointer = f"getelementptr {target.scalar}, ptr addrspace(1) %tables, i64 {first}"
        return f"ptr addrspace(1) {scribe.access(pointer)}"

    def in_memory(self, program: Program, target: Target) -> list[str]:
        looped = [block for block, inside in program.straights() if inside]
        alive = {block: most_alive(on_demand(tape(block.function))) for block in looped}
        return in_memory(program, alive, HELD[target.bits])

    def arranged(self, t: Tape, target: Target, memory: Memory) -> Tape:
        return within(on_demand(t), HELD[target.bits], memory)


class HostThread(GpuThreads):
    """The same kernel for a processor, kernel(worlds, tables, count, steps, mine): the caller says
    which thread it is.

    With it the GPU's code, its memory layout and its launcher are tested where there is no GPU.
    """

    def _declarations(self) -> list[str]:
        return []

    def _opening(self, work: str) -> str:
        return f"""\
define void @kernel(ptr addrspace(1) noalias %worlds, ptr addrspace(1) noalias %tables,
    ptr addrspace(1) %count, i64 %steps, i64 %mine) #0 {{
entry:
{work}"""
