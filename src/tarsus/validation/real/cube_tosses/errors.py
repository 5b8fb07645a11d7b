"""How far a simulated toss is from the recorded one: position, turn, and the corners' distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.validation.real.cube_tosses.data import EDGE, Tosses

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TossErrors:
    """Means over the frames after the first, each (candidates, tosses); infinite where a simulation
    left the finite numbers.

    position: distance of the centers, % of the cube's width
    rotation: angle between the attitudes, degrees
    corners: root of the mean squared distance of the eight corners, % of the width: position and
        turn in one number, which parameters are identified by
    missed: 1 where the last frame is turned by more than 45 degrees, which rests on another face
    """

    position: Array
    rotation: Array
    corners: Array
    missed: Array

    def of(self, candidate: int) -> dict[str, Array]:
        """One candidate's, each (tosses,)."""
        return {name: value[candidate] for name, value in vars(self).items()}


def errors(tosses: Tosses, q: Array) -> TossErrors:
    """Of simulated coordinates q (candidates, tosses, frames, 7)."""
    # distances of centers, and angles: |dot| of unit quaternions is the cosine of half of it
    apart = np.linalg.norm(q[..., :3] - tosses.q[..., :3], axis=-1) / EDGE
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
    corners = np.sqrt(apart**2 + (1 - cosine))
    # means over what was recorded
    seen = tosses.seen.copy()
    seen[:, 0] = False
    count = seen.sum(-1)

    def mean(value: Array) -> Array:
        total = np.where(seen, value, 0.0).sum(-1) / count
        return np.where(np.isfinite(total), total, np.inf)

    at_end = angle[..., np.arange(len(tosses)), tosses.length - 1]
    missed = np.where(at_end <= np.pi / 4, 0.0, 1.0)
    return TossErrors(100 * mean(apart), np.degrees(mean(angle)), 100 * mean(corners), missed)
