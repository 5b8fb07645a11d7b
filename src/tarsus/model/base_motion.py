"""Pose of a robot's moving base, on a free joint or on a chain of passive joints, in NumPy.

The chain of a planar robot, two slides and a hinge, lets its base move in a vertical plane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.model.mechanism import UP, Mechanism
from tarsus.model.poses import rotation_from_quaternion

Array = NDArray[np.float64]


def base_position(mechanism: Mechanism, q: Array) -> Array:
    """Compute the world position of the base's origin.

    Parameters
    ----------
    mechanism
        Mechanism with a moving base.
    q
        Coordinates, shape (..., nq).

    Returns
    -------
    Array
        Positions, shape (..., 3), in m.
    """
    return q[..., :3] if mechanism.floating else _chain_pose(mechanism, q)[0]


def base_pose(mechanism: Mechanism, q: Array) -> tuple[Array, Array]:
    """Compute position (3,), in m, and rotation (3, 3) of the base at coordinates (nq,)."""
    if mechanism.floating:
        return np.array(q[:3]), rotation_from_quaternion(q[3:7])
    return _chain_pose(mechanism, q)


def vertical_in_base(mechanism: Mechanism, q: Array) -> Array:
    """Compute the vertical in the axes of the base, shape (..., 3), at coordinates (..., nq)."""
    if not mechanism.floating:
        return _chain_pose(mechanism, q)[1][..., 2, :]
    w, x, y, z = np.moveaxis(q[..., 3:7], -1, 0)
    vertical = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    return np.stack(vertical, axis=-1)


def base_velocities(mechanism: Mechanism) -> list[int]:
    """Find the indices in u of the base's velocities; there are none if the base is fixed."""
    return [k for i in mechanism.base_chain for k in _indices(mechanism.u_slices[i])]


def raise_base(mechanism: Mechanism, q: Array, distance: Array | float) -> None:
    """Raise the base by a distance in m, one for all states or one each.

    The coordinates q, shape (..., nq), are changed.
    """
    if mechanism.floating:
        q[..., 2] += distance
        return
    slides, axes = _chain_axes(mechanism, q, "slide")
    q[..., slides] += np.asarray(distance)[..., None] * (UP @ np.linalg.pinv(axes))


def tilt_chain(mechanism: Mechanism, q: Array, normal: Array) -> None:
    """Turn a base that is not on a free joint towards a normal, as far as its hinges allow.

    Parameters
    ----------
    mechanism
        Mechanism with a moving base.
    q
        Coordinates, shape (nq,), which are changed.
    normal
        Direction, shape (3,), to which the rotation turns the vertical.
    """
    hinges, axes = _chain_axes(mechanism, q, "hinge")
    for hinge, axis in zip(hinges, axes, strict=True):
        q[hinge] += np.arctan2(np.cross(UP, normal) @ axis, normal @ UP)


def hinge_axes(mechanism: Mechanism, q: Array) -> Array:
    """Compute the world axes (n, 3) of the hinges of a base that is not on a free joint."""
    return _chain_axes(mechanism, q, "hinge")[1]


def _chain_axes(mechanism: Mechanism, q: Array, kind: str) -> tuple[list[int], Array]:
    """Find the base's joints of a kind: coordinates (n,) and world axes (..., n, 3)."""
    chain = [i for i in mechanism.base_chain if mechanism.bodies[i].joint.kind == kind]
    turns = [_chain_pose(mechanism, q, i)[1] for i in chain]
    axes = [turn @ mechanism.bodies[i].joint.axis for i, turn in zip(chain, turns, strict=True)]
    stacked = np.stack(axes, axis=-2) if axes else np.zeros((*q.shape[:-1], 0, 3))
    return [mechanism.q_slices[i].start for i in chain], stacked


def _chain_pose(mechanism: Mechanism, q: Array, last: int | None = None) -> tuple[Array, Array]:
    """Compute position (..., 3) and rotation (..., 3, 3) of a body of the base's chain.

    By default it is the base.
    """
    last = mechanism.base_chain[-1] if last is None else last
    position, turn = np.zeros((*q.shape[:-1], 3)), np.eye(3)
    for i in mechanism.base_chain[: last + 1]:
        body, values = mechanism.bodies[i], q[..., mechanism.q_slices[i]]
        position = position + turn @ body.position
        turn = turn @ body.rotation
        if body.joint.kind == "slide":
            position = position + turn @ body.joint.axis * values
        else:
            turn = turn @ _rotation(body.joint.axis, body.joint.kind, values)
    return position, np.broadcast_to(turn, (*q.shape[:-1], 3, 3))


def _rotation(axis: Array, kind: str, values: Array) -> Array:
    """Compute the rotation (..., 3, 3) of a hinge or ball joint."""
    if kind == "hinge":
        scalar, vector = np.cos(values[..., 0] / 2), np.sin(values / 2) * axis
    else:
        scalar, vector = values[..., 0], values[..., 1:]
    x, y, z = np.moveaxis(vector, -1, 0)
    zero = np.zeros_like(x)
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    return np.eye(3) + 2 * scalar[..., None, None] * skew + 2 * skew @ skew


def _indices(indices: slice) -> range:
    return range(indices.start, indices.stop)
