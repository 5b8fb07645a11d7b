"""Poses and inertias as numbers: what an importer needs to move matter between frames."""

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
    """Frame in its parent: position (3,), m, rotation (3, 3); x_parent = rotation x + position."""

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, inner: Pose) -> Pose:
        """The frame `inner`, given in this frame, seen from this frame's parent."""
        return Pose(self.point(inner.position), self.rotation @ inner.rotation)

    def point(self, position: ArrayLike) -> Array:
        """A point (3,) or points (n, 3) of this frame, seen from its parent."""
        return np.asarray(position, dtype=float) @ self.rotation.T + self.position


def shift(position: ArrayLike) -> Pose:
    """A pose without rotation."""
    return Pose(np.asarray(position, dtype=float))


def _rotation() -> type[Rotation]:
    """SciPy's class, imported when a file is first read: that takes most of a second."""
    from scipy.spatial.transform import Rotation

    return Rotation


def rotation_from_quaternion(quaternion: ArrayLike) -> Array:
    """Rotation matrix (3, 3) of a quaternion (w, x, y, z) of any length but zero."""
    if not 0 < np.linalg.norm(quaternion) < np.inf:
        raise InvalidValue(
            f"a quaternion must be finite and not zero, not {quaternion}.", "quaternion"
        )
    return _rotation().from_quat(np.asarray(quaternion, dtype=float), scalar_first=True).as_matrix()


def quaternion_from_rotation(rotation: Array) -> Array:
    """Unit quaternion (w, x, y, z) of a rotation: the column of 4 q q^T of largest diagonal."""
    r = rotation
    diagonal = np.diag(r)
    k = np.empty((4, 4))
    k[0, 0] = 1 + diagonal.sum()
    k[0, 1:] = k[1:, 0] = [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]
    k[1:, 1:] = r + r.T + np.diag(1 - diagonal.sum() * np.ones(3))
    column = k[:, int(np.argmax(np.diag(k)))]
    return column / np.linalg.norm(column)


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation matrix (3, 3) of URDF's roll, pitch, yaw about fixed axes (rad)."""
    return _rotation().from_euler("xyz", np.asarray(rpy, dtype=float)).as_matrix()


def rotation_about(axis: ArrayLike, angle: float) -> Array:
    """Rotation matrix (3, 3) by `angle` (rad) about a unit axis (3,)."""
    return _rotation().from_rotvec(angle * np.asarray(axis, dtype=float)).as_matrix()


def moved(inertia: Inertia, pose: Pose) -> Inertia:
    """The same matter in the parent's frame of `pose`."""
    about = pose.rotation @ inertia.about_com @ pose.rotation.T
    return Inertia(inertia.mass, pose.point(inertia.com), (about + about.T) / 2)


def joined(a: Inertia, b: Inertia) -> Inertia:
    """Two pieces of matter, given in one frame, as one rigid piece."""
    if b.mass == 0 or a.mass == 0:
        heavy = a if b.mass == 0 else b
        return Inertia(heavy.mass, heavy.com, a.about_com + b.about_com)
    mass = a.mass + b.mass
    apart = b.com - a.com
    com = a.com + (b.mass / mass) * apart
    steiner = (a.mass * b.mass / mass) * (apart @ apart * np.eye(3) - np.outer(apart, apart))
    return Inertia(mass, com, a.about_com + b.about_com + steiner)
