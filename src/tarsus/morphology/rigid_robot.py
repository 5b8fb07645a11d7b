"""Lock all joints of a robot, which makes it one rigid body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism
from tarsus.model.outline import Outline


def lock_joints(robot: Robot, q: NDArray[np.float64], points: Sequence[Candidate]) -> Mechanism:
    """Lock the joints of a robot: one free body with some of its contact candidates.

    Parameters
    ----------
    robot
        Robot.
    q
        Coordinates (nq,) at which the joints are locked.
    points
        Contact candidates to include.

    Returns
    -------
    Mechanism
        Mechanism of one body, whose frame has the base's origin and the world's axes.
    """
    com = robot.center_of_mass(q) - q[:3]
    about_base = robot.mass_matrix(q)[3:6, 3:6]
    about_com = about_base - robot.mass * (com @ com * np.eye(3) - np.outer(com, com))
    about_com = (about_com + about_com.T) / 2
    candidates = tuple(
        replace(c, body=0, position=_position(robot, q, c) - q[:3], outline=_outline(robot, q, c))
        for c in points
    )
    body = Body("body", -1, Joint("floating_base", "free"), Inertia(robot.mass, com, about_com))
    return Mechanism(
        f"{robot.name}_locked",
        (body,),
        candidates,
        gravity_acceleration=robot.gravity_acceleration,
    )


def _position(robot: Robot, q: NDArray[np.float64], point: Candidate) -> NDArray[np.float64]:
    """Compute the world position (3,) of a candidate's center, in m."""
    body = robot.bodies[point.body].name
    return robot.position(q, body) + robot.rotation(q, body) @ point.position


def _outline(robot: Robot, q: NDArray[np.float64], point: Candidate) -> Outline | None:
    """Transform a candidate's outline to world axes."""
    if point.outline is None:
        return None
    return point.outline.rotate(robot.rotation(q, robot.bodies[point.body].name))
