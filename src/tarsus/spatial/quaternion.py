"""Products of quaternions (w, x, y, z), as expressions and as numbers; Euler angles.

The product a b of two rotations turns by b first, then by a.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

Array = NDArray[np.float64]


def product(a: SX, b: SX) -> SX:
    """Compute a b (4,) of expressions (4,)."""
    return ca.vertcat(
        a[0] * b[0] - ca.dot(a[1:], b[1:]), a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:])
    )


def conjugate(p: SX) -> SX:
    """Compute the inverse (4,) of a unit quaternion (4,)."""
    return ca.vertcat(p[0], -p[1:])


def numeric_product(a: Array, b: Array) -> Array:
    """Compute a b (..., 4) of numbers (..., 4)."""
    w, v, c, r = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    scalar = w * c - (v * r).sum(-1, keepdims=True)
    return np.concatenate([scalar, w * r + c * v + np.cross(v, r)], axis=-1)


def zyx_angles(p: Array) -> Array:
    """Compute yaw, pitch and roll (..., 3), rad, of unit quaternions (..., 4): R = R_z R_y R_x."""
    w, x, y, z = np.moveaxis(p, -1, 0)
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1, 1))
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    return np.stack([yaw, pitch, roll], -1)
