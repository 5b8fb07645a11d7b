"""Gap and slip of the feet from coordinates alone, for engines and logs that report neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Candidate
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
    gaps = [_point_gaps(robot, q, points, heights).min(axis=1) for points in soles(robot).values()]
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
        velocity = np.stack([robot.velocity(q, u, c.name) for c in candidates], axis=1)
        speed = np.linalg.norm(velocity[..., :2], axis=-1)
        touching = _point_gaps(robot, q, candidates, heights) <= CONTACT_GAP
        slowest = np.where(touching, speed, np.inf).min(axis=1)
        speeds.append(np.where(np.isfinite(slowest), slowest, 0.0))
    return np.stack(speeds, axis=1) if speeds else np.zeros((len(q), 0))


def _point_gaps(robot: Robot, q: Array, candidates: Sequence[Candidate], heights: Heights) -> Array:
    """Return the vertical distance of each candidate from the ground (worlds, candidates), m."""
    points = np.stack([robot.position(q, c.name) for c in candidates], axis=1)
    radii = np.array([c.radius for c in candidates])
    return points[..., 2] - radii - heights(points[..., :2])
