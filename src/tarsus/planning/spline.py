"""Splines through knots that stand at even distances in time, as samples of Howell 2022 do."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

LINEAR, CUBIC = "linear", "cubic"
BEFORE = {LINEAR: 0, CUBIC: 1}  # knots that a spline looks at beside those around a place


def weights(kind: str, position: SX, count: int) -> list[SX]:
    """Of `count` knots at a position, 0 at the first and count - 1 at the last; they sum to one.

    Beyond both ends the spline stays where it ends. The cubic is that of Catmull and Rom: through
    the knots, with the slope between the neighbors of each.
    """
    s = ca.fmin(ca.fmax(position, 0), count - 1)
    side = BEFORE[kind]
    found = [SX(0)] * count
    for k in range(-side, count + side):
        own = min(max(k, 0), count - 1)
        found[own] = found[own] + _kernel(kind, ca.fabs(s - k))
    return found


def _kernel(kind: str, x: SX) -> SX:
    """The weight of a knot at a distance x >= 0 from it."""
    if kind == LINEAR:
        return ca.fmax(1 - x, 0)
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return ca.if_else(x < 1, near, ca.if_else(x < 2, far, 0))


@lru_cache(maxsize=16)
def _function(kind: str, count: int) -> ca.Function:
    position = SX.sym("position")
    return ca.Function("weights", [position], [ca.vertcat(*weights(kind, position, count))])


def value(kind: str, knots: NDArray[np.float64], position: float) -> NDArray[np.float64]:
    """Of the spline through knots (count, n) at a position: (n,)."""
    found = _function(kind, len(knots))(position)
    return np.array(found).ravel() @ knots
