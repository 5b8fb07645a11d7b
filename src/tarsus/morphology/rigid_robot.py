"""A robot with its joints locked: one rigid body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism
from tarsus.model.outline import Outline


def lock_joints(robot: Robot, q: NDArray[np.float64], points: Sequence[Candidate]) -> Mechanism:
    """The robot at coordinates q (nq,) as one free body, with some of its contact points.

    Its frame is that of the robot's base, but upright and at the base's place.
    """
    com = robot.center_of_mass(q) - q[:3]
    about_base = robot.mass_matrix(q)[3:6, 3:6]
    about_com = about_base - robot.mass * (com @ com * np.eye(3) - np.outer(com, com))
    about_com = (about_com + about_com.T) / 2
    held = tuple(
        replace(c, body=0, position=_place(robot, q, c) - q[:3], outline=_turned(robot, q, c))
        for c in points
    )
    body = Body("body", -1, Joint("floating_base", "free"), Inertia(robot.mass, com, about_com))
    return Mechanism(
        f"{robot.name}_locked",
        (body,),
        held,
        gravity_acceleration=robot.gravity_acceleration,
    )


def _place(robot: Robot, q: NDArray[np.float64], point: Candidate) -> NDArray[np.float64]:
    """World position (3,) of a point fixed to a body."""
    body = robot.bodies[point.body].name
    return robot.position(q, body) + robot.rotation(q, body) @ point.position


def _turned(robot: Robot, q: NDArray[np.float64], point: Candidate) -> Outline | None:
    """A point's outline in world axes."""
    if point.outline is None:
        return None
    return point.outline.rotated(robot.rotation(q, robot.bodies[point.body].name))
