"""A step on the manifold of coordinates, in NumPy: positions and angles add, quaternions turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.spatial.quaternion import numeric_product

Array = NDArray[np.float64]


def integrated(mechanism: Mechanism, q: Array, u: Array, dt: ArrayLike) -> Array:
    """q (..., nq) after constant u (..., nu) for dt seconds (one number, or one a state)."""
    seconds = np.asarray(dt, dtype=float)
    states = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
    if seconds.shape not in ((), states) or not np.isfinite(seconds).all():
        raise InvalidValue(
            f"dt must be one finite number of seconds, or one per state, not {dt!r:.60}.", "dt"
        )
    move = np.broadcast_to(u * seconds[..., None], (*states, mechanism.nu))
    after = np.broadcast_to(q, (*states, mechanism.nq)).copy()
    for body, at, du in zip(mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True):
        if body.joint.kind in ("free", "ball"):
            turn = slice(at.stop - 4, at.stop)
            after[..., at.start : turn.start] += move[..., du.start : du.stop - 3]
            after[..., turn] = turned(after[..., turn], move[..., du.stop - 3 : du.stop])
        else:
            after[..., at] += move[..., du]
    return after


def difference(mechanism: Mechanism, q: Array, start: Array) -> Array:
    """The constant u (..., nu) that leads from start (..., nq) to q (..., nq) in one second.

    Bodies turn by less than half a turn.
    """
    states = np.broadcast_shapes(q.shape[:-1], start.shape[:-1])
    way = np.empty((*states, mechanism.nu))
    for body, at, du in zip(mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True):
        if body.joint.kind in ("free", "ball"):
            turn = slice(at.stop - 4, at.stop)
            straight = slice(at.start, turn.start)
            way[..., du.start : du.stop - 3] = q[..., straight] - start[..., straight]
            way[..., du.stop - 3 : du.stop] = _turn(start[..., turn], q[..., turn])
        else:
            way[..., du] = q[..., at] - start[..., at]
    return way


def _turn(start: Array, end: Array) -> Array:
    """The rotation vector (..., 3) in the body's frame from one unit quaternion to another."""
    inverse = start * np.array([1.0, -1.0, -1.0, -1.0])
    p = numeric_product(inverse, end)
    p = np.where(p[..., :1] < 0, -p, p)
    sine = np.linalg.norm(p[..., 1:], axis=-1, keepdims=True)
    half = np.arctan2(sine, p[..., :1])
    return 2 * p[..., 1:] / np.sinc(half / np.pi)


def turned(p: Array, by: Array) -> Array:
    """The quaternion p (..., 4), turned by a rotation vector (..., 3) of its body's frame, rad."""
    angle = np.linalg.norm(by, axis=-1, keepdims=True)
    vector = 0.5 * np.sinc(angle / (2 * np.pi)) * by
    product = numeric_product(p, np.concatenate([np.cos(angle / 2), vector], axis=-1))
    return product / np.linalg.norm(product, axis=-1, keepdims=True)
