"""Combine a robot with objects and other robots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from casadi import DM, SX

from tarsus.dynamics import support_points
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue
from tarsus.model.base_motion import base_position
from tarsus.model.check import check
from tarsus.model.mechanism import Mechanism
from tarsus.model.merge import displace, initial_coordinates, merge
from tarsus.model.objects import FreeObject
from tarsus.model.poses import Pose, rotation_about, shift
from tarsus.model.solids import Capsule
from tarsus.morphology.feet import find_feet
from tarsus.simulation import default_controller, resolve
from tarsus.simulation.ground_placement import CONTACT_DEPTH

WorldMember = Robot | Mechanism | FreeObject | str
UP = np.array([0.0, 0.0, 1.0])


def world(robot: WorldMember, *others: WorldMember, at: Sequence[Sequence[float]] = ()) -> Robot:
    """Combine a robot with objects and other robots that may collide.

    The first argument is the robot: `Simulation` puts it on the ground, gaits drive it, and its
    feet are the feet of the world. The others start where `at` puts them, at rest; their motors
    follow those of the robot. Spheres, capsules, boxes and cylinders of different members collide
    under every law; those of one member only with `self_collision=True`. A built-in robot collides
    with others by its round contact points, its feet.

    Parameters
    ----------
    robot : Robot, Mechanism, Ball, Box, Cylinder or str
        The robot, or an object. A string is the name of a robot or the path of a model file.
    *others
        The other members, as for `robot`.
    at : sequence
        One position for each of the others: x and y of its origin in m, then optionally the height
        of its lowest point above z = 0 in m (default 0) and its yaw in rad (default 0).

    Returns
    -------
    Robot
        One robot with all the bodies, for `Simulation`.

    Raises
    ------
    InvalidValue
        If `at` does not hold one valid position for each of the others.

    Examples
    --------
    A ball in front of a robot:

    >>> import tarsus
    >>> ball = tarsus.Ball(radius=0.1)
    >>> scene = tarsus.world("mini_cheetah", ball, at=[(0.6, 0.0)])
    >>> len(scene.bodies)
    14
    """
    if len(at) != len(others):
        raise InvalidValue(
            f"at must contain one position for each of the {len(others)} objects after the first,"
            f" not {len(at)}.",
            "at",
        )
    # place the robot, then each of the others
    parts = [_with_start(_mechanism(robot))]
    for thing, where in zip(others, at, strict=True):
        position = [float(x) for x in where]
        if not 2 <= len(position) <= 4 or not np.isfinite(position).all():
            raise InvalidValue(
                "each position in at must be two to four finite numbers (x, y, height, yaw), not"
                f" {where}.",
                "at",
            )
        x, y, height, yaw = (*position, *[0.0] * (4 - len(position)))
        member = _with_start(_mechanism(thing))
        turned = displace(member, Pose(np.zeros(3), rotation_about(UP, yaw)))
        lift = height - _lowest_point(turned) - CONTACT_DEPTH if member.candidates else height
        q = initial_coordinates(turned)
        origin = base_position(turned, q)[:2] if member.mobile else np.zeros(2)
        parts.append(displace(turned, shift([x - origin[0], y - origin[1], lift])))
    things = [k for k, given in enumerate((robot, *others)) if isinstance(given, FreeObject)]
    return Robot.of(check(merge(parts, things)))


def _mechanism(member: WorldMember) -> Mechanism:
    """Convert a member to a mechanism; without shapes, its round feet touch other bodies."""
    mechanism = (
        member.mechanism() if isinstance(member, FreeObject) else resolve.resolve_robot(member)
    )
    if mechanism.solids:
        return mechanism
    balls = tuple(
        Capsule(c.name, c.body, c.position, radius=c.radius, friction=c.friction)
        for c in find_feet(mechanism) or mechanism.candidates
        if c.radius > 0
    )
    return replace(mechanism, solids=balls)


def _with_start(mechanism: Mechanism) -> Mechanism:
    """Reduce a mechanism's keyframes to its initial one; warnings become notes."""
    robot, records = default_controller.with_standing_keyframe(Robot.of(mechanism))
    return replace(robot, notes=(*robot.notes, *records)) if records else robot


def _lowest_point(mechanism: Mechanism) -> float:
    """Compute the height of the lowest contact candidate in the start posture, in m."""
    kin = kinematics(mechanism, SX(DM(initial_coordinates(mechanism))))
    return min(float(support_points.lowest_point(kin, c)[2]) for c in mechanism.candidates)
