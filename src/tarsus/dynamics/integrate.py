"""A step on the manifold of coordinates, in NumPy: positions and angles add, quaternions turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.spatial.quaternion import numeric_product

Array = NDArray[np.float64]


def integrated(mechanism: Mechanism, q: Array, u: Array, dt: ArrayLike) -> Array:
    """q (..., nq) after constant u (..., nu) for dt seconds (one number, or one a state)."""
    seconds = np.asarray(dt, dtype=float)
    states = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
    if seconds.shape not in ((), states) or not np.isfinite(seconds).all():
        raise TarsusError(
            f"dt must be one finite number of seconds, or one a state, not {dt!r:.60}."
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


def turned(p: Array, by: Array) -> Array:
    """The quaternion p (..., 4), turned by a rotation vector (..., 3) of its body's frame, rad."""
    angle = np.linalg.norm(by, axis=-1, keepdims=True)
    vector = 0.5 * np.sinc(angle / (2 * np.pi)) * by
    product = numeric_product(p, np.concatenate([np.cos(angle / 2), vector], axis=-1))
    return product / np.linalg.norm(product, axis=-1, keepdims=True)
