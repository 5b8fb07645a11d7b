"""The reference evaluator: the same program through CasADi's own virtual machine and NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.program.ir.blocks import Block, ColdLoop, Lookup, Slice, Stamp, Straight, While
from tarsus.program.ir.program import CYCLES, Program

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def run(program: Program, values: Mapping[str, ArrayLike], steps: int = 1) -> dict[str, Array]:
    """All registers, each (worlds, size), after `steps` runs from the given persistent ones."""
    program = program.whole
    worlds = max(np.atleast_2d(np.asarray(v)).shape[0] for v in values.values())
    registers = {r.name: np.zeros((worlds, r.size)) for r in program.registers}
    for name, value in values.items():
        registers[name][:] = np.asarray(value, dtype=float)
    for _ in range(steps):
        _run_blocks(program, program.blocks, registers, np.ones(worlds, dtype=bool))
    return registers


def _run_blocks(
    program: Program,
    blocks: tuple[Block, ...],
    registers: dict[str, Array],
    live: Mask,
    turn: int = 0,
) -> None:
    """turn: the round of the loop around them."""
    # one after the other, for the worlds that take part
    for block in blocks:
        if isinstance(block, Straight):
            inputs = [registers[name][live].T for name in block.inputs]
            count = int(live.sum())
            results = block.function.map(count).call([ca.DM(x) for x in inputs])
            for name, result in zip(block.outputs, results, strict=True):
                registers[name][live] = np.array(result).reshape(-1, count).T
        elif isinstance(block, While):
            for k in range(block.maximum):
                still = live & (registers[block.more][:, 0] > 0)
                if not still.any():
                    break
                _run_blocks(program, block.body, registers, still, k)
        elif isinstance(block, Slice):
            whole, part = registers[block.whole], registers[block.part]
            own = slice(turn * part.shape[1], (turn + 1) * part.shape[1])
            if block.stored:
                whole[live, own] = part[live]
            else:
                part[live] = whole[live, own]
        elif isinstance(block, Stamp):
            registers[CYCLES][live] = 0.0
        elif isinstance(block, Lookup):
            table = program.tables[block.table]
            index = np.clip(np.floor(registers[block.index][live]), 0, len(table) - 1)
            registers[block.output][live] = table[np.nan_to_num(index).astype(int)]
        elif isinstance(block, ColdLoop):
            raise ValueError("a cold loop is run from `Program.whole`")
        else:
            assert_never(block)
