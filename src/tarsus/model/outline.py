"""Outlines of rims and ellipsoids, whose contact point moves as the body turns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidModel
from tarsus.model.joint import Vector, freeze_array

MIN_TILT = 1e-3  # rad: a disc tilted less stands on fixed points of its rim
ZERO_AXIS = 1e-9  # over the size: a shorter half axis counts as zero
COUNT = 22  # numbers in an outline
THIRD = 2 * np.pi / 3  # rad, between the points of a rim that support a disc lying flat


@dataclass(frozen=True, eq=False)
class Outline:
    """Points around a center, one for each direction d of the body.

    The point lies B y / |y| from the center, with y = A d + (1 - |A d|^2 / size^2) rest.

    The farthest point of an ellipsoid along d has A = B, with the half axes as eigenvalues, and a
    zero `rest`. The farthest point of a rim has the radius as half axes across the disc's axis, and
    0 along it. A disc lying flat has no farthest point; `rest` then chooses one. The other points
    of a rim have B rotated about the disc's axis.

    Attributes
    ----------
    spread
        A, symmetric, shape (3, 3), in m.
    turned
        B, shape (3, 3), in m.
    rest
        Shape (3,), in m.
    size
        Largest half axis, in m.
    """

    spread: Vector
    turned: Vector
    rest: Vector = field(default_factory=lambda: np.zeros(3))
    size: float = 1.0

    def __post_init__(self) -> None:
        for name, shape in {"spread": (3, 3), "turned": (3, 3), "rest": (3,)}.items():
            value = freeze_array(getattr(self, name), shape, f"outline: {name}", name)
            object.__setattr__(self, name, value)
        if not self.size > 0:
            raise InvalidModel(f"outline: the size must be > 0, not {self.size}.", "size")

    @property
    def first(self) -> bool:
        """Whether the outline gives the farthest point, not another point of the rim."""
        return bool(np.allclose(self.spread, self.turned))

    @property
    def is_ellipsoid(self) -> bool:
        """Whether this is the outline of an ellipsoid, with three half axes."""
        return bool(self.half_axes()[0][-1] > 0)

    def half_axes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the half axes, largest first, and their directions.

        Returns
        -------
        half_axes
            Shape (3,), in m; the last one of a disc is 0.
        directions
            Columns of a rotation, shape (3, 3); the last one of a disc is its axis.
        """
        half, axes = np.linalg.eigh(self.spread)
        half, axes = np.where(half < ZERO_AXIS * self.size, 0.0, half)[::-1], axes[:, ::-1].copy()
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        return half, axes

    @property
    def numbers(self) -> NDArray[np.float64]:
        """All numbers, shape (22,), as `dynamics/support_points.py` takes them."""
        return np.concatenate([self.spread.ravel(), self.turned.ravel(), self.rest, [self.size]])

    def rotate(self, rotation: NDArray[np.float64]) -> Outline:
        """Rotate the outline into a frame in which its axes are the columns of `rotation`."""
        spread, turned = (rotation @ m @ rotation.T for m in (self.spread, self.turned))
        return Outline((spread + spread.T) / 2, turned, rotation @ self.rest, self.size)


NO_OUTLINE = Outline(np.zeros((3, 3)), np.zeros((3, 3)), np.array([1.0, 0.0, 0.0]))
"""Outline whose every point is the center."""


def ellipsoid(half_axes: tuple[float, ...]) -> Outline:
    """Create the outline of an ellipsoid with half axes, in m, along x, y and z."""
    axes = np.diag(half_axes)
    return Outline(axes, axes, size=max(half_axes))


def rim(radius: float, third: int) -> Outline:
    """Create the outline of one point of a circle about z.

    Parameters
    ----------
    radius
        In m.
    third
        0 for the farthest point, 1 or 2 for the points thirds of a turn from it.
    """
    flat, angle = np.diag([radius, radius, 0.0]), third * THIRD
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return Outline(flat, turn @ flat, np.array([MIN_TILT * radius, 0.0, 0.0]), radius)
