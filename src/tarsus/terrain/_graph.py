"""Shared by terrains that are a height over x and y."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue

LEVEL = SX(
    [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
)  # the frame of level ground: normal z, tangents x and y


def distance_and_frame(point: SX, height: SX, along_x: SX, along_y: SX) -> tuple[SX, SX]:
    """Compute the distance to first order, (z - h) / sqrt(1 + |grad h|^2), and the frame.

    Tangent 1 lies above the x axis, tangent 2 to its left; both turn continuously with the slopes.
    """
    steep = 1 / ca.sqrt(1 + along_x**2 + along_y**2)
    normal = steep * ca.vertcat(-along_x, -along_y, 1)
    forward = ca.vertcat(1, 0, along_x) / ca.sqrt(1 + along_x**2)
    frame = ca.horzcat(normal, forward, ca.cross(normal, forward)).T
    return steep * (point[2] - height), frame


def columns(**values: ArrayLike) -> dict[str, NDArray[np.float64]]:
    """Convert numbers of shape () or (worlds,) into parameters with one entry each."""
    return {name: np.asarray(value, float)[..., None] for name, value in values.items()}


def require_positive(owner: str, **values: ArrayLike) -> None:
    """Raise InvalidValue unless every number is finite and positive."""
    for name, value in values.items():
        array = np.asarray(value, float)
        if not (np.isfinite(array).all() and (array > 0).all()):
            raise InvalidValue(
                f"{owner}: {name} must be positive, not {_find_first_invalid(array)}.", name
            )


def require_finite(owner: str, **values: ArrayLike) -> None:
    """Raise InvalidValue unless every number is finite."""
    for name, value in values.items():
        if not np.isfinite(np.asarray(value, float)).all():
            raise InvalidValue(
                f"{owner}: {name} must be finite, but it contains NaN or infinity.", name
            )


def _find_first_invalid(values: NDArray) -> str:
    """Find the first number that is not finite and positive, as text."""
    wrong = values[~(np.isfinite(values) & (values > 0))]
    return f"{wrong.ravel()[0]:g}"
