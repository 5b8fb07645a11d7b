"""Find a standing posture of a robot without a keyframe for it.

Its knees are bent, each foot is below its hip, and the soles are level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.dynamics.jacobian import joint_axis, numeric_position
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.dynamics.robot import Robot
from tarsus.dynamics.support_points import lowest_point
from tarsus.model import base_motion
from tarsus.model.mechanism import UP
from tarsus.morphology.drawn import as_drawn, clamp_to_range, roots_as_drawn
from tarsus.morphology.feet import find_soles, find_tilted_soles
from tarsus.morphology.legs import list_hinges

Array = NDArray[np.float64]

LEG_LENGTH = 0.8  # distance from hip to foot, relative to the straight leg
LEG_LENGTH_OF_BIPED = 0.95  # the same for bipeds, whose knee torques would be large
PARALLEL_COSINE = 0.99  # |cos| between axes, from which on they count as parallel
VERTICAL_COSINE = 0.5  # |cos| to the vertical, from which on an axis turns a leg, not bends it
MIN_LINK_LENGTH = 1e-3  # m
ORIGIN = np.zeros(3)
SUPPORT_HEIGHT = 0.002  # m; higher points of a foot do not carry the robot
FOOT_TOLERANCE = 0.05  # m, on the position of a foot, and of hips in the middle plane


class _PlanarLeg(NamedTuple):
    """Bodies of a leg that bends in a plane.

    Attributes
    ----------
    hip, knee, ankle
        Bodies moved by these joints; None without an ankle.
    foot
        Last body, and the middle of its sole (3,) in the body's frame, in m.
    normal
        Direction (3,) out of the sole as the file draws it, world axes; None if it is level.
    """

    hip: int
    knee: int
    ankle: int | None
    foot: tuple[int, Array]
    normal: Array | None


def find_standing_posture(robot: Robot) -> Array:
    """Find standing coordinates (nq,).

    Parallel hinges bend the legs. Other joints, and those of legs with springs, are as close as
    possible to where the file draws them. A knee that can bend to both sides bends towards the
    middle of the robot, or forwards if its hip is in the middle.
    """
    # joints that bend no leg
    q, objects, drawn = roots_as_drawn(robot), tree.object_bodies(robot), as_drawn(robot)
    legs = _find_legs(robot, kinematics(robot, SX(q)))
    bending = {body for leg in legs for body in leg[:3]}
    for i, body in enumerate(robot.bodies):
        if i not in bending | objects and body.joint.kind in ("hinge", "slide"):
            q[robot.q_slices[i]] = clamp_to_range(robot, i, float(drawn[robot.q_slices[i].start]))

    # legs bent, each foot below its hip
    kin = kinematics(robot, SX(q))
    middle = (
        np.mean([numeric_position(kin, leg.hip, ORIGIN) for leg in legs], axis=0)
        if legs
        else np.zeros(3)
    )
    length = LEG_LENGTH if len(legs) > 2 else LEG_LENGTH_OF_BIPED
    for leg in legs:
        for i, angle in _bend(kin, leg, middle, length).items():
            q[robot.q_slices[i]] = angle
    return q


def is_balanced(robot: Robot, q: Array) -> bool:
    """Return whether the center of mass at q (nq,) is above the support polygon."""
    from scipy.spatial import ConvexHull, QhullError  # most of a second to import

    kin = kinematics(robot, SX(q))
    low: list[Array] = []
    for sole in find_soles(robot).values():
        points = [lowest_point(kin, point) for point in sole]
        ground = min(point[2] for point in points)
        low += [point[:2] for point in points if point[2] < ground + SUPPORT_HEIGHT]
    center = _center_of_mass(kin)
    if low and robot.mobile and not robot.floating:
        # about its hinges alone
        across = np.cross(base_motion.hinge_axes(robot, q), UP)[:, :2]
        ahead = across @ (np.array(low) - center[:2]).T
        return bool((ahead.min(axis=1) < 0).all() and (ahead.max(axis=1) > 0).all())
    if len(low) < 3:
        return False
    try:
        sides = ConvexHull(np.array(low)).equations
    except (QhullError, ValueError):
        return False  # collinear points
    return bool((sides[:, :2] @ center[:2] + sides[:, 2] < 0).all())


def _center_of_mass(kin: Kinematics) -> Array:
    """Compute the world position (3,) of the robot's center of mass, without objects."""
    objects, bodies = tree.object_bodies(kin.mechanism), kin.mechanism.bodies
    inertias = [(i, body.inertia) for i, body in enumerate(bodies) if i not in objects]
    moments = [inertia.mass * numeric_position(kin, i, inertia.com) for i, inertia in inertias]
    return np.sum(moments, axis=0) / sum(inertia.mass for _, inertia in inertias)


