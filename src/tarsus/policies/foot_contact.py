"""Gap and slip of the feet from coordinates alone, for engines and logs that report neither."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.morphology.feet import soles

Array = NDArray[np.float64]
Heights = Callable[[Array], Array]
CONTACT_GAP = 2e-3  # m: a foot this close to the ground touches it


def foot_gaps(robot: Robot, q: Array, heights: Heights) -> Array:
    """Return the vertical distance of each foot from the ground.

    Parameters
    ----------
    robot : Robot
        Its feet are those of `tarsus.morphology.feet.soles`, in that order.
    q : ndarray
        Coordinates, shape (worlds, nq).
    heights : callable
        Ground height in m below points of shape (worlds, n, 2).

    Returns
    -------
    ndarray
        Gap of the lowest contact candidate of each foot, shape (worlds, feet), in m.
    """
    gaps = []
    for candidates in soles(robot).values():
        points = np.stack([robot.position(q, c.name) for c in candidates], axis=1)
        radii = np.array([c.radius for c in candidates])
        gaps.append((points[..., 2] - radii - heights(points[..., :2])).min(axis=1))
    return np.stack(gaps, axis=1) if gaps else np.zeros((len(q), 0))


def foot_slip(robot: Robot, q: Array, u: Array, heights: Heights) -> Array:
    """Return the horizontal speed of the slowest touching point of each foot.

    The slowest point, so that a foot that rolls over its heel or toe does not count as slipping.

    Parameters
    ----------
    robot : Robot
        See `foot_gaps`.
    q, u : ndarray
        Coordinates, shape (worlds, nq), and velocities, shape (worlds, nu).
    heights : callable
        See `foot_gaps`.

    Returns
    -------
    ndarray
        Speed in m/s, shape (worlds, feet); zero for a foot in the air.
    """
    speeds = []
    for candidates in soles(robot).values():
        slowest = np.full(len(q), np.inf)
        for candidate in candidates:
            point = robot.position(q, candidate.name)
            gap = point[:, 2] - candidate.radius - heights(point[:, None, :2])[:, 0]
            speed = np.linalg.norm(robot.velocity(q, u, candidate.name)[:, :2], axis=1)
            slowest = np.where(gap <= CONTACT_GAP, np.minimum(slowest, speed), slowest)
        speeds.append(np.where(np.isfinite(slowest), slowest, 0.0))
    return np.stack(speeds, axis=1) if speeds else np.zeros((len(q), 0))
