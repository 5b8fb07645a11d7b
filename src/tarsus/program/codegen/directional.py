"""A tangent program as LLVM IR: one world, and its directions in the lanes.

What all directions share is computed once, as plain numbers. What differs by direction, the
tangents, is computed after it, piece by piece of a block, a vector of directions at a time; what
that takes of the numbers is read from memory into all lanes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from tarsus.program.codegen import cold_table
from tarsus.program.codegen.emit import Emitter
from tarsus.program.codegen.ir_writer import IrWriter
from tarsus.program.codegen.kernels import Around, KernelShell
from tarsus.program.codegen.layout import Target
from tarsus.program.codegen.registers import places
from tarsus.program.ir.blocks import Block, Slice, Straight, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.pieces import Cut, GroupWork, Piece, without_zeros
from tarsus.program.lowering.reach import reach

SLOTS = "~slots"
SPARED = 2  # numbers of a straight block that may wait for its directions, for each instruction
PER_SLOT = 8  # instructions of the longest block for each slot of a value that waits between pieces


@dataclass(frozen=True)
class OneWorld(KernelShell):
    """kernel(world, tables, shared): a step of one world along all directions.

    varying: registers that differ by direction; lanes: directions in a vector
    parts: vectors of directions that go on from other registers than those before them: how many,
    and the registers
    """

    varying: frozenset[str]
    lanes: int
    parts: tuple[tuple[int, frozenset[str]], ...]
    has_cold_functions = True

    @property
    def vectors(self) -> int:
        """Of directions."""
        return sum(count for count, _ in self.parts)

    @property
    def fingerprint(self) -> str:
        parts = [(count, sorted(names)) for count, names in self.parts]
        told = repr((sorted(self.varying), self.lanes, parts))
        return f"OneWorld {hashlib.sha256(told.encode()).hexdigest()}"

    def around(self, program: Program, target: Target, work: str) -> Around:
        names = ", ".join(f"ptr noalias %{name}" for name in ("world", "tables", "shared"))
        opening = [f"define void @kernel({names}) #0 {{", "entry:", work]
        closing = ["  ret void", "}", 'attributes #0 = { nounwind "stackrealign" }']
        return Around([], opening, closing)

    def persistent(self, scribe: IrWriter, target: Target, entry: int) -> str:
        return f"ptr {scribe.access(f'getelementptr inbounds double, ptr %world, i64 {entry}')}"

    def table(self, scribe: IrWriter, target: Target, program: Program, number: int) -> str:
        slot = scribe.access(f"getelementptr ptr, ptr %tables, i64 {number}")
        return f"ptr {scribe.access(f'load ptr, ptr {slot}')}"


@dataclass(frozen=True)
class SharedRoom:
    """What lies in `shared`, in numbers: temporaries of cold loops, then registers that differ by
    direction, and slots, [entry][direction], then what waits within a block for its directions.
    """

    program: Program
    frame: OneWorld

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Where the temporaries of cold loops are that do not differ by direction."""
        program = self.program
        own = {name for k in range(len(program.cold)) for name in program.shared(k)}
        return places(program, sorted(own - self.frame.varying))

    @cached_property
    def vectors(self) -> dict[str, int]:
        """Where registers are that differ by direction."""
        room, lanes = sum(self.program.sizes[name] for name in self.numbers), self.frame.lanes
        at, found = -(-room // lanes) * lanes, dict[str, int]()
        for register in self.program.registers:
            if register.name in self.frame.varying:
                found[register.name] = at
                at += register.size * self.width
        found[SLOTS] = at
        return found

    @property
    def width(self) -> int:
        """Numbers of an entry that differs by direction."""
        return self.frame.vectors * self.frame.lanes

    @cached_property
    def longest(self) -> int:
        """Instructions of the longest straight block."""
        return max(block.function.n_instructions() for block, _ in self.program.straights())

    @property
    def slots(self) -> int:
        """For values that wait between pieces of a block."""
        return self.longest // PER_SLOT

    @property
    def waiting(self) -> int:
        """Where what directions share waits for them."""
        return self.vectors[SLOTS] + self.slots * self.width

    @property
    def size(self) -> int:
        """Of all."""
        return self.waiting + SPARED * self.longest


class DirectionalEmitter(Emitter):
    """Writes a kernel of one world and its directions."""

    frame: OneWorld

    def __init__(self, program: Program, frame: OneWorld, in_pieces: bool = False) -> None:
        super().__init__(program, Target(1), frame, in_pieces=in_pieces)
        self.wide = self.scribe.beside(frame.lanes)
        self._room = SharedRoom(program, frame)
        self._shared = self._room.numbers
        self._sliced = self._places_of_sliced(frame.varying | self._shared.keys())
        seeded = {
            name: sum(1 << k for k, (_, names) in enumerate(frame.parts) if name in names)
            for name in frame.varying
        }
        self._reach = reach(program, seeded, (1 << len(frame.parts)) - 1)

    def cold_module(self, number: int) -> str:
        """The module of the function of a cold loop."""
        self._inside = True
        loop = self.program.cold[number]
        assert isinstance(loop, While)
        self._while(loop)
        s = self.scribe
        return "\n".join([*s.declarations(), *cold_table.function(s.lines, 0)])

    def _short_way(self) -> None:
        """None: what a loop changes lies in memory anyhow."""

    def _is_cold(self, block: Block) -> bool:
        return super()._is_cold(block) and not self._inside

    def _handing(self, number: int) -> cold_table.Handed:
        return cold_table.Handed("%shared", [], [])  # where it is, it stays

    def _workspace(self) -> str:
        size = max(sum(r.size for r in self.program.of_kind("temporary")), 1)
        room = f"  %work = alloca [{size} x double], align 64"
        return "\n".join([room, *self._room_of_sliced()])

    def _slice(self, block: Slice) -> None:
        if block.part not in self.frame.varying:
            super()._slice(block)
            return
        # all directions of an entry lie side by side
        s, width, moved = self.scribe, self._room.width, self._moved(block)
        count = self.program.sizes[block.part] * width
        offset = s.access(f"mul i64 {moved}, {width}")
        at = s.access(f"add i64 {offset}, {self._room.vectors[block.whole]}")
        whole = s.access(f"getelementptr double, ptr %shared, i64 {at}")
        part = s.access(f"getelementptr double, ptr %shared, i64 {self._room.vectors[block.part]}")
        to, of = (whole, part) if block.stored else (part, whole)
        s.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        s.lines.append(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {of}, i64 {8 * count}, i1 false)"
        )

    def _straight(self, block: Straight) -> None:
        # what all directions share
        cut = Cut(block, self._reach, self.frame.varying, self._room.slots)
        s, values = self.scribe, list[str]()
        for node, used in zip(cut.tape.nodes, cut.shared.work, strict=True):
            values.append(self._value(node, values, block, block.outputs) if used else "")
        for k, at in cut.shared.waiting.items():
            to = s.access(f"getelementptr double, ptr %shared, i64 {self._room.waiting + at}")
            s.lines.append(f"  store double {s.number(values[k])}, ptr {to}, align 8")
        for register, entry, node in cut.shared.ends:
            self._store(s.number(values[node]), register, entry)
        s.forget()
        # group by group of directions the rest
        first = 0
        for group, (vectors, _) in enumerate(self.frame.parts):
            part = cut.part(group)
            for piece in part.pieces:
                if piece.work or piece.ends:
                    self._piece(cut, part, piece, (first, first + vectors))
            first += vectors

    def _piece(self, cut: Cut, part: GroupWork, piece: Piece, span: tuple[int, int]) -> None:
        """What differs by direction, from a first vector of directions to before a last one."""
        # for each vector of directions
        s, wide, t = self.scribe, self.wide, cut.tape
        self._labels += 1
        tag, vector, align = f"along{self._labels}", wide.vector, f"align {wide.lanes * 8}"
        s.lines += _begun(tag, span)
        base = s.access(f"getelementptr {vector}, ptr %shared, i64 %{tag}.at")

        def pointer(register: str, entry: int) -> str:
            at = self._room.vectors[register] // wide.lanes + entry * self.frame.vectors
            return f"ptr {s.access(f'getelementptr inbounds {vector}, ptr {base}, i64 {at}')}"

        # its values; what it takes of the numbers goes into all lanes
        values: dict[int, str] = {}

        def value(k: int) -> str:
            if t.nodes[k].op == "const" or not part.some[k]:
                return wide.const(t.nodes[k].value)
            if k not in values:
                values[k] = found(k)
            return values[k]

        def found(k: int) -> str:
            node = t.nodes[k]
            if not cut.differs[k]:
                at = self._room.waiting + cut.shared.waiting[k]
                place = f"getelementptr double, ptr %shared, i64 {at}"
                return wide.everywhere(s.access(f"load double, ptr {s.access(place)}, align 8"))
            place = (
                pointer(SLOTS, part.slots[k])
                if node.op != "input"
                else pointer(cut.block.inputs[node.place[0]], node.place[1])
            )
            return wide.access(f"load {vector}, {place}, {align}")

        for k in piece.work:
            if t.nodes[k].op != "input":
                op, args = without_zeros(t.nodes[k], part.some)
                values[k] = wide.operation(op, [value(a) for a in args])
        written = [(SLOTS, slot, k) for k, slot in piece.kept.items()]
        for register, entry, node in (*written, *piece.ends):
            number, to = wide.number(value(node)), pointer(register, entry)
            s.lines.append(f"  store {vector} {number}, {to}, {align}")
        wide.forget()
        s.lines += _ended(tag)


def _begun(tag: str, span: tuple[int, int]) -> list[str]:
    """A loop over vectors of directions."""
    return [
        f"  br label %{tag}.before",
        f"{tag}.before:",
        f"  br label %{tag}.head",
        f"{tag}.head:",
        f"  %{tag}.at = phi i64 [ {span[0]}, %{tag}.before ], [ %{tag}.next, %{tag}.end ]",
        f"  %{tag}.go = icmp slt i64 %{tag}.at, {span[1]}",
        f"  br i1 %{tag}.go, label %{tag}.body, label %{tag}.exit",
        f"{tag}.body:",
    ]


def _ended(tag: str) -> list[str]:
    """Its end."""
    return [
        f"  br label %{tag}.end",
        f"{tag}.end:",
        f"  %{tag}.next = add i64 %{tag}.at, 1",
        f"  br label %{tag}.head",
        f"{tag}.exit:",
    ]
