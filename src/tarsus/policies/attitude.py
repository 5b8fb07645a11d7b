"""Vectorized attitudes and headings of many bases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MIN_HEADING_LENGTH = 1e-12  # avoids division by zero if the base points straight up or down


def rotations(quaternions: Array) -> Array:
    """Convert unit quaternions (n, 4), w first, to rotation matrices (n, 3, 3)."""
    w, x, y, z = quaternions.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def heading(rotation: Array) -> tuple[Array, Array]:
    """Compute cosine and sine, shape (n,), of the headings of rotations (n, 3, 3)."""
    length = np.maximum(np.hypot(rotation[:, 0, 0], rotation[:, 1, 0]), MIN_HEADING_LENGTH)
    return rotation[:, 0, 0] / length, rotation[:, 1, 0] / length


def to_heading_axes(rotation: Array, vectors: Array) -> Array:
    """Transform vectors (n, 3) from world axes to axes that follow only the heading."""
    (c, s), (x, y, z) = heading(rotation), vectors.T
    return np.stack([c * x + s * y, c * y - s * x, z], axis=1)


def planar_velocity(rotation: Array, u: Array) -> Array:
    """Compute the base velocity in heading axes.

    Parameters
    ----------
    rotation : ndarray
        Rotation matrices of the bases, shape (n, 3, 3).
    u : ndarray
        Velocities of robots with a free base, shape (n, nu).

    Returns
    -------
    ndarray
        Velocities, shape (n, 3): forward and left in m/s, about the vertical in rad/s.
    """
    velocity = to_heading_axes(rotation, u[:, :3])
    velocity[:, 2] = np.einsum("wi,wi->w", rotation[:, 2], u[:, 3:6])
    return velocity
