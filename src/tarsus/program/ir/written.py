"""A program as bytes and back; its expressions stay text until someone asks for them."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np

from tarsus.program.ir.blocks import Block, Lookup, Program, Register, Stamp, Straight, While

QUICK = 1  # zlib's level: a seventh of the size in a tenth of a second


def written(program: Program) -> bytes:
    """The whole program."""
    codes: dict[str, int] = {}
    whole = {
        "name": program.name,
        "registers": [(r.name, r.size, r.kind) for r in program.registers],
        "blocks": [_block(block, codes) for block in program.blocks],
        "tables": {name: values.tobytes().hex() for name, values in program.tables.items()},
        "sections": program.sections,
    }
    return zlib.compress(json.dumps(whole | {"codes": list(codes)}).encode(), QUICK)


def read(content: bytes) -> Program:
    """The program that `written` wrote."""
    whole = json.loads(zlib.decompress(content))
    return Program(
        whole["name"],
        tuple(Register(*row) for row in whole["registers"]),
        tuple(_of(row, whole["codes"]) for row in whole["blocks"]),
        {name: np.frombuffer(bytes.fromhex(row)) for name, row in whole["tables"].items()},
        tuple(whole["sections"]),
    )


def _block(block: Block, codes: dict[str, int]) -> list[Any]:
    """A row: what the block is, and its fields in order. Equal expressions are kept once."""
    if isinstance(block, Straight):
        code = codes.setdefault(block.code, len(codes))
        return ["straight", code, block.inputs, block.outputs]
    if isinstance(block, While):
        body = [_block(inner, codes) for inner in block.body]
        return ["while", block.more, body, block.maximum, block.seldom]
    if isinstance(block, Lookup):
        return ["lookup", block.table, block.index, block.output]
    return ["stamp", block.section, block.clock]


def _of(row: list[Any], codes: list[str]) -> Block:
    what, *fields = row
    if what == "straight":
        return Straight(codes[fields[0]], tuple(fields[1]), tuple(fields[2]))
    if what == "while":
        body = tuple(_of(inner, codes) for inner in fields[1])
        return While(fields[0], body, *fields[2:])
    return Lookup(*fields) if what == "lookup" else Stamp(*fields)
