"""Splines through knots at equal distances in time, like the samples of Howell 2022."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

LINEAR, CUBIC = "linear", "cubic"
EXTRA_KNOTS = {LINEAR: 0, CUBIC: 1}  # used on each side of the two around a position


def knot_weights(kind: str, position: SX, count: int) -> list[SX]:
    """Compute the weights of the knots at a position; they sum to 1.

    The spline is constant beyond its ends. The cubic spline is Catmull-Rom: it passes through the
    knots with the slope between the neighbors of each.

    Parameters
    ----------
    kind
        "linear" or "cubic".
    position
        Position along the spline, 0 at the first knot and count - 1 at the last.
    count
        Number of knots.
    """
    s = ca.fmin(ca.fmax(position, 0), count - 1)
    side = EXTRA_KNOTS[kind]
    result = [SX(0)] * count
    for k in range(-side, count + side):
        index = min(max(k, 0), count - 1)
        result[index] = result[index] + _kernel(kind, ca.fabs(s - k))
    return result


def _kernel(kind: str, x: SX) -> SX:
    """Compute the weight of a knot at a distance x >= 0."""
    if kind == LINEAR:
        return ca.fmax(1 - x, 0)
    inner = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return ca.if_else(x < 1, inner, ca.if_else(x < 2, far, 0))


@lru_cache(maxsize=16)
def _function(kind: str, count: int) -> ca.Function:
    position = SX.sym("position")
    return ca.Function("weights", [position], [ca.vertcat(*knot_weights(kind, position, count))])


def evaluate(kind: str, knots: NDArray[np.float64], position: float) -> NDArray[np.float64]:
    """Evaluate the spline through knots, shape (count, n), at a position; shape (n,)."""
    weights_at_position = _function(kind, len(knots))(position)
    return np.array(weights_at_position).ravel() @ knots
