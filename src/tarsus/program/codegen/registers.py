"""Where a kernel's registers lie, and how its code reads and writes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from tarsus.program.codegen.cold_table import Handed
from tarsus.program.codegen.ir_writer import IrWriter
from tarsus.program.codegen.kernels import KernelShell
from tarsus.program.codegen.layout import Target, layout
from tarsus.program.ir.program import Program
from tarsus.program.lowering.overlapping import overlapping
from tarsus.program.lowering.passed import Passed, passed
from tarsus.program.lowering.scopes import local_registers
from tarsus.program.lowering.unchanged import Same

ROOM = "%handed"  # what this code shares with a function that it calls
BY = "%by"  # what worlds without a part in a round get back at its end
SLICED = "%sliced"  # registers whose slices are taken, which have an address
SPARE = "~spare"  # room for values that wait in memory within one block


class Registers:
    """Registers in a world's record, in the workspace, or where a caller brought them.

    shared: temporaries of a loop's function that lie where its caller brought them
    in_pieces: whether the code is written in short blocks
    """

    def __init__(
        self,
        program: Program,
        target: Target,
        frame: KernelShell,
        shared: Sequence[str],
        in_pieces: bool,
    ) -> None:
        # where registers lie
        self.target, self.frame, self.in_pieces = target, frame, in_pieces
        self.program = program = program if self.frame.has_cold_functions else program.whole
        self.scribe = IrWriter(target.lanes, target.bits, short_blocks=in_pieces)
        self._number, self._align = target.vector, target.lanes * target.bits // 8
        self._persistent, self._temporary = layout(program)
        self._room = sum(r.size for r in program.of_kind("temporary"))
        self._memory: dict[str, int] = {}
        self._reserved = 0
        for name in (*self.frame.in_memory(program, target), SPARE):
            self._memory[name] = self._reserved
            self._reserved += program.sizes.get(name, 0)
        self._shared = places(program, shared)  # in %shared
        self._sliced = self._places_of_sliced({*self._memory, *self._shared})
        self._sliced_room = sum(program.sizes[name] for name in self._sliced)
        if self.frame.overlaps:
            own = [r.name for r in program.of_kind("temporary") if r.name not in self._addressed]
            self._temporary, self._room = overlapping(program, own, shared)
            self._sliced, self._sliced_room = overlapping(program, self._sliced, shared)
        self._kept = 0  # the most numbers that wait for a round's end
        self._handed = 0  # the most numbers that a function shares with this code
        # lanes that take part, and registers that only they read; those of every loop, by its id
        self._masks: list[str] = []
        self._local: list[frozenset[str]] = []
        self._scopes = local_registers(program, shared)
        self._inside = False  # whether this is a cold loop's function
        self._same = Same()  # what temporaries hold of the record, here

    @cached_property
    def _passed(self) -> list[Passed]:
        """What the function of each cold loop is given, and gives back."""
        return passed(self.program, tuple(self._shared))

    def _handing(self, number: int) -> Handed:
        """How the function's temporaries go where it finds them, and back, where it is called: else
        they would lie in memory everywhere.
        """
        s, program, vector = self.scribe, self.program, self._number
        at, own = places(program, shared := program.shared(number)), self._passed[number]
        self._handed = max(self._handed, sum(program.sizes[name] for name in shared))
        lines, s.lines = s.lines, []

        def place(name: str, entry: int) -> str:
            to = f"getelementptr inbounds {vector}, ptr {ROOM}, i64 {at[name] + entry}"
            return f"ptr {s.access(to)}"

        for name, entry in own.given:
            value = self._load(name, entry)
            s.lines.append(f"  store {vector} {value}, {place(name, entry)}, align {self._align}")
        there, s.lines = s.lines, []
        for name, entry in own.back:
            value = s.access(f"load {vector}, {place(name, entry)}, align {self._align}")
            self._write(value, name, entry)
        back, s.lines = s.lines, lines
        return Handed(ROOM, there, back)

    def _workspace(self) -> str:
        """Room for temporaries that a compiler keeps in registers, those that functions share, and
        those that stay in memory.

        The last begin at an offset that is zero, but no compiler knows it: else the assembler of
        a GPU makes registers of them as well, and then spills what does not fit.
        """
        room = max(self._room, 1)
        lines = [f"  %work = alloca [{room} x {self.target.vector}], align {max(self._align, 64)}"]
        if self._handed:
            lines.append(f"  {ROOM} = alloca [{self._handed} x {self.target.vector}], align 64")
        if self._kept:
            lines.append(f"  {BY} = alloca [{self._kept} x {self.target.vector}], align 64")
        lines += self._room_of_sliced()
        if self._reserved:
            lines += [
                f"  %reserved = alloca [{self._reserved} x {self.target.vector}], align 64",
                "  %zero = lshr i64 %steps, 62",
                f"  %memory = getelementptr {self.target.vector}, ptr %reserved, i64 %zero",
            ]
        return "\n".join(lines)

    def _places_of_sliced(self, elsewhere: Collection[str]) -> dict[str, int]:
        """Registers whose slices are taken, and which lie nowhere else; where each begins."""
        whole = dict.fromkeys(block.whole for block in self.program.slices)
        return places(self.program, [name for name in whole if name not in elsewhere])

    def _room_of_sliced(self) -> list[str]:
        """The line that makes room for them: apart, or no temporary could be kept in registers."""
        room = f"  {SLICED} = alloca [{self._sliced_room} x {self.target.vector}], align 64"
        return [room] if self._sliced else []

    def _pointer(self, register: str, entry: int, moved: str = "") -> str:
        """A typed pointer to one entry of a register.

        moved: an i64 that is added to the number of the entry, of a temporary
        """
        if register in self._persistent:
            return self.frame.persistent(
                self.scribe, self.target, self._persistent[register] + entry
            )
        base, offset = "%work", entry
        if register in self._memory:
            base, offset = "%memory", self._memory[register] + entry
            self._reserved = max(self._reserved, offset + 1)
        elif register in self._shared:
            base, offset = "%shared", self._shared[register] + entry
        elif register in self._sliced:
            base, offset = SLICED, self._sliced[register] + entry
        else:
            offset += self._temporary[register]
        if moved:
            offset = self.scribe.access(f"add i64 {moved}, {offset}")
        place = f"getelementptr inbounds {self._number}, ptr {base}, i64 {offset}"
        return f"ptr {self.scribe.access(place)}"

    def _load(self, register: str, entry: int, anew: bool = False, moved: str = "") -> str:
        """The entry's value; `anew`: from memory, whatever is known of it; moved: as of
        `_pointer`.
        """
        how = "load volatile" if anew or register in self._memory else "load"
        pointer = self._pointer(register, entry, moved)
        return self.scribe.access(f"{how} {self._number}, {pointer}, align {self._align}")

    def _store(self, value: str, register: str, entry: int, moved: str = "") -> None:
        """The entry's value in worlds that are not done; in all where it is of this round alone, or
        is put right at its end, and where one world alone runs.
        """
        if self._masks and not self._of_all(register):
            pointer = self._pointer(register, entry, moved)
            old = self.scribe.access(f"load {self._number}, {pointer}, align {self._align}")
            value = self.scribe.select(self._masks[-1], value, old)
        self._write(value, register, entry, moved)

    def _of_all(self, register: str) -> bool:
        """Whether worlds that take no part in a round may get its value too."""
        alone = self.target.lanes == 1 or register == SPARE or register in self._local[-1]
        return alone or self._kept_at_end(register)

    def _kept_at_end(self, register: str) -> bool:
        """Whether worlds that take no part in a round get its value back at the round's end."""
        outermost = len(self._masks) == 1 and not self._inside and self.target.lanes > 1
        if not outermost or register in self._local[-1]:
            return False
        return register in self._temporary and register not in self._addressed

    @property
    def _addressed(self) -> tuple[str, ...]:
        """Temporaries that have an address."""
        return (*self._memory, *self._shared, *self._sliced)

    def _write(self, value: str, register: str, entry: int, moved: str = "") -> None:
        pointer = self._pointer(register, entry, moved)
        how = "store volatile" if register in self._memory else "store"
        self.scribe.lines.append(f"  {how} {self._number} {value}, {pointer}, align {self._align}")


def places(program: Program, names: Sequence[str]) -> dict[str, int]:
    """Where registers begin that lie one behind the other, in numbers."""
    at = np.cumsum([0, *(program.sizes[name] for name in names)]).tolist()
    return dict(zip(names, at, strict=False))
