"""Integrate coordinates with a constant velocity, in NumPy; quaternions are rotated, not added."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.spatial.quaternion import numeric_product

Array = NDArray[np.float64]


def integrate(mechanism: Mechanism, q: Array, u: Array, dt: ArrayLike) -> Array:
    """Move coordinates with a constant velocity.

    Parameters
    ----------
    mechanism
        Mechanism to which the coordinates belong.
    q
        Coordinates at the start, shape (..., nq).
    u
        Velocities, shape (..., nu).
    dt
        Duration in s: one number, or one per state.

    Returns
    -------
    Array
        Coordinates at the end, shape (..., nq).

    Raises
    ------
    InvalidValue
        If `dt` is not finite or has another shape.
    """
    seconds = np.asarray(dt, dtype=float)
    states = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
    if seconds.shape not in ((), states) or not np.isfinite(seconds).all():
        raise InvalidValue(
            f"dt must be one finite number of seconds, or one per state, not {dt!r:.60}.", "dt"
        )
    change = np.broadcast_to(u * seconds[..., None], (*states, mechanism.nu))
    end = np.broadcast_to(q, (*states, mechanism.nq)).copy()
    for body, q_slice, du in zip(
        mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True
    ):
        if body.joint.kind in ("free", "ball"):
            quaternion = slice(q_slice.stop - 4, q_slice.stop)
            end[..., q_slice.start : quaternion.start] += change[..., du.start : du.stop - 3]
            vector = change[..., du.stop - 3 : du.stop]
            end[..., quaternion] = rotate(end[..., quaternion], vector)
        else:
            end[..., q_slice] += change[..., du]
    return end


def difference(mechanism: Mechanism, q: Array, start: Array) -> Array:
    """Compute the constant velocity that moves `start` to `q` in one second.

    It is the inverse of `integrate`, provided that bodies turn by less than half a turn.

    Parameters
    ----------
    mechanism
        Mechanism to which the coordinates belong.
    q
        Coordinates at the end, shape (..., nq).
    start
        Coordinates at the start, shape (..., nq).

    Returns
    -------
    Array
        Velocities, shape (..., nu).
    """
    states = np.broadcast_shapes(q.shape[:-1], start.shape[:-1])
    u = np.empty((*states, mechanism.nu))
    for body, q_slice, du in zip(
        mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True
    ):
        if body.joint.kind in ("free", "ball"):
            quaternion = slice(q_slice.stop - 4, q_slice.stop)
            position = slice(q_slice.start, quaternion.start)
            u[..., du.start : du.stop - 3] = q[..., position] - start[..., position]
            vector = _rotation_vector(start[..., quaternion], q[..., quaternion])
            u[..., du.stop - 3 : du.stop] = vector
        else:
            u[..., du] = q[..., q_slice] - start[..., q_slice]
    return u


def _rotation_vector(start: Array, end: Array) -> Array:
    """Compute the rotation vector (..., 3), body frame, from one unit quaternion to another."""
    inverse = start * np.array([1.0, -1.0, -1.0, -1.0])
    p = numeric_product(inverse, end)
    p = np.where(p[..., :1] < 0, -p, p)
    sine = np.linalg.norm(p[..., 1:], axis=-1, keepdims=True)
    half = np.arctan2(sine, p[..., :1])
    return 2 * p[..., 1:] / np.sinc(half / np.pi)


def rotate(p: Array, by: Array) -> Array:
    """Rotate the quaternion p (..., 4) by a rotation vector (..., 3), body frame, rad."""
    angle = np.linalg.norm(by, axis=-1, keepdims=True)
    vector = 0.5 * np.sinc(angle / (2 * np.pi)) * by
    product = numeric_product(p, np.concatenate([np.cos(angle / 2), vector], axis=-1))
    return product / np.linalg.norm(product, axis=-1, keepdims=True)
