"""Registers of x86 that hold nothing an instruction still reads, line by line of a function's
assembly (AT&T syntax, System V's calls).

An instruction that is not known reads what it names. A byte that is written (`sete`) leaves the
rest of its register, which somebody may want: unless the last instruction that named the register
read it, for LLVM prepares a rest (`xorl`) and writes the byte into it before anybody reads either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

OLD = ("a", "c", "d", "b")
LEGACY = {
    **{f"r{k}x": (f"r{k}x", f"e{k}x", f"{k}x", f"{k}l", f"{k}h") for k in OLD},
    **{f"r{k}": (f"r{k}", f"e{k}", k, f"{k}l") for k in ("si", "di", "bp")},
}
NEW = {f"r{k}": (f"r{k}", f"r{k}d", f"r{k}w", f"r{k}b") for k in range(8, 16)}
PARTS = {**LEGACY, **NEW}
BIT = {part: 1 << k for k, parts in enumerate(PARTS.values()) for part in parts}
OF_PART = {part: name for name, parts in PARTS.items() for part in parts}
WHOLE = {part for parts in PARTS.values() for part in parts[:2]}  # who writes it, writes all
PART = re.compile(rf"%({'|'.join(sorted(BIT, key=len, reverse=True))})\b")


def _bits(*names: str) -> int:
    return sum({BIT[name] for name in names})


ALL = _bits(*PARTS)
ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")  # of a call, in turn
LOST = _bits(*ARGUMENTS, "rax", "r10", "r11")  # where one calls
WANTED = ALL & ~LOST | _bits("rax", "rdx")  # by who called
UNNAMED = re.compile(
    r"^\s*(cqto|cltd|cltq|cwtl|cpuid|rdtscp?|xgetbv|rep|stos|movs[bwlq]\s*$|mulx?|i?div|cmpxchg"
    r"|imul[bwlq]?\s+[^,]+$)"
)
TAKEN_UNNAMED = _bits("rax", "rbx", "rcx", "rdx", "rsi", "rdi")
GIVES = re.compile(
    r"^\s*(mov([lq]|[sz][bw][lq]|slq|absq)|leaq|kmov[bwdq]|popq|vmov[dq]|vcvtt?s[sd]2u?si[lq]?)\s"
)
NOTHING = re.compile(r"^\s*xorl\s+(%\w+),\s*(%\w+)\s*$")
BYTE = re.compile(r"^\s*set\w+\s+%(\w+)\s*$")
JUMP = re.compile(r"^\s*(j\w+)\s+(\S+)\s*$")


@dataclass(frozen=True)
class Idle:
    """A register, from which line on and before which one it holds nothing."""

    register: str
    first: int
    end: int


@dataclass(frozen=True)
class _Instruction:
    """What an instruction does to registers.

    byte: the register of which it writes one byte
    lost: what it leaves there, nobody reads
    """

    line: int
    reads: int
    writes: int
    byte: int = 0
    lost: int = 0

    def read(self, settled: int) -> int:
        """Registers whose numbers it needs, or leaves in part."""
        return self.reads | self.byte & ~settled

    def settled(self, before: int) -> int:
        """Registers that nobody has prepared when it is done."""
        return before & ~self.writes | self.read(before) & ~self.byte | self.lost


@dataclass
class _Block:
    """Code that is entered at its first line and left after its last.

    named: its instructions that have to do with registers
    follow: the blocks that may come next
    settled: registers that nobody has prepared when it begins
    after: registers that blocks that follow read
    """

    first: int
    end: int
    named: list[_Instruction]
    follow: list[int] = field(default_factory=list)
    settled: int = ALL
    after: int = 0

    def left(self) -> int:
        """Registers that nobody has prepared when it ends."""
        settled = self.settled
        for own in self.named:
            settled = own.settled(settled)
        return settled

    def reads(self) -> list[int]:
        """What each of its instructions reads."""
        settled, found = self.settled, list[int]()
        for own in self.named:
            found.append(own.read(settled))
            settled = own.settled(settled)
        return found

    def before(self) -> int:
        """What it reads, or blocks that follow."""
        live = self.after
        for own, read in zip(reversed(self.named), reversed(self.reads()), strict=True):
            live = live & ~own.writes | read
        return live


def idle_registers(function: list[str], handed: int = len(ARGUMENTS)) -> list[Idle]:
    """Where which register may hold anything: no line of a span names it.

    handed: how many registers hold arguments of a call, at most
    """
    blocks = list(_blocks(function, _bits(*ARGUMENTS[:handed], "rax")))
    _prepared(blocks)
    _read(blocks)
    return [span for block in blocks for span in _spans(block)]


def _prepared(blocks: list[_Block]) -> None:
    """Finds what is prepared where blocks begin: forwards, until nothing changes."""
    waiting = list(range(len(blocks)))
    while waiting:
        block = blocks[waiting.pop(0)]
        left = block.left()
        for k in block.follow:
            if blocks[k].settled & ~left:
                blocks[k].settled &= left
                waiting.append(k)


def _read(blocks: list[_Block]) -> None:
    """Finds what is read after blocks: backwards, until nothing changes."""
    comes_from: list[list[int]] = [[] for _ in blocks]
    for j, own in enumerate(blocks):
        for k in own.follow:
            comes_from[k].append(j)
    waiting = list(reversed(range(len(blocks))))
    while waiting:
        k = waiting.pop(0)
        before = blocks[k].before()
        for j in comes_from[k]:
            if before & ~blocks[j].after:
                blocks[j].after |= before
                waiting.append(j)


def _spans(block: _Block) -> Iterator[Idle]:
    """Where a block's registers hold nothing that is read."""
    live, ends = block.after, dict.fromkeys(PARTS, block.end)
    for own, read in zip(reversed(block.named), reversed(block.reads()), strict=True):
        for name in PARTS:
            if BIT[name] & (read | own.reads | own.writes):
                if not live & BIT[name] and own.line + 1 < ends[name]:
                    yield Idle(name, own.line + 1, ends[name])
                ends[name] = own.line
        live = live & ~own.writes | read
    for name in PARTS:
        if not live & BIT[name] and block.first < ends[name]:
            yield Idle(name, block.first, ends[name])


