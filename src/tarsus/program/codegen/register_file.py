"""Register file of a kernel: where registers are in memory, and code that loads and stores them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from tarsus.program.codegen.cold_table import Handover
from tarsus.program.codegen.ir_writer import IrWriter
from tarsus.program.codegen.kernels import KernelShell
from tarsus.program.codegen.layout import Target, layout
from tarsus.program.ir.program import Program
from tarsus.program.lowering.available_copies import Copies
from tarsus.program.lowering.cold_interface import ColdInterface, cold_interfaces
from tarsus.program.lowering.scopes import local_registers
from tarsus.program.lowering.slot_allocation import allocate_slots

# stack arrays of a kernel
HANDOVER = "%handed"  # temporaries that a cold function shares with its caller
SAVED = "%by"  # saved entries of inactive lanes
SLICED = "%sliced"  # registers that are accessed by slices, and so need an address
SPILL = "~spare"  # spill slots within a basic block


class RegisterFile:
    """Registers in a world's record, in the workspace, or in memory shared with a caller.

    Parameters
    ----------
    program
        Program whose code is written.
    target
        Lanes and bits.
    shell
        How worlds are stored and iterated.
    shared
        Temporaries of a cold function that its caller passes in memory.
    split_blocks
        Whether the code is written in short LLVM basic blocks.
    """

    def __init__(
        self,
        program: Program,
        target: Target,
        shell: KernelShell,
        shared: Sequence[str],
        split_blocks: bool,
    ) -> None:
        # locations of registers
        self.target, self.shell, self.split_blocks = target, shell, split_blocks
        self.program = program = program if shell.has_cold_functions else program.expanded
        self.writer = IrWriter(target.lanes, target.bits, short_blocks=split_blocks)
        self._number, self._align = target.vector, target.lanes * target.bits // 8
        self._persistent, self._temporary = layout(program)
        self._work_size = sum(r.size for r in program.of_kind("temporary"))
        self._memory: dict[str, int] = {}
        self._memory_size = 0
        in_memory = self.shell.registers_in_memory(program, target)
        for name in (*(name for name in in_memory if name not in shared), SPILL):
            self._memory[name] = self._memory_size
            self._memory_size += program.sizes.get(name, 0)
        self._shared = offsets_of(program, shared)  # in %shared
        self._sliced = self._sliced_offsets({*self._memory, *self._shared})
        self._sliced_size = sum(program.sizes[name] for name in self._sliced)
        if self.shell.reuses_memory:
            local = [r.name for r in program.of_kind("temporary") if r.name not in self._addressed]
            self._temporary, self._work_size = allocate_slots(program, local, shared)
            self._sliced, self._sliced_size = allocate_slots(program, self._sliced, shared)
        self._saved_count = 0  # largest number of entries saved for inactive lanes
        self._handover_size = 0  # largest number of entries shared with a cold function
        # masks of active lanes of the enclosing loops, and registers local to their iterations
        self._masks: list[str] = []
        self._local: list[frozenset[str]] = []
        self._scopes = local_registers(program, shared)
        self._in_cold_function = False
        self._copies = Copies()  # copies of the record that are available here

    @cached_property
    def _interfaces(self) -> list[ColdInterface]:
        """Live-in and live-out entries of each cold function."""
        return cold_interfaces(self.program, tuple(self._shared))

    def _handover(self, number: int) -> Handover:
        """Generate code that copies temporaries to a cold function and back, around its call.

        Without copies the temporaries would have to be in memory everywhere.
        """
        w, program, vector = self.writer, self.program, self._number
        shared, interface = program.shared_temporaries(number), self._interfaces[number]
        offsets = offsets_of(program, shared)
        self._handover_size = max(self._handover_size, sum(program.sizes[name] for name in shared))
        lines, w.lines = w.lines, []

        def pointer(name: str, entry: int) -> str:
            offset = offsets[name] + entry
            to = f"getelementptr inbounds {vector}, ptr {HANDOVER}, i64 {offset}"
            return f"ptr {w.access(to)}"

        for name, entry in interface.live_in:
            value = self._load(name, entry)
            w.lines.append(f"  store {vector} {value}, {pointer(name, entry)}, align {self._align}")
        copy_in, w.lines = w.lines, []
        for name, entry in interface.live_out:
            value = w.access(f"load {vector}, {pointer(name, entry)}, align {self._align}")
            self._write(value, name, entry)
        copy_out, w.lines = w.lines, lines
        return Handover(HANDOVER, copy_in, copy_out)

    def _workspace(self) -> str:
        """Generate the stack arrays of a kernel.

        Those are the temporaries, which LLVM promotes to machine registers, the handover to cold
        functions, and registers that stay in memory. The last begin at an offset that is zero, but
        unknown to the compiler. Otherwise the assembler of a GPU would promote them too, and then
        spill.
        """
        size = max(self._work_size, 1)
        lines = [f"  %work = alloca [{size} x {self.target.vector}], align {max(self._align, 64)}"]
        if self._handover_size:
            array = f"[{self._handover_size} x {self.target.vector}]"
            lines.append(f"  {HANDOVER} = alloca {array}, align 64")
        if self._saved_count:
            lines.append(
                f"  {SAVED} = alloca [{self._saved_count} x {self.target.vector}], align 64"
            )
        lines += self._sliced_workspace()
        if self._memory_size:
            lines += [
                f"  %reserved = alloca [{self._memory_size} x {self.target.vector}], align 64",
                "  %zero = lshr i64 %steps, 62",
                f"  %memory = getelementptr {self.target.vector}, ptr %reserved, i64 %zero",
            ]
        return "\n".join(lines)

    def _sliced_offsets(self, elsewhere: Collection[str]) -> dict[str, int]:
        """Compute the offsets of sliced registers that are not stored elsewhere."""
        names = dict.fromkeys(block.array for block in self.program.slices)
        return offsets_of(self.program, [name for name in names if name not in elsewhere])

    def _sliced_workspace(self) -> list[str]:
        """Generate their stack array; in a shared array no temporary could be promoted."""
        line = f"  {SLICED} = alloca [{self._sliced_size} x {self.target.vector}], align 64"
        return [line] if self._sliced else []

    def _pointer(self, register: str, entry: int, shift: str = "") -> str:
        """Create a typed pointer to an entry of a register, whose index is increased by `shift`."""
        if register in self._persistent:
            return self.shell.persistent(
                self.writer, self.target, self._persistent[register] + entry
            )
        base, offset = "%work", entry
        if register in self._memory:
            base, offset = "%memory", self._memory[register] + entry
            self._memory_size = max(self._memory_size, offset + 1)
        elif register in self._shared:
            base, offset = "%shared", self._shared[register] + entry
        elif register in self._sliced:
            base, offset = SLICED, self._sliced[register] + entry
        else:
            offset += self._temporary[register]
        if shift:
            offset = self.writer.access(f"add i64 {shift}, {offset}")
        pointer = f"getelementptr inbounds {self._number}, ptr {base}, i64 {offset}"
        return f"ptr {self.writer.access(pointer)}"

    def _load(self, register: str, entry: int, reload: bool = False, shift: str = "") -> str:
        """Load an entry.

        Parameters
        ----------
        register, entry, shift
            As of `_pointer`.
        reload
            Whether LLVM must load it from memory, even if it knows the value.

        Returns
        -------
        str
            Name of the value.
        """
        op = "load volatile" if reload or register in self._memory else "load"
        pointer = self._pointer(register, entry, shift)
        return self.writer.access(f"{op} {self._number}, {pointer}, align {self._align}")

    def _store(self, value: str, register: str, entry: int, shift: str = "") -> None:
        """Store an entry in active lanes; in all lanes where that makes no difference."""
        if self._masks and not self._ignores_mask(register):
            pointer = self._pointer(register, entry, shift)
            old = self.writer.access(f"load {self._number}, {pointer}, align {self._align}")
            value = self.writer.select(self._masks[-1], value, old)
        self._write(value, register, entry, shift)

    def _ignores_mask(self, register: str) -> bool:
        """Return whether a register may be written in inactive lanes too."""
        local = self.target.lanes == 1 or register == SPILL or register in self._local[-1]
        return local or self._is_restored_at_end(register)

    def _is_restored_at_end(self, register: str) -> bool:
        """Return whether inactive lanes get their value back at the end of the iteration."""
        outermost = len(self._masks) == 1 and not self._in_cold_function and self.target.lanes > 1
        if not outermost or register in self._local[-1]:
            return False
        return register in self._temporary and register not in self._addressed

    @property
    def _addressed(self) -> tuple[str, ...]:
        """Temporaries with an address, which LLVM cannot promote to machine registers."""
        return (*self._memory, *self._shared, *self._sliced)

    def _write(self, value: str, register: str, entry: int, shift: str = "") -> None:
        pointer = self._pointer(register, entry, shift)
        op = "store volatile" if register in self._memory else "store"
        self.writer.lines.append(f"  {op} {self._number} {value}, {pointer}, align {self._align}")


def offsets_of(program: Program, names: Sequence[str]) -> dict[str, int]:
    """Compute the offsets of registers that are stored contiguously, in entries."""
    offsets = np.cumsum([0, *(program.sizes[name] for name in names)]).tolist()
    return dict(zip(names, offsets, strict=False))
