"""Helpers for CasADi expressions; importing it makes their operators fast."""

from __future__ import annotations

from typing import cast

import casadi as ca
from casadi import SX

from tarsus.program.ir import fast_operators

fast_operators.install()


def entries(x: SX) -> list[SX]:
    """List all entries of a vector or matrix, column by column."""
    return cast("list[SX]", x.elements())


def is_float64(number: SX) -> SX:
    """Return 1 if the program runs in float64, 0 if it runs in float32.

    It compares a positive number with itself times 1 + 1e-9, which float32 does not distinguish.
    """
    return number * (1 + 1e-9) > number


def value_or_zero(flag: SX, x: SX, least: float = 0.0) -> SX:
    """Return x where flag is 1, else 0, as a single operation; not less than `least`.

    CasADi would propagate a plain choice with zero through every product that contains it.
    """
    return ca.fmax(ca.if_else(flag, x, 0), least)
