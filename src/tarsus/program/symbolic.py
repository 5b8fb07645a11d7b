"""Small helpers on CasADi expressions."""

from __future__ import annotations

from typing import cast

from casadi import SX


def entries(x: SX) -> list[SX]:
    """All entries of a vector or matrix, column by column."""
    return cast("list[SX]", x.elements())