def _blocks(function: list[str], handed: int) -> Iterator[_Block]:
    """A function's blocks and which follow."""
    bounds = {0, *(k + (not _is_label(own)) for k, own in enumerate(function) if leaves(own))}
    bounds = sorted({*bounds, len(function)})
    at = {
        function[first].strip().rstrip(":"): k
        for k, first in enumerate(bounds[:-1])
        if _is_label(function[first])
    }
    jumps = [JUMP.match(function[end - 1]) for end in bounds[1:]]
    anywhere = any(jump and jump[2].startswith("*") for jump in jumps)
    for k, (first, end) in enumerate(pairwise(bounds)):
        lines = (_instruction(j, function[j], handed) for j in range(first, end))
        block = _Block(first, end, [own for own in lines if own], settled=0 if anywhere else ALL)
        jump = jumps[k]
        if jump and jump[2] not in at:  # by a table, or out of the function
            block.after = ALL
        elif jump:
            block.follow.append(at[jump[2]])
        if end < len(function) and not (jump and jump[1] == "jmp"):
            block.follow.append(k + 1)
        yield block


def _instruction(k: int, line: str, handed: int) -> _Instruction | None:
    """What line k does to registers; None if nothing."""
    named = PART.findall(line)
    if not named and line.startswith(("\tv", "\t.")):
        return None
    mentioned = _bits(*named)
    if is_call(line):
        return _Instruction(k, handed | mentioned, LOST, lost=LOST)
    if line.lstrip().startswith("ret"):
        return _Instruction(k, WANTED, 0)
    if UNNAMED.match(line):
        return _Instruction(k, TAKEN_UNNAMED | mentioned, 0)
    if not named:
        return None
    nothing = NOTHING.match(line)
    if nothing and nothing[1] == nothing[2]:
        return _Instruction(k, 0, mentioned)
    if BYTE.match(line):
        return _Instruction(k, 0, mentioned, byte=mentioned)
    gives = GIVES.match(line) and line.rstrip().endswith(f"%{named[-1]}") and named[-1] in WHOLE
    return _Instruction(k, _bits(*named[:-1] if gives else named), _bits(named[-1]) if gives else 0)


def changed_unnamed(line: str) -> list[str]:
    """The registers that an instruction may write and does not name."""
    changed = LOST if is_call(line) else TAKEN_UNNAMED if UNNAMED.match(line) else 0
    return [name for name in PARTS if BIT[name] & changed] if changed else []


def is_call(line: str) -> bool:
    """Whether it calls."""
    return line.lstrip().startswith("call")


def leaves(line: str) -> bool:
    """Whether a block of code begins or ends here."""
    return _is_label(line) or line.lstrip().startswith("j")


def _is_label(line: str) -> bool:
    return line.rstrip().endswith(":")
