"""Rims and ellipsoids: shapes of which another point touches as the body turns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidModel
from tarsus.model.joint import Vector, frozen_array

ENDS = 1e-3  # rad: a disc tilted by less stands on points of its rim that are fixed to it
FLAT = 1e-9  # of the size: a half axis below it is none
COUNT = 22  # of an outline's numbers
THIRD = 2 * np.pi / 3  # rad: between the points of a rim that carry a disc lying flat


@dataclass(frozen=True, eq=False)
class Outline:
    """Points around a center, one for each direction d (3,) of the body: B y / |y| from the center,
    with y = A d + (1 - |A d|^2 / size^2) rest.

    An ellipsoid's farthest point along d has A = B, with its half axes, and rest 0. A rim's has its
    radius for half axes across the disc's and 0 along it; lying flat it has no farthest point, and
    `rest` says which one stands in. Points beside the farthest have B turned about the disc's axis.

    spread (3, 3): A, symmetric, m
    turned (3, 3): B, m
    rest (3,): m
    size: the largest half axis, m
    """

    spread: Vector
    turned: Vector
    rest: Vector = field(default_factory=lambda: np.zeros(3))
    size: float = 1.0

    def __post_init__(self) -> None:
        for name, shape in {"spread": (3, 3), "turned": (3, 3), "rest": (3,)}.items():
            value = frozen_array(getattr(self, name), shape, f"outline: {name}", name)
            object.__setattr__(self, name, value)
        if not self.size > 0:
            raise InvalidModel(f"outline: the size must be > 0, not {self.size}.", "size")

    @property
    def first(self) -> bool:
        """Whether it is the farthest point, not one beside it."""
        return bool(np.allclose(self.spread, self.turned))

    @property
    def solid(self) -> bool:
        """Whether it is an ellipsoid's, with three half axes."""
        return bool(self.half_axes()[0][-1] > 0)

    def half_axes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the ellipsoid, largest first, (3,), m, and their directions, the columns of a rotation
        (3, 3); the last of a disc is 0, and its direction the disc's axis.
        """
        half, axes = np.linalg.eigh(self.spread)
        half, axes = np.where(half < FLAT * self.size, 0.0, half)[::-1], axes[:, ::-1].copy()
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        return half, axes

    @property
    def numbers(self) -> NDArray[np.float64]:
        """All of them, (22,): `dynamics/support_points.py` takes them so."""
        own = self.spread.ravel(), self.turned.ravel(), self.rest, [self.size]
        return np.concatenate(own)

    def rotated(self, rotation: NDArray[np.float64]) -> Outline:
        """The same in a frame in which this one's axes are the columns of `rotation` (3, 3)."""
        spread, turned = (rotation @ m @ rotation.T for m in (self.spread, self.turned))
        return Outline((spread + spread.T) / 2, turned, rotation @ self.rest, self.size)


NO_OUTLINE = Outline(np.zeros((3, 3)), np.zeros((3, 3)), np.array([1.0, 0.0, 0.0]))
"""Whose every point is the center."""


def ellipsoid(half_axes: tuple[float, ...]) -> Outline:
    """That of an ellipsoid along x, y and z; half axes (3,), m."""
    axes = np.diag(half_axes)
    return Outline(axes, axes, size=max(half_axes))


def rim(radius: float, third: int) -> Outline:
    """One point of a circle about z, m: the farthest (0), or that a third (1, 2) further on."""
    flat, angle = np.diag([radius, radius, 0.0]), third * THIRD
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return Outline(flat, turn @ flat, np.array([ENDS * radius, 0.0, 0.0]), radius)
