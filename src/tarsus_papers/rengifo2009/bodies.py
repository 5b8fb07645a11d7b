"""The ball and the brick of Figs. 1 and 6 (Rengifo 2009); the paper states no size or mass."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism

Array = NDArray[Any]
G = 9.81  # m/s^2
BRICK = np.array([0.1, 0.05, 0.03])  # m, half edges -- ESTIMATE


@cache
def ball(mass: float = 1.0) -> Robot:
    """Return a point mass (kg) in contact at its center, as Eqn. (1) describes it."""
    return _free("ball", mass, 0.01 * mass * np.eye(3), (Candidate("point", 0, np.zeros(3)),))


@cache
def brick(mass: float = 1.0) -> Robot:
    """Return a box (kg) in contact at the four corners of its lower face."""
    x, y, z = BRICK
    corners = tuple(
        Candidate(f"corner_{k}", 0, np.array([a * x, b * y, -z]))
        for k, (a, b) in enumerate(product((1, -1), repeat=2))
    )
    squares = (2 * BRICK) ** 2
    return _free("brick", mass, mass / 12 * np.diag(squares.sum() - squares), corners)


def pose_on_slope(height: Array | float, angle: float = 0.0) -> Array:
    """Return coordinates of shape (..., 7) of a body aligned with a slope.

    Parameters
    ----------
    height : ndarray or float
        Height of the body's origin above the slope in m.
    angle : float, optional
        Angle by which the slope rises along x, in rad.
    """
    up = np.array([-np.sin(angle), 0.0, np.cos(angle)])
    turn = np.array([np.cos(angle / 2), 0.0, -np.sin(angle / 2), 0.0])
    position = np.asarray(height)[..., None] * up
    return np.concatenate([position, np.broadcast_to(turn, (*position.shape[:-1], 4))], axis=-1)


def power_of_ten(value: float) -> str:
    """Format a power of ten briefly: 1e-6, not 1e-06."""
    return f"{value:.0e}".replace("e-0", "e-") if value else "0"


def _free(name: str, mass: float, moments: Array, candidates: tuple[Candidate, ...]) -> Robot:
    body = Body(name, -1, Joint("free", "free"), Inertia(mass, np.zeros(3), moments))
    return Robot.of(Mechanism(name, (body,), candidates))
