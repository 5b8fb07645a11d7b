"""Assembly of x86 with vectors of 512 bits whose numbers are found by short addresses.

An instruction's longest form (EVEX) finds in one byte what is within 128 times its own size of
where a register points: vectors, numbers, pairs of them; else an address takes four bytes. Straight
code of a step is too long for any cache of decoded instructions, and a processor reads such code at
16 bytes a cycle (Zen 5): eleven bytes take a cycle by themselves, seven half of one. LLVM finds all
that waits on the stack from its one end, a world's record from its beginning, and constants from
where it stands. Here registers that hold nothing point there as well. Every address stays what it
was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.program.codegen.idle_registers import (
    OF_PART,
    PART,
    PARTS,
    Idle,
    changed_unnamed,
    idle_registers,
)

REACH = 128  # times an instruction's size, to either side
PLACES = 64  # bytes: registers point to multiples of them
WORTH = 16  # bytes that a register must save to be worth the instruction that points it there
LINES = 1200  # after which a register may point elsewhere
STACK = "rsp"
LONGER = "r12"  # an address from it has a byte more

FUNCTION = re.compile(r"^(\w+):\n(.*?)^(?=\.Lfunc_end\d+:)", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"(-?\d+)?\(%(\w+)\)")
CONSTANT = re.compile(r"(\.LCPI\d+_\d+)\(%rip\)")
NUMBERS = re.compile(r"^(\.LCPI\d+_\d+):\n\t\.(quad|long)\t\S+\n", re.MULTILINE)
POOL = re.compile(rf"(?:{NUMBERS.pattern})+", re.MULTILINE)
BYTES = {"quad": 8, "long": 4, "d": 8, "s": 4}
OTHER = re.compile(rf"{PART.pattern}(?![^(]*\))")  # a register that is not part of an address
OPENING = re.compile(r"^\tsubq\t\$\d+, %rsp$")  # what a function waits on is where it stays
MOVED = re.compile(r"^\s*(push|pop|enter|leave)|,\s*%[er]?sp\s*$")  # where the stack ends
IN_ALL = re.compile(r"\{1to(8|16)\}|vbroadcasts([ds])\s.*%zmm")
NUMBER = re.compile(
    r"^\tv(?:mov|add|sub|mul|div|sqrt|min|max|u?comi|fn?m(?:add|sub)\d+|cmp\w+(?=s[ds]\t.*%k))s([ds])\t"
)
PAIR = re.compile(r"^\tvmov[au]p[ds]\t.*%xmm")
ALWAYS_LONG = re.compile(r"%zmm|%xmm(1[6-9]|2\d|3[01])|\{|\tvcmp")


@dataclass(frozen=True)
class Pool:
    """Constants side by side; first: the label of the first."""

    first: str


@dataclass(frozen=True)
class Record:
    """What a register points to; since: the line before which it pointed elsewhere."""

    register: str
    since: int


@dataclass(frozen=True)
class Access:
    """What an instruction reads or writes.

    address: bytes from where its area begins
    size: what its short address counts in, bytes
    saves: bytes of a short address
    """

    line: int
    area: Record | Pool
    address: int
    size: int
    saves: int


@dataclass(frozen=True)
class Window:
    """A register that points into an area; first: the line before which it comes to."""

    register: str
    area: Record | Pool
    middle: int
    first: int

    @property
    def opening(self) -> str:
        """The instruction by which it comes to point there."""
        if isinstance(self.area, Pool):
            return f"\tleaq\t{self.area.first}+{self.middle}(%rip), %{self.register}"
        return f"\tleaq\t{self.middle}(%{self.area.register}), %{self.register}"

    def found(self, access: Access, line: str) -> str:
        """The instruction that finds what it wants from here."""
        operand = f"{access.address - self.middle or ''}(%{self.register})"
        near = (CONSTANT if isinstance(self.area, Pool) else PLACE).sub(operand, line)
        return near if ALWAYS_LONG.search(line) else f"\t{{evex}} {near.lstrip()}"


def with_short_addresses(assembly: str, handed: int) -> str:
    """The same module (AT&T syntax, System V's calls), its functions one by one.

    handed: how many registers hold arguments of a call, at most
    """
    constants = dict(_constants(assembly))

    def shortened(found: re.Match[str]) -> str:
        return f"{found[1]}:\n{_shortened(found[2], constants, handed)}"

    return FUNCTION.sub(shortened, assembly)


def _constants(assembly: str) -> Iterator[tuple[str, tuple[Pool, int]]]:
    """Each constant's label, and where in which pool it lies, in bytes."""
    for pool in POOL.finditer(assembly):
        entries = [(own[1], BYTES[own[2]]) for own in NUMBERS.finditer(pool[0])]
        sizes = {size for _, size in entries}
        if len(sizes) == 1:
            size, own = sizes.pop(), Pool(entries[0][0])
            yield from ((label, (own, k * size)) for k, (label, _) in enumerate(entries))


def _shortened(function: str, constants: Mapping[str, tuple[Pool, int]], handed: int) -> str:
    """A function's lines behind its name; as they are where nothing is to win."""
    lines = function.split("\n")
    begun = next((k + 1 for k, line in enumerate(lines) if OPENING.match(line)), len(lines))
    if _moves_the_stack(lines[begun:]):
        return function
    accesses = [own for own in _accesses(lines, constants) if own.line >= begun]
    spans = [
        own
        for span in idle_registers(lines, handed)
        if span.register != LONGER and span.first >= begun
        for own in _parts(span)
    ]
    opened = dict[int, list[Window]]()
    for window, shown in _windows(spans, accesses):
        opened.setdefault(window.first, []).append(window)
        for access in shown:
            lines[access.line] = window.found(access, lines[access.line])
    for k in sorted(opened, reverse=True):
        lines[k:k] = [window.opening for window in opened[k]]
    return "\n".join(lines)


def _parts(span: Idle) -> Iterator[Idle]:
    """A span in parts: code wants other places as it goes on."""
    for first in range(span.first - span.first % LINES, span.end, LINES):
        yield Idle(span.register, max(span.first, first), min(span.end, first + LINES))


def _moves_the_stack(body: list[str]) -> bool:
    """Whether its end is moved elsewhere than where a function ends."""
    moved = False
    for line in body:
        if MOVED.search(line):
            moved = True
        elif line.lstrip().startswith("ret"):
            moved = False
        elif moved and "%rsp" in line:
            return True
    return moved


def _windows(spans: list[Idle], accesses: list[Access]) -> Iterator[tuple[Window, list[Access]]]:
    """Where registers shorten most and what they show, those that are free for long first."""
    lines = np.array([own.line for own in accesses])
    shown = np.zeros(len(accesses), dtype=bool)
    for span in sorted(spans, key=lambda own: (own.first - own.end, own.first, own.register)):
        begin, end = np.searchsorted(lines, [span.first, span.end])
        wanted = [k for k in range(begin, end) if not shown[k]]
        # the place from where most is short
        best, place, area = WORTH - 1, 0, None
        for own in dict.fromkeys(accesses[k].area for k in wanted):
            saved = _saved([accesses[k] for k in wanted if accesses[k].area == own])
            most = int(np.argmax(saved))
            if saved[most] > best:
                best, place, area = saved[most], most * PLACES, own
        if area is None:
            continue
        near = [
            k
            for k in wanted
            if accesses[k].area == area
            and -REACH <= (accesses[k].address - place) // accesses[k].size < REACH
        ]
        shown[near] = True
        found = [accesses[k] for k in near]
        yield Window(span.register, area, place, found[0].line), found


def _saved(accesses: list[Access]) -> NDArray[np.float64]:
    """The bytes that a register saves that points to each of the places of an area."""
    address, size, saves = (
        np.array([getattr(own, name) for own in accesses]) for name in ("address", "size", "saves")
    )
    first = np.maximum(-(-(address - (REACH - 1) * size) // PLACES), 0)
    end = (address + REACH * size) // PLACES + 1
    count = int(end.max()) + 1
    steps = np.zeros(count)
    np.add.at(steps, first, saves)
    np.subtract.at(steps, end, saves)
    return np.cumsum(steps)


def _accesses(body: list[str], constants: Mapping[str, tuple[Pool, int]]) -> Iterator[Access]:
    """What is wanted from afar."""
    since = dict.fromkeys((STACK, *PARTS), 0)
    for k, line in enumerate(body):
        for name in (*(OF_PART[part] for part in OTHER.findall(line)), *changed_unnamed(line)):
            since[name] = k + 1
        size = size_of(line)
        if not size:
            continue
        if found := CONSTANT.search(line):
            pool, address = constants.get(found[1], (None, 0))
            if pool:
                yield Access(k, pool, address, size, _longer(line) - 1)
            continue
        found = PLACE.search(line)
        if not found or found[2] not in since:
            continue
        address = int(found[1] or 0)
        reach = REACH * (size if ALWAYS_LONG.search(line) else 1)
        if address >= reach and address % size == 0:
            yield Access(k, Record(found[2], since[found[2]]), address, size, _longer(line))


def size_of(line: str) -> int:
    """What the short address of an instruction counts in, bytes; 0 if it has none."""
    if not line.startswith("\tv"):
        return 0
    if "%zmm" in line:
        in_all = IN_ALL.search(line)
        if not in_all:
            return 64
        return BYTES[in_all[2]] if in_all[2] else 64 // int(in_all[1])
    if number := NUMBER.match(line):
        return BYTES[number[1]]
    return 16 if PAIR.match(line) else 0


def _longer(line: str) -> int:
    """The bytes by which an address from the stack's end is longer than a short one."""
    if ALWAYS_LONG.search(line):
        return 4
    return 3 if line.startswith(("\tvfm", "\tvfnm")) else 2
