"""Blocks of a program: basic blocks, masked loops, table look-ups, slices, time stamps.

Blocks read and write named registers. Every world has its own copy of the registers. Persistent
registers (state, report, parameter) stay in memory between runs; temporaries exist during one run.
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
    """Named array of numbers, one copy per world.

    Attributes
    ----------
    name
        Unique name within a program.
    size
        Number of entries per world.
    kind
        state: read and written by every run. report: written by runs, only if its value changes.
        parameter: only read. temporary: exists during one run.
    """

    name: str
    size: int
    kind: Kind


@dataclass(frozen=True, eq=False)
class BasicBlock:
    """Straight-line code, outputs = function(inputs); reads all inputs before it writes.

    Attributes
    ----------
    code
        The function, serialized by CasADi.
    inputs, outputs
        Registers that it reads and writes, in the order of the function's arguments.
    """

    code: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @classmethod
    def of(cls, function: ca.Function, inputs: Sequence[str], outputs: Sequence[str]) -> BasicBlock:
        """Create the block of a function."""
        block = cls(function.serialize(), tuple(inputs), tuple(outputs))
        block.__dict__["function"] = function
        return block

    @cached_property
    def function(self) -> ca.Function:
        """Function from columns of inputs to columns of outputs."""
        return ca.Function.deserialize(self.code)

    @property
    def read(self) -> tuple[str, ...]:
        """Registers that the block reads."""
        return self.inputs

    @property
    def written(self) -> tuple[str, ...]:
        """Registers that the block writes."""
        return self.outputs


@dataclass(frozen=True, eq=False)
class While:
    """Loop that runs while a condition is positive, in each world separately.

    A world that has left the loop keeps its registers while others continue.

    Attributes
    ----------
    condition
        Register that is tested before every iteration.
    body
        Blocks of an iteration.
    max_iterations
        Limit on the number of iterations.
    cold
        Whether few worlds enter it. Its code is then a separate function, compiled when first
        called.
    """

    condition: str
    body: tuple[Block, ...]
    max_iterations: int
    cold: bool = False


@dataclass(frozen=True, eq=False)
class LoopBody:
    """Body of a cold loop, with its own registers and tables."""

    registers: tuple[Register, ...]
    body: tuple[Block, ...]
    tables: dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class ColdLoop:
    """Cold loop whose body is traced when first used.

    Attributes
    ----------
    condition, max_iterations
        As of `While`.
    reads, writes
        Registers of the surrounding program that the body may read, and those it writes.
    trace
        Function that traces the body.
    """

    condition: str
    max_iterations: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    trace: Callable[[], LoopBody]
    cold: bool = True

    @cached_property
    def traced_body(self) -> LoopBody:
        """Body of the loop."""
        return self.trace()

    def as_while(self) -> While:
        """Convert the loop to a `While` with its traced body."""
        return While(self.condition, self.traced_body.body, self.max_iterations, self.cold)

    @property
    def read(self) -> tuple[str, ...]:
        """Registers that the loop reads, including all that it writes, because it may not run."""
        return tuple(dict.fromkeys((*self.written, *self.reads)))

    @property
    def written(self) -> tuple[str, ...]:
        """Registers that it writes, its condition among them."""
        return tuple(dict.fromkeys((self.condition, *self.writes)))


@dataclass(frozen=True, eq=False)
class Lookup:
    """Table look-up, output[k] = table[floor(index[k])], with the index clamped to the table."""

    table: str
    index: str
    output: str

    @property
    def read(self) -> tuple[str, ...]:
        """Register of the index."""
        return (self.index,)

    @property
    def written(self) -> tuple[str, ...]:
        """Register of the values."""
        return (self.output,)


@dataclass(frozen=True, eq=False)
class Slice:
    """Copy between a register and the slice of an array for the current iteration.

    In iteration k = 0, 1, ... of the innermost loop around it, the slice of `array` begins at k
    times the size of `slice`.

    Attributes
    ----------
    array
        Temporary that holds the array.
    slice
        Register of the size of a slice.
    is_store
        Whether `slice` is copied to the slice; otherwise the slice is copied to `slice`.
    """

    array: str
    slice: str
    is_store: bool = False

    @property
    def read(self) -> tuple[str, ...]:
        """Registers that the block reads, including `array` if only a slice of it is written."""
        return (self.slice, self.array) if self.is_store else (self.array,)

    @property
    def written(self) -> tuple[str, ...]:
        """Register that it writes."""
        return (self.array,) if self.is_store else (self.slice,)


@dataclass(frozen=True, eq=False)
class Stamp:
    """Time stamp: adds the CPU cycles since the last stamp to an entry of register CYCLES.

    The compiler moves no code across it. The reference evaluator, which has no counter, writes
    zeros.

    Attributes
    ----------
    section
        Entry of CYCLES; None at the start of a step, where all entries become zero.
    clock
        Register of the counter's last reading.
    """

    section: int | None
    clock: str

    @property
    def read(self) -> tuple[str, ...]:
        """Register of the counter's last reading."""
        return (self.clock,)

    @property
    def written(self) -> tuple[str, ...]:
        """No register: CYCLES belongs to the timer."""
        return ()


