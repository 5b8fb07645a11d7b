"""Blocks of a program that is being written, and the pass that finishes them.

Finishing a basic block removes outputs that nothing reads (dead code) and eliminates common
subexpressions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.program.ir.blocks import (
    BasicBlock,
    Block,
    ColdLoop,
    Lookup,
    Register,
    Slice,
    Stamp,
    While,
    flatten,
)


@dataclass(frozen=True)
class UnfinishedBlock:
    """Basic block as expressions: the value of each register that it writes."""

    outputs: dict[str, SX]


@dataclass(frozen=True)
class UnfinishedLoop:
    """Loop with an unfinished body; attributes as in `While`."""

    condition: str
    body: list[Unfinished]
    max_iterations: int
    cold: bool = False


Unfinished = UnfinishedBlock | UnfinishedLoop | ColdLoop | Lookup | Slice | Stamp


@dataclass(frozen=True)
class Finisher:
    """Turns unfinished blocks into blocks of a program.

    Attributes
    ----------
    registers
        Registers by name.
    symbols
        Symbols of registers by name.
    owner
        Register of each symbol, by the symbol's hash.
    """

    registers: Mapping[str, Register]
    symbols: Mapping[str, SX]
    owner: Mapping[int, str]

    def registers_read(self, blocks: list[Unfinished]) -> set[str]:
        """Collect the names of all registers that blocks read."""
        read: set[str] = set()
        for block in blocks:
            if isinstance(block, UnfinishedBlock):
                read.update(self._inputs(block.outputs))
            elif isinstance(block, UnfinishedLoop):
                read.add(block.condition)
                read.update(self.registers_read(block.body))
            else:
                read.update(block.read)
        return read

    def finish(self, blocks: list[Unfinished], read: set[str]) -> tuple[Block, ...]:
        """Finish blocks, without temporaries, look-ups and slices that nothing reads.

        Parameters
        ----------
        blocks
            Blocks to finish.
        read
            Registers that anything reads.

        Returns
        -------
        tuple of Block
            Blocks of a program.
        """
        live = (
            b for b in blocks if not isinstance(b, Lookup | Slice) or not read.isdisjoint(b.written)
        )
        return tuple(self._finish_block(block, read) for block in live)

    def _finish_block(self, block: Unfinished, read: set[str]) -> Block:
        if isinstance(block, UnfinishedLoop):
            body = self.finish(block.body, read)
            return While(block.condition, body, block.max_iterations, block.cold)
        if isinstance(block, ColdLoop | Lookup | Slice | Stamp):
            return block
        live = {
            n: v
            for n, v in block.outputs.items()
            if self.registers[n].kind != "temporary" or n in read
        }
        inputs = self._inputs(live)
        function = ca.Function(
            "straight",
            [self.symbols[name] for name in inputs],
            list(live.values()),
            {"cse": True, "allow_free": False},
        )
        return BasicBlock.of(function, inputs, list(live))

    def _inputs(self, values: Mapping[str, SX]) -> list[str]:
        """Find the registers whose symbols appear in values, in order of declaration."""
        used = set()
        for symbol in ca.symvar(ca.vertcat(*values.values())):
            if symbol.element_hash() not in self.owner:
                raise ValueError(
                    f"the symbol {symbol.name()!r} belongs to no register: declare it as a"
                    " parameter"
                )
            used.add(self.owner[symbol.element_hash()])
        return [name for name in self.symbols if name in used]


def tables_of(blocks: tuple[Block, ...]) -> tuple[str, ...]:
    """Collect the names of the tables that blocks look up."""
    return tuple(dict.fromkeys(b.table for b, _ in flatten(blocks) if isinstance(b, Lookup)))
