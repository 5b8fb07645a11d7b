"""Gap and slip of the feet from coordinates, for engines and logs that do not report them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Candidate
from tarsus.morphology.feet import find_soles

Array = NDArray[np.float64]
Heights = Callable[[Array], Array]
CONTACT_GAP = 2e-3  # m: a foot closer to the ground counts as in contact


def foot_gaps(robot: Robot, q: Array, heights: Heights) -> Array:
    """Compute the vertical distance of each foot from the ground.

    Parameters
    ----------
    robot : Robot
        Robot; `tarsus.morphology.feet.find_soles` defines its feet and their order.
    q : ndarray
        Coordinates, shape (worlds, nq).
    heights : callable
        Ground height in m below points of shape (worlds, n, 2).

    Returns
    -------
    ndarray
        Gap of the lowest contact candidate of each foot, shape (worlds, feet), in m.
    """
    gaps = [
        _point_gaps(robot, q, points, heights).min(axis=1) for points in find_soles(robot).values()
    ]
    return np.stack(gaps, axis=1) if gaps else np.zeros((len(q), 0))


def foot_slip(robot: Robot, q: Array, u: Array, heights: Heights) -> Array:
    """Compute the slip speed of each foot: that of its slowest point in contact.

    With the slowest point, a foot that rolls over its heel or toe does not count as slipping.

    Parameters
    ----------
    robot : Robot
        As in `foot_gaps`.
    q, u : ndarray
        Coordinates, shape (worlds, nq), and velocities, shape (worlds, nu).
    heights : callable
        As in `foot_gaps`.

    Returns
    -------
    ndarray
        Horizontal speed in m/s, shape (worlds, feet); zero for a foot in the air.
    """
    speeds = []
    for candidates in find_soles(robot).values():
        velocity = np.stack([robot.velocity(q, u, c.name) for c in candidates], axis=1)
        speed = np.linalg.norm(velocity[..., :2], axis=-1)
        touching = _point_gaps(robot, q, candidates, heights) <= CONTACT_GAP
        slowest = np.where(touching, speed, np.inf).min(axis=1)
        speeds.append(np.where(np.isfinite(slowest), slowest, 0.0))
    return np.stack(speeds, axis=1) if speeds else np.zeros((len(q), 0))


def _point_gaps(robot: Robot, q: Array, candidates: Sequence[Candidate], heights: Heights) -> Array:
    """Compute the vertical distance of each candidate from the ground, (worlds, candidates), m."""
    points = np.stack([robot.position(q, c.name) for c in candidates], axis=1)
    radii = np.array([c.radius for c in candidates])
    return points[..., 2] - radii - heights(points[..., :2])
