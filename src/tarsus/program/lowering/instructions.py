"""Decode all instructions of a CasADi function at once.

Asking CasADi for one instruction after the other takes longer than compiling them. A serialized
function contains them in sequence, four 32-bit integers each. The first ones, asked for, locate the
sequence, and a sample of others confirms it. If that fails, all are asked for.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]
LOCATOR_SIZE, SAMPLE_SIZE = 4, 16  # instructions that locate the sequence, and that confirm it
INSTRUCTION_LETTERS = 32  # two letters per byte, a to p, low nibble first


def instructions(function: ca.Function) -> Rows:
    """Read the instructions of a function.

    Parameters
    ----------
    function
        Straight-line function of SX.

    Returns
    -------
    Array
        Rows (n, 4): operation; slot of the work vector, or argument, of the result; then two slots
        or entries of operands, or the bits of a constant.
    """
    n = function.n_instructions()
    text = np.frombuffer(function.serialize().encode(), np.uint8)
    locator = np.array([_query(function, k) for k in range(min(LOCATOR_SIZE, n))], np.int32)
    begin = text.tobytes().find(_to_letters(locator).tobytes())
    nibbles = text[begin : begin + INSTRUCTION_LETTERS * n] - ord("a")
    if begin >= 0 and len(nibbles) == INSTRUCTION_LETTERS * n:
        rows = (nibbles[::2] | nibbles[1::2] << 4).astype(np.uint8).view(np.int32).reshape(n, 4)
        sample = np.linspace(0, n - 1, min(SAMPLE_SIZE, n)).astype(int).tolist()
        if all(rows[k].tolist() == _query(function, k) for k in sample):
            return rows
    return np.array([_query(function, k) for k in range(n)], np.int32).reshape(n, 4)


def _query(function: ca.Function, k: int) -> list[int]:
    """Query CasADi for the row of instruction k."""
    code = function.instruction_id(k)
    ins, outs = function.instruction_input(k), function.instruction_output(k)
    if code == ca.OP_CONST:
        bits = np.array([function.instruction_constant(k)]).view(np.int32)
        return [code, outs[0], *bits.tolist()]
    if code == ca.OP_OUTPUT:
        return [code, outs[0], ins[0], outs[1]]
    return [code, outs[0], ins[0], ins[-1]]


def _to_letters(rows: Rows) -> NDArray[np.uint8]:
    """Format rows as they appear in a serialized function."""
    values = np.ascontiguousarray(rows).view(np.uint8).ravel()
    nibbles = np.stack([values & 15, values >> 4], 1).ravel() + ord("a")
    return nibbles.astype(np.uint8)
