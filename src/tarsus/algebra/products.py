"""Products of vectors and matrices that are lists of scalar expressions; zeros cost nothing."""

from __future__ import annotations

from casadi import SX

Matrix = list[list[SX]]  # by rows


def dot(a: list[SX], b: list[SX], start: SX | None = None) -> SX:
    """start + a . b, added up from the first entry on; structural zeros are left out."""
    return sum(
        (x * y for x, y in zip(a, b, strict=True) if not x.is_zero() and not y.is_zero()),
        SX(0) if start is None else start,
    )


def times(K: Matrix, x: list[SX]) -> list[SX]:
    """K x."""
    return [dot(row, x) for row in K]
