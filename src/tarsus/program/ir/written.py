"""A program as bytes and back; its expressions stay text until someone asks for them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tarsus.program.ir.blocks import (
    Block,
    ColdLoop,
    Lookup,
    Register,
    Slice,
    Stamp,
    Straight,
    Traced,
    While,
)
from tarsus.program.ir.program import Program

QUICK = 1  # zlib's level: a seventh of the size in a tenth of a second


Found = Callable[
    [str], Traced
]  # the body of a cold loop, by the register that says whether it runs


def written(program: Program) -> bytes:
    """Write a program; of its cold loops only what they read and write."""
    whole = {"name": program.name, "sections": program.sections}
    return _bytes(program.registers, program.blocks, program.tables, whole)


def read(content: bytes, found: Found | None = None) -> Program:
    """The program that `written` wrote; `found` gives the bodies of its cold loops."""
    whole, *parts = _parts(content, found)
    registers, blocks, tables = parts
    return Program(whole["name"], registers, blocks, tables, tuple(whole["sections"]))


def body_written(body: Traced) -> bytes:
    """Write the body of a cold loop."""
    return _bytes(body.registers, body.body, body.tables, {})


def body_read(content: bytes, found: Found) -> Traced:
    """The body that `body_written` wrote."""
    _, *parts = _parts(content, found)
    return Traced(*parts)


def _bytes(
    registers: tuple[Register, ...],
    blocks: tuple[Block, ...],
    tables: dict[str, NDArray[np.float64]],
    others: dict[str, Any],
) -> bytes:
    codes: dict[str, int] = {}
    whole = {
        "registers": [(r.name, r.size, r.kind) for r in registers],
        "blocks": [_block(block, codes) for block in blocks],
        "tables": {name: values.tobytes().hex() for name, values in tables.items()},
    }
    return zlib.compress(json.dumps(whole | others | {"codes": list(codes)}).encode(), QUICK)


def _parts(content: bytes, found: Found | None) -> Any:
    """All that was written, and registers, blocks and tables."""
    whole = json.loads(zlib.decompress(content))
    return (
        whole,
        tuple(Register(*row) for row in whole["registers"]),
        tuple(_of(row, whole["codes"], found) for row in whole["blocks"]),
        {name: np.frombuffer(bytes.fromhex(row)) for name, row in whole["tables"].items()},
    )


def _block(block: Block, codes: dict[str, int]) -> list[Any]:
    """A row: what the block is, and its fields in order. Equal expressions are kept once."""
    if isinstance(block, Straight):
        code = codes.setdefault(block.code, len(codes))
        return ["straight", code, block.inputs, block.outputs]
    if isinstance(block, While):
        body = [_block(inner, codes) for inner in block.body]
        return ["while", block.more, body, block.maximum, block.cold]
    if isinstance(block, ColdLoop):
        return ["cold", block.more, block.maximum, block.reads, block.writes]
    if isinstance(block, Lookup):
        return ["lookup", block.table, block.index, block.output]
    if isinstance(block, Slice):
        return ["slice", block.whole, block.part, block.stored]
    if isinstance(block, Stamp):
        return ["stamp", block.section, block.clock]
    assert_never(block)


def _of(row: list[Any], codes: list[str], found: Found | None) -> Block:
    what, *fields = row
    if what == "straight":
        return Straight(codes[fields[0]], tuple(fields[1]), tuple(fields[2]))
    if what == "while":
        body = tuple(_of(inner, codes, found) for inner in fields[1])
        return While(fields[0], body, *fields[2:])
    if what == "cold":
        more, maximum, reads, writes = fields
        assert found is not None, "who reads cold loops must say where their bodies are"
        return ColdLoop(more, maximum, tuple(reads), tuple(writes), partial(found, more))
    return {"lookup": Lookup, "slice": Slice, "stamp": Stamp}[what](*fields)
