"""A program: blocks over named registers, one after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tarsus.program.ir.blocks import (
    Block,
    ColdLoop,
    Kind,
    Register,
    Slice,
    Straight,
    While,
    feed,
    flat,
    names_in,
    outermost_cold,
    with_cold_loops,
)

CYCLES = "cycles"


@dataclass(frozen=True, eq=False)
class Program:
    """A program: blocks that read and write registers, one after the other.

    A simulation's program is one time step; it runs once a step for every world. `Builder` writes
    a program, `reference.run` evaluates it in Python, `run.worlds.Worlds` compiles and runs it.
    Loops that are traced `ColdLoop` hold registers, blocks and tables that the program has not yet:
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
    """Cache key of its cold loops: programs of one origin trace them alike."""

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
    def cold(self) -> tuple[While | ColdLoop, ...]:
        """The outermost `cold` loops in order; none where cycles are counted."""
        return () if self.sections else tuple(outermost_cold(self.blocks))

    def shared(self, number: int) -> tuple[str, ...]:
        """The temporaries that one of the `cold` loops reads or writes."""
        used = names_in((self.cold[number],))
        return tuple(r.name for r in self.of_kind("temporary") if r.name in used)

    @cached_property
    def whole(self) -> Program:
        """The program with all bodies traced: the same if they are."""
        registers, tables = list(self.registers), dict(self.tables)

        def loop(cold: ColdLoop) -> Block:
            registers.extend(cold.traced.registers)
            tables.update(cold.traced.tables)
            return replace(cold.loop(), body=with_cold_loops(cold.traced.body, loop))

        blocks = with_cold_loops(self.blocks, loop)
        if blocks is self.blocks:
            return self
        return Program(self.name, tuple(registers), blocks, tables, self.sections)

    def part(self, number: int) -> Program:
        """One of the `cold` loops as a program of its own."""
        loop, shared = self.cold[number], self.shared(number)
        own, tables = tuple[Register, ...](), self.tables
        if isinstance(loop, ColdLoop):
            own, tables = loop.traced.registers, loop.traced.tables
            loop = loop.loop()
        outside = tuple(r for r in self.of_kind("temporary") if r.name in shared)
        blocks, origin = (replace(loop, cold=False),), f"{self.origin}.{number}"
        registers = (*self.persistent, *outside, *own)
        return Program(self.name, registers, blocks, tables, origin=origin)

    @cached_property
    def has_untraced(self) -> bool:
        """Whether some loop has yet to be traced."""
        return with_cold_loops(self.blocks, lambda one: While(one.more, (), 0)) is not self.blocks

    def straights(self) -> Iterator[tuple[Straight, bool]]:
        """Every straight block and whether it stands inside a loop."""
        yield from ((b, inside) for b, inside in flat(self.blocks) if isinstance(b, Straight))

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        """Every slice."""
        return tuple(block for block, _ in flat(self.blocks) if isinstance(block, Slice))

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
        feed(digest, self.blocks)
        digest.update(repr([(k, len(v)) for k, v in self.tables.items()]).encode())
        return digest.hexdigest()
