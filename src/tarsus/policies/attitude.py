"""Attitudes and headings of many bases at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MIN_HEADING_LENGTH = (
    1e-12  # the least length of a heading, of a base that points straight up or down
)


def rotations(quaternions: Array) -> Array:
    """Return rotation matrices (n, 3, 3) of unit quaternions (n, 4), w first."""
    w, x, y, z = quaternions.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def heading(rotation: Array) -> tuple[Array, Array]:
    """Return cosine and sine (n,) of the headings of rotations (n, 3, 3)."""
    length = np.maximum(np.hypot(rotation[:, 0, 0], rotation[:, 1, 0]), MIN_HEADING_LENGTH)
    return rotation[:, 0, 0] / length, rotation[:, 1, 0] / length


def to_heading_axes(rotation: Array, vectors: Array) -> Array:
    """Return vectors (n, 3) of the world in axes that turn with the heading alone."""
    (c, s), (x, y, z) = heading(rotation), vectors.T
    return np.stack([c * x + s * y, c * y - s * x, z], axis=1)


def planar_velocity(rotation: Array, u: Array) -> Array:
    """Return velocities (n, 3) forward and to the left, m/s, and about the vertical, rad/s.

    u : ndarray
        Velocities (n, nu) of robots with a free base.
    """
    velocity = to_heading_axes(rotation, u[:, :3])
    velocity[:, 2] = np.einsum("wi,wi->w", rotation[:, 2], u[:, 3:6])
    return velocity
