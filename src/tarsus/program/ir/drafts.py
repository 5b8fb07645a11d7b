"""The blocks of a program that is being written, and how they are finished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.program.ir.blocks import (
    Block,
    ColdLoop,
    Lookup,
    Register,
    Slice,
    Stamp,
    Straight,
    While,
    flat,
)


@dataclass(frozen=True)
class Draft:
    """A straight piece of code: the value that each register is given."""

    outputs: dict[str, SX]


@dataclass(frozen=True)
class Loop:
    """A loop: the register that says whether to go on, its body, its most rounds; see `While`."""

    more: str
    body: list[Drafted]
    maximum: int
    cold: bool = False


Drafted = Draft | Loop | ColdLoop | Lookup | Slice | Stamp


@dataclass(frozen=True)
class Drafts:
    """What is known when blocks are finished: registers, their symbols, whose each symbol is."""

    registers: Mapping[str, Register]
    symbols: Mapping[str, SX]
    owner: Mapping[int, str]

    def read_anywhere(self, blocks: list[Drafted]) -> set[str]:
        """Names of all registers that blocks read."""
        read: set[str] = set()
        for block in blocks:
            if isinstance(block, Draft):
                read.update(self._inputs(block.outputs))
            elif isinstance(block, Loop):
                read.add(block.more)
                read.update(self.read_anywhere(block.body))
            else:
                read.update(block.read)
        return read

    def finished(self, blocks: list[Drafted], read: set[str]) -> tuple[Block, ...]:
        """The blocks of a program, without temporaries, look-ups and slices that nobody reads."""
        wanted = (
            b for b in blocks if not isinstance(b, Lookup | Slice) or not read.isdisjoint(b.written)
        )
        return tuple(self._finished(block, read) for block in wanted)

    def _finished(self, block: Drafted, read: set[str]) -> Block:
        if isinstance(block, Loop):
            body = self.finished(block.body, read)
            return While(block.more, body, block.maximum, block.cold)
        if isinstance(block, ColdLoop | Lookup | Slice | Stamp):
            return block
        wanted = {
            n: v
            for n, v in block.outputs.items()
            if self.registers[n].kind != "temporary" or n in read
        }
        inputs = self._inputs(wanted)
        function = ca.Function(
            "straight",
            [self.symbols[name] for name in inputs],
            list(wanted.values()),
            {"cse": True, "allow_free": False},
        )
        return Straight.of(function, inputs, list(wanted))

    def _inputs(self, values: Mapping[str, SX]) -> list[str]:
        used = set()
        for symbol in ca.symvar(ca.vertcat(*values.values())):
            if symbol.element_hash() not in self.owner:
                raise ValueError(
                    f"the symbol {symbol.name()!r} belongs to no register; declare it as a"
                    " parameter"
                )
            used.add(self.owner[symbol.element_hash()])
        return [name for name in self.symbols if name in used]


def tables_of(blocks: tuple[Block, ...]) -> tuple[str, ...]:
    """Names of the tables that blocks look up."""
    return tuple(dict.fromkeys(b.table for b, _ in flat(blocks) if isinstance(b, Lookup)))
