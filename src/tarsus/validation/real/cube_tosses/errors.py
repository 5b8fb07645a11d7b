"""Errors of simulated tosses: position, rotation, and distance of the corners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.validation.real.cube_tosses.data import EDGE, Tosses

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TossErrors:
    """Mean errors over all frames after the first, each of shape (candidates, tosses).

    They are infinite for a simulation that diverged.
    """

    position: Array
    """Distance of the centers, % of the cube's width."""
    rotation: Array
    """Angle between the orientations, degrees."""
    corners: Array
    """Root mean square distance of the eight corners, % of the width.

    It combines position and rotation; parameters are identified by it.
    """
    missed: Array
    """1 if the last frame is rotated by more than 45 degrees, so that the cube rests on another
    face."""

    def of(self, candidate: int) -> dict[str, Array]:
        """Select the errors of one candidate, each of shape (tosses,)."""
        return {name: value[candidate] for name, value in vars(self).items()}


def toss_errors(tosses: Tosses, q: Array) -> TossErrors:
    """Compute the errors of simulated coordinates q (candidates, tosses, frames, 7)."""
    # distances of centers, and angles: |dot| of unit quaternions is the cosine of half the angle
    distance = np.linalg.norm(q[..., :3] - tosses.q[..., :3], axis=-1) / EDGE
    with np.errstate(invalid="ignore", over="ignore"):
        length = np.linalg.norm(q[..., 3:], axis=-1)
        same = np.abs((q[..., 3:] * tosses.q[..., 3:]).sum(-1)) / length
        sine = 0.5 * np.minimum(
            np.linalg.norm(q[..., 3:] / length[..., None] - tosses.q[..., 3:], axis=-1),
            np.linalg.norm(q[..., 3:] / length[..., None] + tosses.q[..., 3:], axis=-1),
        )
    angle = 4 * np.arcsin(np.minimum(sine, np.sqrt(0.5)))
    # the mean of |(R_1 - R_2) c|^2 over corners c = (+-h, +-h, +-h) is 4 h^2 (1 - cos angle)
    cosine = 2 * np.minimum(same, 1) ** 2 - 1
    corners = np.sqrt(distance**2 + (1 - cosine))
    # means over the recorded frames
    recorded = tosses.recorded.copy()
    recorded[:, 0] = False
    count = recorded.sum(-1)

    def mean(value: Array) -> Array:
        total = np.where(recorded, value, 0.0).sum(-1) / count
        return np.where(np.isfinite(total), total, np.inf)

    final_angle = angle[..., np.arange(len(tosses)), tosses.length - 1]
    missed = np.where(final_angle <= np.pi / 4, 0.0, 1.0)
    return TossErrors(100 * mean(distance), np.degrees(mean(angle)), 100 * mean(corners), missed)
