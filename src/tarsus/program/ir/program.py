"""A program: a sequence of blocks over named registers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tarsus.program.ir.blocks import (
    BasicBlock,
    Block,
    ColdLoop,
    Kind,
    Register,
    Slice,
    While,
    flatten,
    outermost_cold_loops,
    registers_in,
    replace_cold_loops,
    update_hash,
)

CYCLES = "cycles"  # register of the cycles of each section


@dataclass(frozen=True, eq=False)
class Program:
    """Blocks that read and write registers, run in order.

    The program of a simulation is one time step; it runs once per step for every world. `Builder`
    writes a program, `reference.run` interprets it, `run.worlds.Worlds` compiles and runs it. The
    body of a `ColdLoop` has its own registers, blocks and tables; `expanded` includes them.

    Attributes
    ----------
    name
        Name for messages.
    registers
        Registers that blocks read or write.
    blocks
        Blocks in order.
    tables
        Arrays (entries,) that all worlds share, by name, for `Lookup`.
    sections
        Names of the entries of register CYCLES, if the program is timed (`Builder.stamp`).
    origin
        Cache key of its cold loops: programs of one origin trace them alike.

    Examples
    --------
    >>> from tarsus.program.ir.trace import Builder
    >>> from tarsus.program.run.worlds import Worlds
    >>> builder = Builder("counter")
    >>> x = builder.declare("x", 1)
    >>> program = builder.program(x=x + 1)
    >>> worlds = Worlds(program, worlds=2)
    >>> worlds.advance(steps=3)
    >>> worlds.get("x").ravel().tolist()
    [3.0, 3.0]
    """

    name: str
    registers: tuple[Register, ...]
    blocks: tuple[Block, ...]
    tables: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    sections: tuple[str, ...] = ()
    origin: str = ""

    def of_kind(self, *kinds: Kind) -> tuple[Register, ...]:
        """Select the registers of the given kinds, in order."""
        return tuple(r for r in self.registers if r.kind in kinds)

    @cached_property
    def persistent(self) -> tuple[Register, ...]:
        """Registers that persist between runs: state, then report, then parameters."""
        return self.of_kind("state") + self.of_kind("report") + self.of_kind("parameter")

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Size of each register, by name."""
        return {r.name: r.size for r in self.registers}

    @cached_property
    def cold_loops(self) -> tuple[While | ColdLoop, ...]:
        """Outermost cold loops in order; none in a timed program."""
        return () if self.sections else tuple(outermost_cold_loops(self.blocks))

    def shared_temporaries(self, number: int) -> tuple[str, ...]:
        """Find the temporaries that a cold loop reads or writes."""
        used = registers_in((self.cold_loops[number],))
        return tuple(r.name for r in self.of_kind("temporary") if r.name in used)

    @cached_property
    def expanded(self) -> Program:
        """Program with the bodies of all cold loops; itself if it has none to trace."""
        registers, tables = list(self.registers), dict(self.tables)

        def expand(cold: ColdLoop) -> Block:
            registers.extend(cold.traced_body.registers)
            tables.update(cold.traced_body.tables)
            return replace(cold.as_while(), body=replace_cold_loops(cold.traced_body.body, expand))

        blocks = replace_cold_loops(self.blocks, expand)
        if blocks is self.blocks:
            return self
        return Program(self.name, tuple(registers), blocks, tables, self.sections)

    def cold_program(self, number: int) -> Program:
        """Extract a cold loop as a separate program."""
        loop, shared = self.cold_loops[number], self.shared_temporaries(number)
        loop_registers, tables = tuple[Register, ...](), self.tables
        if isinstance(loop, ColdLoop):
            loop_registers, tables = loop.traced_body.registers, loop.traced_body.tables
            loop = loop.as_while()
        outside = tuple(r for r in self.of_kind("temporary") if r.name in shared)
        blocks, origin = (replace(loop, cold=False),), f"{self.origin}.{number}"
        registers = (*self.persistent, *outside, *loop_registers)
        return Program(self.name, registers, blocks, tables, origin=origin)

    @cached_property
    def has_untraced(self) -> bool:
        """Whether the program has cold loops whose bodies are traced on first use."""
        return (
            replace_cold_loops(self.blocks, lambda loop: While(loop.condition, (), 0))
            is not self.blocks
        )

    def basic_blocks(self) -> Iterator[tuple[BasicBlock, bool]]:
        """Yield every basic block, with a flag that is True inside of a loop."""
        yield from ((b, inside) for b, inside in flatten(self.blocks) if isinstance(b, BasicBlock))

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        """All slices."""
        return tuple(block for block, _ in flatten(self.blocks) if isinstance(block, Slice))

    @property
    def fingerprint(self) -> str:
        """Hash of everything that affects the compiled code; traces all cold loops."""
        return self.expanded.hot_fingerprint

    @cached_property
    def hot_fingerprint(self) -> str:
        """Hash of everything that affects the hot code, which every world runs."""
        digest = hashlib.sha256()
        for register in self.registers:
            digest.update(f"{register}".encode())
        update_hash(digest, self.blocks)
        digest.update(repr([(k, len(v)) for k, v in self.tables.items()]).encode())
        return digest.hexdigest()
