"""Detect falls from the tilt and height of the base."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.model import base_motion
from tarsus.model.mechanism import Mechanism
from tarsus.model.poses import rotation_from_quaternion
from tarsus.morphology.drawn import as_drawn

Array = NDArray[np.float64]

MIN_UPRIGHT = 0.5  # cos(60 degrees): a base that tilts more has tipped over
MIN_HEIGHT_SHARE = 0.5  # of the height at the start: a base below it has collapsed


def vertical_in_base(robot: Mechanism) -> Array:
    """Return the direction (3,) in base axes that points up when the robot stands.

    It is the z axis for most robots. The frames of some, from CAD or motion capture, have y or x
    up.
    """
    stand = robot.keyframes.get("stand", as_drawn(robot))
    if robot.floating:
        return rotation_from_quaternion(stand[3:7])[2]
    return base_motion.vertical_in_base(robot, stand)


def uprightness(robot: Mechanism, q: Array) -> Array:
    """Compute the cosine of the angle by which the base tilts from its standing attitude.

    Rotations about the vertical do not count.

    Parameters
    ----------
    robot
        Robot; for a fixed base the cosine is 1.
    q
        Coordinates, shape (..., nq).

    Returns
    -------
    Array
        Cosines, shape (...).
    """
    if not robot.mobile:
        return np.ones(q.shape[:-1])
    return base_motion.vertical_in_base(robot, q) @ vertical_in_base(robot)


def has_fallen(robot: Mechanism, q: Array, height: Array) -> bool:
    """Return whether the base tilted by more than 60 degrees or sank to half its first height.

    Parameters
    ----------
    robot
        Robot; one with a fixed base cannot fall.
    q
        Coordinates at n instants, shape (n, nq).
    height
        Height of the base above the ground at these instants, shape (n,), in m.

    Returns
    -------
    bool
        Whether the robot fell at any instant.
    """
    return find_first_fall(robot, q, height) is not None


def find_first_fall(robot: Mechanism, q: Array, height: Array) -> int | None:
    """Find the index of the first instant with the robot fallen (`has_fallen`), or None."""
    if not robot.mobile:
        return None
    down = (uprightness(robot, q) < MIN_UPRIGHT) | (height < MIN_HEIGHT_SHARE * height[0])
    return int(np.argmax(down)) if down.any() else None
