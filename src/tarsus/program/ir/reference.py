"""Reference interpreter: evaluate a program with CasADi's virtual machine and NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.program.ir.blocks import BasicBlock, Block, ColdLoop, Lookup, Slice, Stamp, While
from tarsus.program.ir.program import CYCLES, Program

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def run(program: Program, values: Mapping[str, ArrayLike], steps: int = 1) -> dict[str, Array]:
    """Run a program.

    Parameters
    ----------
    program
        Program to run.
    values
        Initial values of persistent registers, (size,) or (worlds, size).
    steps
        Number of runs.

    Returns
    -------
    dict of Array
        Final values of all registers, each (worlds, size).
    """
    program = program.expanded
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
    active: Mask,
    iteration: int = 0,
) -> None:
    """Run blocks in the active worlds, in an iteration of the loop around them."""
    for block in blocks:
        if isinstance(block, BasicBlock):
            inputs = [registers[name][active].T for name in block.inputs]
            count = int(active.sum())
            results = block.function.map(count).call([ca.DM(x) for x in inputs])
            for name, result in zip(block.outputs, results, strict=True):
                registers[name][active] = np.array(result).reshape(-1, count).T
        elif isinstance(block, While):
            for k in range(block.max_iterations):
                remaining = active & (registers[block.condition][:, 0] > 0)
                if not remaining.any():
                    break
                _run_blocks(program, block.body, registers, remaining, k)
        elif isinstance(block, Slice):
            whole, part = registers[block.array], registers[block.slice]
            columns = slice(iteration * part.shape[1], (iteration + 1) * part.shape[1])
            if block.is_store:
                whole[active, columns] = part[active]
            else:
                part[active] = whole[active, columns]
        elif isinstance(block, Stamp):
            registers[CYCLES][active] = 0.0
        elif isinstance(block, Lookup):
            table = program.tables[block.table]
            index = np.clip(np.floor(registers[block.index][active]), 0, len(table) - 1)
            registers[block.output][active] = table[np.nan_to_num(index).astype(int)]
        elif isinstance(block, ColdLoop):
            raise ValueError("a cold loop must be expanded first: run `Program.expanded`")
        else:
            assert_never(block)
