"""Serialize programs; the expressions of basic blocks stay text until they are used."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tarsus.program.ir.blocks import (
    BasicBlock,
    Block,
    ColdLoop,
    Lookup,
    LoopBody,
    Register,
    Slice,
    Stamp,
    While,
)
from tarsus.program.ir.program import Program

COMPRESSION_LEVEL = 1  # a seventh of the size in a tenth of a second

LoadBody = Callable[[str], LoopBody]  # body of a cold loop, by its condition register


def serialize(program: Program) -> bytes:
    """Serialize a program to bytes; of cold loops only the interface."""
    header = {"name": program.name, "sections": program.sections}
    return _to_bytes(program.registers, program.blocks, program.tables, header)


def deserialize(content: bytes, load_body: LoadBody | None = None) -> Program:
    """Load the program that `serialize` wrote.

    Parameters
    ----------
    content
        Bytes from `serialize`.
    load_body
        Function that returns the body of a cold loop, by its condition register.

    Returns
    -------
    Program
        Program, whose cold loops load their bodies when used.
    """
    data, registers, blocks, tables = _from_bytes(content, load_body)
    return Program(data["name"], registers, blocks, tables, tuple(data["sections"]))


def serialize_body(body: LoopBody) -> bytes:
    """Serialize the body of a cold loop to bytes."""
    return _to_bytes(body.registers, body.body, body.tables, {})


def deserialize_body(content: bytes, load_body: LoadBody) -> LoopBody:
    """Load the body that `serialize_body` wrote."""
    _, *fields = _from_bytes(content, load_body)
    return LoopBody(*fields)


def _to_bytes(
    registers: tuple[Register, ...],
    blocks: tuple[Block, ...],
    tables: dict[str, NDArray[np.float64]],
    header: dict[str, Any],
) -> bytes:
    codes: dict[str, int] = {}
    data = {
        "registers": [(r.name, r.size, r.kind) for r in registers],
        "blocks": [_to_row(block, codes) for block in blocks],
        "tables": {name: values.tobytes().hex() for name, values in tables.items()},
    }
    text = json.dumps(data | header | {"codes": list(codes)})
    return zlib.compress(text.encode(), COMPRESSION_LEVEL)


def _from_bytes(content: bytes, load_body: LoadBody | None) -> Any:
    """Load all data, and from it registers, blocks and tables."""
    data = json.loads(zlib.decompress(content))
    return (
        data,
        tuple(Register(*row) for row in data["registers"]),
        tuple(_from_row(row, data["codes"], load_body) for row in data["blocks"]),
        {name: np.frombuffer(bytes.fromhex(row)) for name, row in data["tables"].items()},
    )


def _to_row(block: Block, codes: dict[str, int]) -> list[Any]:
    """Convert a block to its kind and fields; equal expressions are written once, in `codes`."""
    if isinstance(block, BasicBlock):
        code = codes.setdefault(block.code, len(codes))
        return ["straight", code, block.inputs, block.outputs]
    if isinstance(block, While):
        body = [_to_row(inner, codes) for inner in block.body]
        return ["while", block.condition, body, block.max_iterations, block.cold]
    if isinstance(block, ColdLoop):
        return ["cold", block.condition, block.max_iterations, block.reads, block.writes]
    if isinstance(block, Lookup):
        return ["lookup", block.table, block.index, block.output]
    if isinstance(block, Slice):
        return ["slice", block.array, block.slice, block.is_store]
    if isinstance(block, Stamp):
        return ["stamp", block.section, block.clock]
    assert_never(block)


def _from_row(row: list[Any], codes: list[str], load_body: LoadBody | None) -> Block:
    kind, *fields = row
    if kind == "straight":
        return BasicBlock(codes[fields[0]], tuple(fields[1]), tuple(fields[2]))
    if kind == "while":
        body = tuple(_from_row(inner, codes, load_body) for inner in fields[1])
        return While(fields[0], body, *fields[2:])
    if kind == "cold":
        condition, limit, reads, writes = fields
        assert load_body is not None, "a program with cold loops needs a function for their bodies"
        trace = partial(load_body, condition)
        return ColdLoop(condition, limit, tuple(reads), tuple(writes), trace)
    return {"lookup": Lookup, "slice": Slice, "stamp": Stamp}[kind](*fields)
