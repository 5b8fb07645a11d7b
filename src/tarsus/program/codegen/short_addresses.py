"""Assembly of x86 whose vectors of 512 bits on the stack are found by short addresses.

An address takes one byte where it is within 128 vectors of what a register points to, else four.
Straight code of a step is too long for any cache of decoded instructions, and a processor reads
such code at 16 bytes a cycle (Zen 5): eleven bytes take a cycle by themselves, seven half of one.
LLVM finds all that waits on the stack from its one end. Here registers that a function never names
point into it as well, each at the middle of 256 vectors. Every address stays what it was.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

VECTOR = 64  # bytes
REACH = 128  # vectors to either side
WORTH = 100  # accesses that a register must shorten
SCRATCH = ("r8", "r9", "r10", "r11")  # lost where one calls; no instruction takes one unnamed

FUNCTION = re.compile(r"^(\w+):\n(.*?)^(?=\.Lfunc_end\d+:)", re.MULTILINE | re.DOTALL)
STACK = re.compile(r"(-?\d+)?\(%rsp\)")
NAMED = re.compile(r"%(r\d+)[dwb]?\b")
MOVED = re.compile(r"^\s*(push|pop|enter|leave)|,\s*%[er]?sp\s*$")  # where the stack ends


@dataclass(frozen=True)
class Window:
    """A register that points to the middle of 256 vectors; first: the number of their first."""

    register: str
    first: int

    @property
    def middle(self) -> int:
        """Bytes from the stack's end."""
        return (self.first + REACH) * VECTOR

    @property
    def line(self) -> str:
        """The instruction by which it comes to point there."""
        return f"\tleaq\t{self.middle}(%rsp), %{self.register}"


def with_short_addresses(assembly: str) -> str:
    """The same module (AT&T syntax, System V's calls), its functions one by one."""
    return FUNCTION.sub(lambda found: f"{found[1]}:\n{_shortened(found[2])}", assembly)


def _shortened(function: str) -> str:
    """A function's lines behind its name; as they are where nothing is to win."""
    lines = function.split("\n")
    begun = next((k for k, line in enumerate(lines) if _leaves(line)), len(lines))
    opening, body = lines[:begun], lines[begun:]
    if _moves_the_stack(body):
        return function
    windows = _windows(body)
    if not windows:
        return function
    at = {
        number: window
        for window in reversed(windows)
        for number in range(window.first, window.first + 2 * REACH)
    }
    point = [window.line for window in windows]
    lines = [*opening, *point]
    for line in body:
        lines.append(_near(line, at))
        if line.lstrip().startswith("call"):
            lines += point
    return "\n".join(lines)


def _leaves(line: str) -> bool:
    """Whether a block of code begins or ends here."""
    return line.rstrip().endswith(":") or line.lstrip().startswith("j")


def _moves_the_stack(body: list[str]) -> bool:
    """Whether its end is moved elsewhere than where a function ends."""
    moved = False
    for line in body:
        if _leaves(line) and moved:
            return True
        if MOVED.search(line):
            moved = True
        elif line.lstrip().startswith("ret"):
            moved = False
        elif moved and "%rsp" in line:
            return True
    return moved


def _windows(body: list[str]) -> list[Window]:
    """Where free registers shorten most, one after the other."""
    named = {found[1] for line in body for found in NAMED.finditer(line)}
    counts = Counter(number for line in body if (number := _vector(line)) is not None)
    waiting = np.zeros(max(counts, default=0) + 2 * REACH)
    for number, count in counts.items():
        waiting[number] = count
    waiting[:REACH] = 0  # near the end as it is
    windows = []
    for register in (name for name in SCRATCH if name not in named):
        within = np.convolve(waiting, np.ones(2 * REACH), "valid")
        first = int(np.argmax(within))
        if within[first] < WORTH:
            break
        windows.append(Window(register, first))
        waiting[first : first + 2 * REACH] = 0
    return windows


def _vector(line: str) -> int | None:
    """Which vector of the stack an instruction reads or writes; None if it does neither."""
    if "%zmm" not in line or "{1to" in line:
        return None
    found = STACK.search(line)
    number, rest = divmod(int(found[1] or 0), VECTOR) if found else (0, 1)
    return None if rest or number < 0 else number


def _near(line: str, at: dict[int, Window]) -> str:
    """The instruction, its vector found from the window that holds it."""
    number = _vector(line)
    if number is None or number < REACH or number not in at:
        return line
    window = at[number]
    place = f"{number * VECTOR - window.middle}(%{window.register})"
    return STACK.sub(place, line)
