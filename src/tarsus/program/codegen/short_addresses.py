"""Assembly of x86 whose vectors of 512 bits are found by short addresses.

An address takes one byte where it is within 128 vectors of what a register points to, or within 128
numbers if one number goes into all lanes; else four. Straight code of a step is too long for any
cache of decoded instructions, and a processor reads such code at 16 bytes a cycle (Zen 5): eleven
bytes take a cycle by themselves, seven half of one. LLVM finds all that waits on the stack from its
one end, a world's record from its beginning, and constants from where it stands. Here registers
that nobody needs point there as well, each at the middle of 256. Every address stays what it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tarsus.program.codegen.idle_registers import Idle, idle_registers, is_call, leaves

VECTOR = 64  # bytes
REACH = 128  # vectors, or numbers, to either side
WORTH = 12  # accesses that a register must shorten to be worth the instruction that points it there
BOTH_SIDES = np.ones(2 * REACH)
STACK, KEPT = "rsp", ("rbx", "r12", "r13", "r14", "r15")  # kept: by who is called

FUNCTION = re.compile(r"^(\w+):\n(.*?)^(?=\.Lfunc_end\d+:)", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"(-?\d+)?\(%(\w+)\)")
CONSTANT = re.compile(r"(\.LCPI\d+_\d+)\(%rip\)")
NUMBERS = re.compile(r"^(\.LCPI\d+_\d+):\n\t\.(quad|long)\t\S+\n", re.MULTILINE)
POOL = re.compile(rf"(?:{NUMBERS.pattern})+", re.MULTILINE)
BYTES = {"quad": 8, "long": 4}
IN_ALL = {"{1to8}": 8, "{1to16}": 4, "vbroadcastsd": 8, "vbroadcastss": 4}
OTHER = re.compile(rf"%({'|'.join(KEPT)})\s*$")  # what an instruction writes is its last operand
MOVED = re.compile(r"^\s*(push|pop|enter|leave)|,\s*%[er]?sp\s*$")  # where the stack ends


@dataclass(frozen=True)
class Pool:
    """Constants side by side; size: bytes of each, first: the label of the first."""

    first: str
    size: int


@dataclass(frozen=True)
class Access:
    """What an instruction reads or writes: the number of a vector from where a register points, or
    of a constant of a pool.
    """

    area: str | Pool
    number: int

    @property
    def is_near(self) -> bool:
        """Whether its address is short as it is."""
        return not isinstance(self.area, Pool) and -REACH <= self.number < REACH


@dataclass(frozen=True)
class Window:
    """A register that points to the middle of 256 vectors or constants; first: the number of their
    first.
    """

    idle: Idle
    area: str | Pool
    first: int

    @property
    def size(self) -> int:
        """Bytes of each."""
        return self.area.size if isinstance(self.area, Pool) else VECTOR

    @property
    def line(self) -> str:
        """The instruction by which it comes to point there."""
        middle = (self.first + REACH) * self.size
        if isinstance(self.area, Pool):
            return f"\tleaq\t{self.area.first}+{middle}(%rip), %{self.idle.register}"
        return f"\tleaq\t{middle}(%{self.area}), %{self.idle.register}"

    def finds(self, access: Access, line: int) -> bool:
        """Whether it shows what line `line` wants."""
        inside = access.area == self.area and 0 <= access.number - self.first < 2 * REACH
        return inside and not self.idle.is_busy(line)

    def place(self, access: Access) -> str:
        """The operand that finds it."""
        away = (access.number - self.first - REACH) * self.size
        return f"{away or ''}(%{self.idle.register})"


def with_short_addresses(assembly: str) -> str:
    """The same module (AT&T syntax, System V's calls), its functions one by one."""
    constants = dict(_constants(assembly))

    def shortened(found: re.Match[str]) -> str:
        return f"{found[1]}:\n{_shortened(found[2], constants)}"

    return FUNCTION.sub(shortened, assembly)


def _constants(assembly: str) -> Iterator[tuple[str, Access]]:
    """Each constant's label, and where in which pool it lies."""
    for pool in POOL.finditer(assembly):
        entries = list(NUMBERS.finditer(pool[0]))
        if len({kind for _, kind in (entry.groups() for entry in entries)}) == 1:
            own = Pool(entries[0][1], BYTES[entries[0][2]])
            yield from ((entry[1], Access(own, k)) for k, entry in enumerate(entries))


def _shortened(function: str, constants: Mapping[str, Access]) -> str:
    """A function's lines behind its name; as they are where nothing is to win."""
    lines = function.split("\n")
    begun = next((k for k, line in enumerate(lines) if leaves(line)), len(lines))
    body = lines[begun:]
    if _moves_the_stack(body):
        return function
    idle = idle_registers(body)
    accesses = [_access(line, constants) for line in body]
    lines = lines[:begun]
    for first, last in _pieces(body):
        free = [own for own in idle if not own.is_busy(first)]
        windows = _windows(free, accesses[first:last])
        lines += [window.line for window in windows]
        lines += [_near(k, body[k], accesses[k], windows) for k in range(first, last)]
    return "\n".join(lines)


def _pieces(body: list[str]) -> Iterator[tuple[int, int]]:
    """From which lines on to before which ones nothing is called, no code jumps, and what is kept
    by who is called stays.
    """
    first = 0
    for k, line in enumerate(body):
        if leaves(line) or is_call(line) or OTHER.search(line):
            yield first, k + 1
            first = k + 1
    yield first, len(body)


def _moves_the_stack(body: list[str]) -> bool:
    """Whether its end is moved elsewhere than where a function ends."""
    moved = False
    for line in body:
        if leaves(line) and moved:
            return True
        if MOVED.search(line):
            moved = True
        elif line.lstrip().startswith("ret"):
            moved = False
        elif moved and "%rsp" in line:
            return True
    return moved


def _windows(idle: list[Idle], accesses: list[Access | None]) -> list[Window]:
    """Where idle registers shorten most, one after the other."""
    # how often each number of each area is wanted from afar
    far = (own for own in accesses if own and own.number >= 0 and not own.is_near)
    counts = Counter(far)
    waiting = {
        area: np.zeros(max(own.number for own in counts if own.area == area) + 2 * REACH)
        for area in dict.fromkeys(own.area for own in counts)
    }
    for access, count in counts.items():
        waiting[access.area][access.number] = count
    # the window that shows most, then the next
    windows = []
    for own in idle if waiting else ():
        shown = {k: np.convolve(each, BOTH_SIDES, "valid") for k, each in waiting.items()}
        area = max(shown, key=lambda k: shown[k].max())
        first = int(np.argmax(shown[area]))
        if shown[area][first] < WORTH:
            break
        windows.append(Window(own, area, first))
        waiting[area][first : first + 2 * REACH] = 0
    return windows


def _access(line: str, constants: Mapping[str, Access]) -> Access | None:
    """What of an area an instruction reads or writes; None if it does neither."""
    if "%zmm" not in line:
        return None
    in_all = next((size for how, size in IN_ALL.items() if how in line), None)
    if found := CONSTANT.search(line):
        access = constants.get(found[1])
        fits = access and isinstance(access.area, Pool) and access.area.size == in_all
        return access if fits else None
    found = PLACE.search(line)
    if not found or in_all or found[2] not in (STACK, *KEPT):
        return None
    number, rest = divmod(int(found[1] or 0), VECTOR)
    return None if rest else Access(found[2], number)


def _near(k: int, line: str, access: Access | None, windows: list[Window]) -> str:
    """Line k, what it wants found from the window that shows it."""
    if access is None or access.is_near:
        return line
    window = next((own for own in windows if own.finds(access, k)), None)
    if window is None:
        return line
    pattern = CONSTANT if isinstance(access.area, Pool) else PLACE
    return pattern.sub(window.place(access), line)
