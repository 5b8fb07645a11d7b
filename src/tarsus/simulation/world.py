"""A robot with objects and other robots beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from casadi import DM, SX

from tarsus.dynamics import support_points
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue
from tarsus.model.check import check
from tarsus.model.mechanism import Mechanism
from tarsus.model.merge import displace, initial_coordinates, merge
from tarsus.model.objects import Thing
from tarsus.model.poses import Pose, rotation_about, shift
from tarsus.model.solids import Capsule
from tarsus.simulation import default_controller, resolve
from tarsus.simulation.ground_placement import CONTACT_DEPTH

WorldMember = Robot | Mechanism | Thing | str
UP = np.array([0.0, 0.0, 1.0])


def world(robot: WorldMember, *others: WorldMember, at: Sequence[Sequence[float]] = ()) -> Robot:
    """A robot, or an object, with others beside it: free bodies of one simulation, which touch each
    other.

    robot, others: robots (objects, names or files), `Ball`, `Box`, `Cylinder`
    at: for each of the others x and y, m, of its origin as it starts, the height of its lowest
        point above z = 0, m (0 if not given), and its yaw about z, rad (0)

    The first is the robot: it is put on the ground by `Simulation`, gaits move it, and its feet are
    the robot's. The others start where they are put, at rest, with joints as they start
    alone; their motors come behind the robot's. Spheres, capsules, boxes and cylinders of
    different ones touch each other under every law; those of one robot with `self_collision=True`.
    A built-in robot touches others with its round contact points, its feet.
    """
    if len(at) != len(others):
        raise InvalidValue(
            f"at must hold one position for each of the {len(others)} objects after the first,"
            f" not {len(at)}.",
            "at",
        )
    # the robot, then each thing where it starts
    parts = [_with_start(_mechanism(robot))]
    for thing, where in zip(others, at, strict=True):
        place = [float(x) for x in where]
        if not 2 <= len(place) <= 4 or not np.isfinite(place).all():
            raise InvalidValue(
                "each position in at must be two to four finite numbers (x, y, height, yaw), not"
                f" {where}.",
                "at",
            )
        x, y, height, yaw = (*place, *[0.0] * (4 - len(place)))
        own = _with_start(_mechanism(thing))
        turned = displace(own, Pose(np.zeros(3), rotation_about(UP, yaw)))
        lift = height - _lowest_point(turned) - CONTACT_DEPTH if own.candidates else height
        origin = initial_coordinates(turned)[:2] if own.floating else np.zeros(2)
        parts.append(displace(turned, shift([x - origin[0], y - origin[1], lift])))
    things = [k for k, given in enumerate((robot, *others)) if isinstance(given, Thing)]
    return Robot.of(check(merge(parts, things)))


def _mechanism(given: WorldMember) -> Mechanism:
    """As a mechanism; one without shapes that touch others gets its round contact points."""
    mechanism = given.mechanism() if isinstance(given, Thing) else resolve.robot(given)
    if mechanism.solids:
        return mechanism
    balls = tuple(
        Capsule(c.name, c.body, c.position, radius=c.radius, friction=c.friction)
        for c in mechanism.candidates
        if c.radius > 0
    )
    return replace(mechanism, solids=balls)


def _with_start(mechanism: Mechanism) -> Mechanism:
    """With the keyframe to start from that it has alone, and what is told of it then as a note."""
    robot, told = default_controller.with_standing_keyframe(Robot.of(mechanism))
    return replace(robot, notes=(*robot.notes, *told)) if told else robot


def _lowest_point(mechanism: Mechanism) -> float:
    """Height of its lowest candidate where it starts, m."""
    kin = kinematics(mechanism, SX(DM(initial_coordinates(mechanism))))
    return min(float(support_points.lowest_point(kin, c)[2]) for c in mechanism.candidates)