def _find_legs(robot: Robot, kin: Kinematics) -> list[_PlanarLeg]:
    """Find the legs whose hinges are mostly parallel and so bend them in a plane."""
    legs, tilted = [], find_tilted_soles(robot)
    for body, sole in find_soles(robot).items():
        chain = [
            i for i in list_hinges(robot, body) if abs(joint_axis(kin, i)[2]) < VERTICAL_COSINE
        ]
        rows = [
            [k for k in chain if abs(joint_axis(kin, k) @ joint_axis(kin, i)) > PARALLEL_COSINE]
            for i in chain
        ]
        hip, knee, ankle, *_ = [*max(rows, key=len, default=[None]), None, None]
        sprung = any(robot.bodies[i].joint.has_spring for i in chain)
        if hip is not None and knee is not None and not sprung:
            middle = np.mean([point.position for point in sole], axis=0)
            legs.append(_PlanarLeg(hip, knee, ankle, (body, middle), tilted.get(body)))
    return legs


def _bend(kin: Kinematics, leg: _PlanarLeg, middle: Array, part: float) -> dict[int, float]:
    """Compute angles that put the end of a leg below its hip, at a fraction of its length.

    In the plane of the leg a vector is a complex number, whose real part points down. A rotation is
    a multiplication by exp(i angle).
    """
    # the leg's plane: down and ahead
    axis, hip = joint_axis(kin, leg.hip), numeric_position(kin, leg.hip, ORIGIN)
    down = np.array([0.0, 0.0, -1.0]) + axis * axis[2]
    down /= np.linalg.norm(down)
    ahead = np.cross(axis, down)

    # thigh and shank in the plane, and the knee's angle by the law of cosines
    end = (
        numeric_position(kin, *leg.foot)
        if leg.ankle is None
        else numeric_position(kin, leg.ankle, ORIGIN)
    )
    thigh, shank = (
        complex(v @ down, v @ ahead)
        for v in (
            numeric_position(kin, leg.knee, ORIGIN) - hip,
            end - numeric_position(kin, leg.knee, ORIGIN),
        )
    )
    length = part * (abs(thigh) + abs(shank))
    if min(abs(thigh), abs(shank)) < MIN_LINK_LENGTH:
        return {}
    cos = (length**2 - abs(thigh) ** 2 - abs(shank) ** 2) / (2 * abs(thigh) * abs(shank))
    inner = np.arccos(max(cos, -1.0))

    # the side to bend to: first the reachable one, then the preferred one
    offset = ahead @ (middle - hip)
    preferred = offset if abs(offset) > FOOT_TOLERANCE else ahead[0]
    choices = []
    for side in (1.0, -1.0):
        b = _find_angle_in_range(
            kin, leg, leg.knee, np.angle(np.exp(1j * side * inner) * thigh / shank)
        )
        a = _find_angle_in_range(kin, leg, leg.hip, -np.angle(thigh + np.exp(1j * b) * shank))
        knee = np.exp(1j * a) * thigh
        error = abs(knee + np.exp(1j * (a + b)) * shank - length)
        choices.append((error > FOOT_TOLERANCE, knee.imag * preferred < 0, error, a, b))
    *_, a, b = min(choices)

    # the ankle levels the sole
    normal = leg.normal
    tilt = 0.0 if normal is None else float(np.arctan2(normal @ ahead, normal @ down))
    angles = zip(leg[:3], (a, b, -a - b - tilt), strict=True)
    return {
        i: clamp_to_range(kin.mechanism, i, _sign(kin, leg, i) * angle)
        for i, angle in angles
        if i is not None
    }


def _find_angle_in_range(kin: Kinematics, leg: _PlanarLeg, joint: int, angle: float) -> float:
    """Find the closest angle about the hip's axis in the joint's range."""
    sign = _sign(kin, leg, joint)
    return sign * clamp_to_range(kin.mechanism, joint, sign * angle)


def _sign(kin: Kinematics, leg: _PlanarLeg, joint: int) -> float:
    """Return +1 if the joint's axis points in the direction of the hip's, else -1."""
    return float(np.sign(joint_axis(kin, joint) @ joint_axis(kin, leg.hip)))
