"""Products of vectors and matrices of scalar expressions, without structural zeros."""

from __future__ import annotations

from casadi import SX

Matrix = list[list[SX]]  # by rows


def dot(a: list[SX], b: list[SX], start: SX | None = None) -> SX:
    """Compute start + a . b, summed from the first entry on, without structural zeros."""
    return sum(
        (x * y for x, y in zip(a, b, strict=True) if not x.is_zero() and not y.is_zero()),
        SX(0) if start is None else start,
    )


def multiply(K: Matrix, x: list[SX]) -> list[SX]:
    """Compute K x."""
    return [dot(row, x) for row in K]
