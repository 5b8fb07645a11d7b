"""Products of quaternions (w, x, y, z), as expressions and as numbers.

The product a b of two rotations turns by b first, then by a.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

Array = NDArray[np.float64]


def product(a: SX, b: SX) -> SX:
    """a b (4,) of expressions (4,)."""
    return ca.vertcat(
        a[0] * b[0] - ca.dot(a[1:], b[1:]), a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:])
    )


def conjugate(p: SX) -> SX:
    """The inverse (4,) of a unit quaternion (4,)."""
    return ca.vertcat(p[0], -p[1:])


def numeric_product(a: Array, b: Array) -> Array:
    """a b (..., 4) of numbers (..., 4)."""
    w, v, c, r = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    scalar = w * c - (v * r).sum(-1, keepdims=True)
    return np.concatenate([scalar, w * r + c * v + np.cross(v, r)], axis=-1)
