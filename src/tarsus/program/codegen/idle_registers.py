"""Registers of x86 that a function's assembly needs only now and then: for arguments of calls, and
for numbers that no other block of code reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

UNNAMED = r"^\s*(cqto|cltd|cpuid|rdtsc|mul[bwlq]|i?div[bwlq]|imul[bwlq]\s+[^,]+$)"  # these take it
PARTS = {  # of registers that are lost where one calls
    **{name: rf"%{name}[dwb]?\b" for name in ("r8", "r9", "r10", "r11")},
    "rdi": r"%(rdi|edi|dil?)\b",
    "rsi": r"%(rsi|esi|sil?)\b",
    "rdx": rf"%(rdx|edx|d[xlh])\b|{UNNAMED}",
}
NAMES = {name: re.compile(parts) for name, parts in PARTS.items()}
ANY = re.compile("|".join(PARTS.values()))
GIVES = re.compile(r"^\s*(mov[lq]|movabsq|leaq|kmov[bwdq])\s")  # writes its last operand alone
NOTHING = re.compile(r"^\s*xorl\s+(%\w+),\s*(%\w+)\s*$")


@dataclass(frozen=True)
class Idle:
    """A register, and from which lines on to which it holds something."""

    register: str
    busy: tuple[tuple[int, int], ...]

    def is_busy(self, line: int) -> bool:
        """Whether it holds something there."""
        return any(first <= line <= last for first, last in self.busy)


def idle_registers(body: list[str]) -> list[Idle]:
    """Those that every block of code writes first that names one: what it finds there, and what it
    leaves there, nobody reads.
    """
    found = []
    named = [k for k, line in enumerate(body) if ANY.search(line)]
    for name, pattern in NAMES.items():
        lines = [k for k in named if pattern.search(body[k])]
        busy = _busy(body, name, lines)
        if busy is not None:
            found.append(Idle(name, tuple(busy)))
    return sorted(found, key=lambda own: len(own.busy))


def _busy(body: list[str], name: str, lines: list[int]) -> list[tuple[int, int]] | None:
    """From where to which calls or ends of blocks it holds something; None if a block reads it."""
    found: list[tuple[int, int]] = []
    for k in lines:
        if found and k <= found[-1][1]:
            continue
        last = next((j for j in range(k, len(body)) if is_call(body[j]) or leaves(body[j])), None)
        if not _given(body[k], name):
            return None
        found.append((k, len(body) if last is None else last))
    return found


def _given(line: str, name: str) -> bool:
    """Whether an instruction writes the register and does not read it."""
    nothing = NOTHING.match(line)
    if nothing and nothing[1] == nothing[2]:
        return True
    mentions = list(NAMES[name].finditer(line))
    return bool(GIVES.match(line)) and len(mentions) == 1 and not line[mentions[0].end() :].strip()


def is_call(line: str) -> bool:
    """Whether it calls."""
    return line.lstrip().startswith("call")


def leaves(line: str) -> bool:
    """Whether a block of code begins or ends here."""
    return line.rstrip().endswith(":") or line.lstrip().startswith("j")
