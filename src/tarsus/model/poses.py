"""Poses and inertias as numbers, for readers that move them between frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Inertia

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose of a frame in its parent: x_parent = rotation x + position.

    Attributes
    ----------
    position
        Shape (3,), in m.
    rotation
        Shape (3, 3).
    """

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, inner: Pose) -> Pose:
        """Transform the pose `inner`, given in this frame, to this frame's parent."""
        return Pose(self.point(inner.position), self.rotation @ inner.rotation)

    def point(self, position: ArrayLike) -> Array:
        """Transform a point, shape (3,), or points, shape (n, 3), of this frame to its parent."""
        return np.asarray(position, dtype=float) @ self.rotation.T + self.position


def invert(pose: Pose) -> Pose:
    """Invert a pose: the parent's frame seen from the child."""
    return Pose(-pose.rotation.T @ pose.position, pose.rotation.T)


def shift(position: ArrayLike) -> Pose:
    """Create a pose without rotation."""
    return Pose(np.asarray(position, dtype=float))


def _rotation() -> type[Rotation]:
    """Import SciPy's class on first use, because that takes most of a second."""
    from scipy.spatial.transform import Rotation

    return Rotation


def rotation_from_quaternion(quaternion: ArrayLike) -> Array:
    """Convert a quaternion (w, x, y, z) of any length but zero to a rotation matrix."""
    if not 0 < np.linalg.norm(quaternion) < np.inf:
        raise InvalidValue(
            f"a quaternion must be finite and not zero, not {quaternion}.", "quaternion"
        )
    return _rotation().from_quat(np.asarray(quaternion, dtype=float), scalar_first=True).as_matrix()


def quaternion_from_rotation(rotation: Array) -> Array:
    """Convert a rotation matrix to a unit quaternion (w, x, y, z).

    It is the column of 4 q q^T with the largest diagonal entry, normalized.
    """
    r = rotation
    diagonal = np.diag(r)
    k = np.empty((4, 4))
    k[0, 0] = 1 + diagonal.sum()
    k[0, 1:] = k[1:, 0] = [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]
    k[1:, 1:] = r + r.T + np.diag(1 - diagonal.sum() * np.ones(3))
    column = k[:, int(np.argmax(np.diag(k)))]
    return column / np.linalg.norm(column)


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Convert URDF's roll, pitch and yaw about fixed axes, in rad, to a rotation matrix."""
    return _rotation().from_euler("xyz", np.asarray(rpy, dtype=float)).as_matrix()


def rotation_about(axis: ArrayLike, angle: float) -> Array:
    """Compute the rotation matrix of an angle, in rad, about a unit axis."""
    return _rotation().from_rotvec(angle * np.asarray(axis, dtype=float)).as_matrix()


def transform_inertia(inertia: Inertia, pose: Pose) -> Inertia:
    """Transform an inertia, given in the frame `pose`, to this frame's parent."""
    about = pose.rotation @ inertia.about_com @ pose.rotation.T
    return Inertia(inertia.mass, pose.point(inertia.com), (about + about.T) / 2)


def add_inertias(a: Inertia, b: Inertia) -> Inertia:
    """Compute the inertia of two rigidly joined bodies, given in one frame."""
    if b.mass == 0 or a.mass == 0:
        heavier = a if b.mass == 0 else b
        return Inertia(heavier.mass, heavier.com, a.about_com + b.about_com)
    mass = a.mass + b.mass
    offset = b.com - a.com
    com = a.com + (b.mass / mass) * offset
    steiner = (a.mass * b.mass / mass) * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    return Inertia(mass, com, a.about_com + b.about_com + steiner)
