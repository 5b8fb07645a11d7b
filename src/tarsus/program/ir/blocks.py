"""A program is blocks over named registers: straight-line code, masked loops, look-ups, slices,
stamps.

Every world has its own copy of the registers. Persistent registers (state, report, parameter) live
in memory between calls; temporaries live for one run of the program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, assert_never

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
    report: written by every run; one that has to say the same as the last may leave it.
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

    @property
    def read(self) -> tuple[str, ...]:
        """The registers that it reads."""
        return self.inputs

    @property
    def written(self) -> tuple[str, ...]:
        """The registers that it writes."""
        return self.outputs


@dataclass(frozen=True, eq=False)
class While:
    """Run `body` while register `more` is positive, at most `maximum` times, each world for itself.

    A world that is done keeps its registers while others go on. A `cold` one is entered by few:
    its code is a function of its own, compiled when a world first needs it.
    """

    more: str
    body: tuple[Block, ...]
    maximum: int
    cold: bool = False


@dataclass(frozen=True, eq=False)
class Traced:
    """The body of a cold loop: its own registers, its blocks, the tables that
    they look up.
    """

    registers: tuple[Register, ...]
    body: tuple[Block, ...]
    tables: dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class ColdLoop:
    """A `cold` loop whose body is traced when someone first asks for it.

    reads, writes: registers of the program around it that the body may read, and those it writes
    make: traces the body
    """

    more: str
    maximum: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    make: Callable[[], Traced]
    cold: bool = True

    @cached_property
    def traced(self) -> Traced:
        """Its body."""
        return self.make()

    def loop(self) -> While:
        """The loop with its body."""
        return While(self.more, self.traced.body, self.maximum, self.cold)

    @property
    def read(self) -> tuple[str, ...]:
        """What it writes it reads first: it may not run."""
        return tuple(dict.fromkeys((*self.written, *self.reads)))

    @property
    def written(self) -> tuple[str, ...]:
        """With its condition."""
        return tuple(dict.fromkeys((self.more, *self.writes)))


@dataclass(frozen=True, eq=False)
class Lookup:
    """output[k] = table[round down(index[k])], the index held inside the table."""

    table: str
    index: str
    output: str

    @property
    def read(self) -> tuple[str, ...]:
        """The index."""
        return (self.index,)

    @property
    def written(self) -> tuple[str, ...]:
        """What the table has there."""
        return (self.output,)


@dataclass(frozen=True, eq=False)
class Slice:
    """What belongs to the round of the innermost loop around it: in round k = 0, 1, ... the numbers
    of `whole`, a temporary, from k times the size of `part` on.

    stored: they get the values of `part`; else it gets theirs
    """

    whole: str
    part: str
    stored: bool = False

    @property
    def read(self) -> tuple[str, ...]:
        """Also the whole where only a part of it is written."""
        return (self.part, self.whole) if self.stored else (self.whole,)

    @property
    def written(self) -> tuple[str, ...]:
        """The whole or the part."""
        return (self.whole,) if self.stored else (self.part,)


@dataclass(frozen=True, eq=False)
class Stamp:
    """Adds the processor's cycles since the last stamp to entry `section` of the register CYCLES.

    None: the step begins, and every section with nothing. clock: the register that holds the
    counter's last reading. Code on either side stays there. The reference evaluator, which has no
    counter, writes zeros.
    """

    section: int | None
    clock: str

    @property
    def read(self) -> tuple[str, ...]:
        """The counter's last reading."""
        return (self.clock,)

    @property
    def written(self) -> tuple[str, ...]:
        """No register of the program: CYCLES is the timer's."""
        return ()


Block = Straight | While | ColdLoop | Lookup | Slice | Stamp


def with_cold_loops(
    blocks: tuple[Block, ...], change: Callable[[ColdLoop], Block]
) -> tuple[Block, ...]:
    """Return the blocks with others for their cold loops, in order; the same if there are none."""

    def new(block: Block) -> Block:
        if isinstance(block, ColdLoop):
            return change(block)
        if isinstance(block, While):
            body = with_cold_loops(block.body, change)
            return block if body is block.body else replace(block, body=body)
        return block

    changed = tuple(map(new, blocks))
    return blocks if all(a is b for a, b in zip(changed, blocks, strict=True)) else changed


def outermost_cold(blocks: tuple[Block, ...]) -> Iterator[While | ColdLoop]:
    """The `cold` loops that stand in no other, in order."""
    for block in blocks:
        if isinstance(block, ColdLoop) or (isinstance(block, While) and block.cold):
            yield block
        elif isinstance(block, While):
            yield from outermost_cold(block.body)


def flat(blocks: tuple[Block, ...], inside: bool = False) -> Iterator[tuple[Block, bool]]:
    """The blocks that are no loops with a body, and whether they stand in one."""
    for block in blocks:
        if isinstance(block, While):
            yield from flat(block.body, True)
        else:
            yield block, inside


def names_in(blocks: tuple[Block, ...]) -> set[str]:
    """The registers that blocks read or write."""
    names: set[str] = set()
    for block in blocks:
        if isinstance(block, While):
            names |= {block.more} | names_in(block.body)
        else:
            names.update(block.read, block.written)
    return names


def feed(digest: hashlib._Hash, blocks: tuple[Block, ...]) -> None:
    """Hash all that decides their code; of cold loops what they read and write."""
    for block in blocks:
        if isinstance(block, Straight):
            digest.update(repr((block.inputs, block.outputs)).encode())
            digest.update(block.code.encode())
        elif isinstance(block, While):
            digest.update(repr((block.more, block.maximum, block.cold)).encode())
            feed(digest, block.body)
            digest.update(b"end")
        elif isinstance(block, ColdLoop):
            told = ("cold", block.more, block.maximum, block.reads, block.writes)
            digest.update(repr(told).encode())
        elif isinstance(block, Stamp):
            digest.update(repr(("stamp", block.section, block.clock)).encode())
        elif isinstance(block, Slice):
            digest.update(repr(("slice", block.whole, block.part, block.stored)).encode())
        elif isinstance(block, Lookup):
            digest.update(repr((block.table, block.index, block.output)).encode())
        else:
            assert_never(block)