Block = BasicBlock | While | ColdLoop | Lookup | Slice | Stamp


def replace_cold_loops(
    blocks: tuple[Block, ...], change: Callable[[ColdLoop], Block]
) -> tuple[Block, ...]:
    """Replace every cold loop by `change(loop)`; blocks without cold loops are returned as is."""

    def replaced(block: Block) -> Block:
        if isinstance(block, ColdLoop):
            return change(block)
        if isinstance(block, While):
            body = replace_cold_loops(block.body, change)
            return block if body is block.body else replace(block, body=body)
        return block

    changed = tuple(map(replaced, blocks))
    return blocks if all(a is b for a, b in zip(changed, blocks, strict=True)) else changed


def outermost_cold_loops(blocks: tuple[Block, ...]) -> Iterator[While | ColdLoop]:
    """Yield the cold loops that are in no other cold loop, in order."""
    for block in blocks:
        if isinstance(block, ColdLoop) or (isinstance(block, While) and block.cold):
            yield block
        elif isinstance(block, While):
            yield from outermost_cold_loops(block.body)


def flatten(blocks: tuple[Block, ...], inside: bool = False) -> Iterator[tuple[Block, bool]]:
    """Yield the blocks inside of loops and outside, with a flag that is True inside of a loop."""
    for block in blocks:
        if isinstance(block, While):
            yield from flatten(block.body, True)
        else:
            yield block, inside


def registers_in(blocks: tuple[Block, ...]) -> set[str]:
    """List the registers that blocks read or write."""
    names: set[str] = set()
    for block in blocks:
        if isinstance(block, While):
            names |= {block.condition} | registers_in(block.body)
        else:
            names.update(block.read, block.written)
    return names


def update_hash(digest: hashlib._Hash, blocks: tuple[Block, ...]) -> None:
    """Add everything that affects the code of blocks to a hash; of cold loops the interface."""
    for block in blocks:
        if isinstance(block, BasicBlock):
            digest.update(repr((block.inputs, block.outputs)).encode())
            digest.update(block.code.encode())
        elif isinstance(block, While):
            digest.update(repr((block.condition, block.max_iterations, block.cold)).encode())
            update_hash(digest, block.body)
            digest.update(b"end")
        elif isinstance(block, ColdLoop):
            interface = ("cold", block.condition, block.max_iterations, block.reads, block.writes)
            digest.update(repr(interface).encode())
        elif isinstance(block, Stamp):
            digest.update(repr(("stamp", block.section, block.clock)).encode())
        elif isinstance(block, Slice):
            digest.update(repr(("slice", block.array, block.slice, block.is_store)).encode())
        elif isinstance(block, Lookup):
            digest.update(repr((block.table, block.index, block.output)).encode())
        else:
            assert_never(block)
