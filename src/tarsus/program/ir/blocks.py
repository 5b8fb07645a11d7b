"""A program is blocks over named registers: straight-line code, masked loops, look-ups, stamps.

Every world has its own copy of the registers. Persistent registers (state, report, parameter) live
in memory between calls; temporaries live for one run of the program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Kind = Literal["state", "report", "parameter", "temporary"]


@dataclass(frozen=True)
class Register:
    """Numbers of each world under one name."""

    name: str
    size: int
    """How many numbers a world has of it."""
    kind: Kind
    """Who keeps them.

    state: read and written by every run.
    report: written by every run.
    parameter: only read.
    temporary: exists during one run.
    """


@dataclass(frozen=True, eq=False)
class Straight:
    """outputs = function(inputs): all inputs are read before any output is written.

    code: the function as CasADi serializes it
    """

    code: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @classmethod
    def of(cls, function: ca.Function, inputs: Sequence[str], outputs: Sequence[str]) -> Straight:
        """The block of a function."""
        block = cls(function.serialize(), tuple(inputs), tuple(outputs))
        block.__dict__["function"] = function
        return block

    @cached_property
    def function(self) -> ca.Function:
        """From the inputs, a column each, to the outputs."""
        return ca.Function.deserialize(self.code)


@dataclass(frozen=True, eq=False)
class While:
    """Run `body` while register `more` is positive, at most `maximum` times, each world for itself.

    A world that is done keeps its registers while others go on. A `seldom` one, not inside another
    such, is rarely entered: a processor's code for it is compiled apart, quickly rather than well.
    """

    more: str
    body: tuple[Block, ...]
    maximum: int
    seldom: bool = False


@dataclass(frozen=True, eq=False)
class Lookup:
    """output[k] = table[round down(index[k])], the index held inside the table."""

    table: str
    index: str
    output: str


@dataclass(frozen=True, eq=False)
class Stamp:
    """Adds the processor's cycles since the last stamp to entry `section` of the register CYCLES.

    None: the step begins, and every section with nothing. clock: the register that holds the
    counter's last reading. Code on either side stays there. The reference evaluator, which has no
    counter, writes zeros.
    """

    section: int | None
    clock: str


Block = Straight | While | Lookup | Stamp
CYCLES = "cycles"


@dataclass(frozen=True, eq=False)
class Program:
    """A program: blocks that read and write registers, one after the other.

    A simulation's program is one time step; it runs once a step for every world. `Builder` writes
    a program, `reference.run` evaluates it in Python, `run.worlds.Worlds` compiles and runs it.
    """

    name: str
    registers: tuple[Register, ...]
    """All numbers that blocks read or write."""
    blocks: tuple[Block, ...]
    """The work, in order."""
    tables: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """Arrays (entries,) that all worlds share, by name, for `Lookup`."""
    sections: tuple[str, ...] = ()
    """Names of the entries of the register CYCLES, if the program is timed (`Builder.stamp`)."""

    def of_kind(self, *kinds: Kind) -> tuple[Register, ...]:
        """Registers of the given kinds in order."""
        return tuple(r for r in self.registers if r.kind in kinds)

    @cached_property
    def persistent(self) -> tuple[Register, ...]:
        """Registers kept between runs: state, then report, then parameters."""
        return self.of_kind("state") + self.of_kind("report") + self.of_kind("parameter")

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Numbers a world by register name."""
        return {r.name: r.size for r in self.registers}

    @cached_property
    def seldom(self) -> tuple[While, ...]:
        """The outermost `seldom` loops in order; none where cycles are counted."""
        return () if self.sections else tuple(_outermost_seldom(self.blocks))

    @cached_property
    def apart(self) -> frozenset[str]:
        """Temporaries that the `seldom` loops read or write."""
        used = _named(self.seldom)
        return frozenset(r.name for r in self.of_kind("temporary") if r.name in used)

    def straights(self) -> Iterator[tuple[Straight, bool]]:
        """Every straight block and whether it stands inside a loop."""
        yield from _straights(self.blocks, False)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that decides the compiled code."""
        digest = hashlib.sha256()
        for register in self.registers:
            digest.update(f"{register}".encode())
        _feed(digest, self.blocks)
        digest.update(repr([(k, len(v)) for k, v in self.tables.items()]).encode())
        return digest.hexdigest()


def _outermost_seldom(blocks: tuple[Block, ...]) -> Iterator[While]:
    for block in blocks:
        if isinstance(block, While):
            yield from [block] if block.seldom else _outermost_seldom(block.body)


def _straights(blocks: tuple[Block, ...], inside: bool) -> Iterator[tuple[Straight, bool]]:
    for block in blocks:
        if isinstance(block, Straight):
            yield block, inside
        elif isinstance(block, While):
            yield from _straights(block.body, True)


def _named(blocks: tuple[Block, ...]) -> set[str]:
    """The registers that blocks read or write."""
    names: set[str] = set()
    for block in blocks:
        if isinstance(block, Straight):
            names.update(block.inputs, block.outputs)
        elif isinstance(block, While):
            names |= {block.more} | _named(block.body)
        elif isinstance(block, Lookup):
            names |= {block.index, block.output}
        else:
            names.add(block.clock)
    return names


def _feed(digest: hashlib._Hash, blocks: tuple[Block, ...]) -> None:
    for block in blocks:
        if isinstance(block, Straight):
            digest.update(repr((block.inputs, block.outputs)).encode())
            digest.update(block.code.encode())
        elif isinstance(block, While):
            digest.update(repr((block.more, block.maximum, block.seldom)).encode())
            _feed(digest, block.body)
            digest.update(b"end")
        elif isinstance(block, Stamp):
            digest.update(repr(("stamp", block.section, block.clock)).encode())
        else:
            digest.update(repr((block.table, block.index, block.output)).encode())
