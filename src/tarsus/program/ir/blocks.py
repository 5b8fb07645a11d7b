"""A program is blocks over named registers: straight-line code, masked loops, look-ups, stamps.

Every world has its own copy of the registers. Persistent registers (state, report, parameter) live
in memory between calls; temporaries live for one run of the program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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

    A world that is done keeps its registers while others go on. A `seldom` one is rarely entered: a
    processor's code for it is compiled apart, quickly rather than well.
    """

    more: str
    body: tuple[Block, ...]
    maximum: int
    seldom: bool = False


@dataclass(frozen=True, eq=False)
class Traced:
    """The body of a loop that was traced later: its own registers, its blocks, the tables that
    they look up.
    """

    registers: tuple[Register, ...]
    body: tuple[Block, ...]
    tables: dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Later:
    """A `seldom` loop whose body is traced when someone first asks for it.

    reads, writes: registers of the program around it that the body may read, and those it writes
    make: traces the body
    """

    more: str
    maximum: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    make: Callable[[], Traced]
    seldom: bool = True

    @cached_property
    def traced(self) -> Traced:
        """Its body."""
        return self.make()

    def loop(self) -> While:
        """The loop with its body."""
        return While(self.more, self.traced.body, self.maximum, self.seldom)


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


Block = Straight | While | Later | Lookup | Stamp
CYCLES = "cycles"


@dataclass(frozen=True, eq=False)
class Program:
    """A program: blocks that read and write registers, one after the other.

    A simulation's program is one time step; it runs once a step for every world. `Builder` writes
    a program, `reference.run` evaluates it in Python, `run.worlds.Worlds` compiles and runs it.
    Loops that are traced `Later` hold registers, blocks and tables that the program has not yet:
    `whole` has all.
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
    origin: str = ""
    """What its later loops are known by: programs of one origin trace them alike."""

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
    def seldom(self) -> tuple[While | Later, ...]:
        """The outermost `seldom` loops in order; none where cycles are counted."""
        return () if self.sections else tuple(_outermost_seldom(self.blocks))

    def shared(self, number: int) -> tuple[str, ...]:
        """The temporaries that one of the `seldom` loops reads or writes."""
        used = _named((self.seldom[number],))
        return tuple(r.name for r in self.of_kind("temporary") if r.name in used)

    @cached_property
    def whole(self) -> Program:
        """The program with all bodies traced: the same if they are."""
        registers, tables = list(self.registers), dict(self.tables)

        def loop(later: Later) -> Block:
            registers.extend(later.traced.registers)
            tables.update(later.traced.tables)
            return replace(later.loop(), body=with_later(later.traced.body, loop))

        blocks = with_later(self.blocks, loop)
        if blocks is self.blocks:
            return self
        return Program(self.name, tuple(registers), blocks, tables, self.sections)

    def part(self, number: int) -> Program:
        """One of the `seldom` loops as a program of its own."""
        loop, shared = self.seldom[number], self.shared(number)
        own, tables = tuple[Register, ...](), self.tables
        if isinstance(loop, Later):
            own, tables = loop.traced.registers, loop.traced.tables
            loop = loop.loop()
        outside = tuple(r for r in self.of_kind("temporary") if r.name in shared)
        blocks, origin = (replace(loop, seldom=False),), f"{self.origin}.{number}"
        registers = (*self.persistent, *outside, *own)
        return Program(self.name, registers, blocks, tables, origin=origin)

    @cached_property
    def has_later(self) -> bool:
        """Whether some loop has yet to be traced."""
        return with_later(self.blocks, lambda one: While(one.more, (), 0)) is not self.blocks

    def straights(self) -> Iterator[tuple[Straight, bool]]:
        """Every straight block and whether it stands inside a loop."""
        yield from _straights(self.blocks, False)

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides the compiled code: all of it is traced for that."""
        return self.whole.outline

    @cached_property
    def outline(self) -> str:
        """The same of what has been traced: what every world runs."""
        digest = hashlib.sha256()
        for register in self.registers:
            digest.update(f"{register}".encode())
        _feed(digest, self.blocks)
        digest.update(repr([(k, len(v)) for k, v in self.tables.items()]).encode())
        return digest.hexdigest()


def with_later(blocks: tuple[Block, ...], change: Callable[[Later], Block]) -> tuple[Block, ...]:
    """The blocks with others for their later loops, in order; the same if there are none."""

    def new(block: Block) -> Block:
        if isinstance(block, Later):
            return change(block)
        if isinstance(block, While):
            body = with_later(block.body, change)
            return block if body is block.body else replace(block, body=body)
        return block

    changed = tuple(map(new, blocks))
    return blocks if all(a is b for a, b in zip(changed, blocks, strict=True)) else changed


def _outermost_seldom(blocks: tuple[Block, ...]) -> Iterator[While | Later]:
    for block in blocks:
        if isinstance(block, Later) or (isinstance(block, While) and block.seldom):
            yield block
        elif isinstance(block, While):
            yield from _outermost_seldom(block.body)


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
        elif isinstance(block, Later):
            names |= {block.more, *block.reads, *block.writes}
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
        elif isinstance(block, Later):
            told = ("later", block.more, block.maximum, block.reads, block.writes)
            digest.update(repr(told).encode())
        elif isinstance(block, Stamp):
            digest.update(repr(("stamp", block.section, block.clock)).encode())
        else:
            digest.update(repr((block.table, block.index, block.output)).encode())
