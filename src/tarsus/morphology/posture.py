"""A posture to stand in for a robot whose description names none: knees bent, each foot below its
hip, soles level.
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
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.feet import soles
from tarsus.morphology.legs import hinges_to

Array = NDArray[np.float64]

BENT = 0.8  # of the straight leg's length, from hip to foot
BENT_ON_TWO = 0.95  # the same of a biped: what balances on two soles spares its knees
PARALLEL = 0.99  # |cos| between axes that count as parallel
UPRIGHT = 0.5  # |cos| to the vertical of axes that turn a leg rather than bend it
SHORT = 1e-3  # m: a link that is shorter bends nothing
MARGIN = 0.03  # of a joint's range, kept free at either end
ORIGIN = np.zeros(3)
AS_DRAWN = "qpos0"  # the keyframe with every body where its file draws it
TOUCHING = 0.002  # m: points of a foot up to this above its lowest carry the robot
NEAR = 0.05  # m: feet farther off than this miss their place; hips nearer to the middle are in it


class _PlanarLeg(NamedTuple):
    """What bends a leg in a plane, as bodies: moved by hip, knee and, if any, ankle.

    foot: the last body and the middle of its sole (3,) in it, m
    """

    hip: int
    knee: int
    ankle: int | None
    foot: tuple[int, Array]


def stand(robot: Robot) -> Array:
    """Coordinates (nq,): legs bent by their parallel hinges, other joints as near as they go to
    where the file draws them.

    A knee that may bend to either side bends towards the middle of the robot, or forwards where its
    hip is in it.
    """
    # joints that bend no leg as near as they go to where they are drawn
    q, beside, drawn = _roots_as_drawn(robot), tree.object_bodies(robot), _drawn(robot)
    legs = _legs(robot, kinematics(robot, SX(q)))
    bending = {body for leg in legs for body in leg[:3]}
    for i, body in enumerate(robot.bodies):
        if i not in bending | beside and body.joint.kind in ("hinge", "slide"):
            q[robot.q_slices[i]] = _allowed(robot, i, float(drawn[robot.q_slices[i].start]))

    # legs bent, each foot below its hip
    kin = kinematics(robot, SX(q))
    middle = (
        np.mean([numeric_position(kin, leg.hip, ORIGIN) for leg in legs], axis=0)
        if legs
        else np.zeros(3)
    )
    for leg in legs:
        for i, angle in _bent(kin, leg, middle, BENT if len(legs) > 2 else BENT_ON_TWO).items():
            q[robot.q_slices[i]] = angle
    return q


def nearest_drawn(robot: Robot) -> Array:
    """Coordinates (nq,) as the file draws the robot, at zero where it says nothing, or as near as
    joints' ranges go.
    """
    q, drawn = _roots_as_drawn(robot), _drawn(robot)
    for i, body in enumerate(robot.bodies):
        if body.joint.kind in ("hinge", "slide"):
            q[robot.q_slices[i]] = _allowed(robot, i, float(drawn[robot.q_slices[i].start]))
    return q


def _drawn(robot: Robot) -> Array:
    """Coordinates (nq,) as the file draws the robot, all joints at zero where it says nothing."""
    return np.asarray(robot.keyframes.get(AS_DRAWN, robot.neutral()))


def _roots_as_drawn(robot: Robot) -> Array:
    """Coordinates (nq,) with all joints at zero, what is free where the file draws it."""
    q, drawn = robot.neutral(), _drawn(robot)
    for i, body in enumerate(robot.bodies):
        if body.joint.kind == "free" or i in tree.object_bodies(robot):
            q[robot.q_slices[i]] = drawn[robot.q_slices[i]]
    return q


def balanced(robot: Robot, q: Array) -> bool:
    """Whether the center of mass at q (nq,) is above the hull of each foot's lowest points."""
    from scipy.spatial import ConvexHull, QhullError  # most of a second to import

    kin = kinematics(robot, SX(q))
    low: list[Array] = []
    for sole in soles(robot).values():
        points = [lowest_point(kin, point) for point in sole]
        ground = min(point[2] for point in points)
        low += [point[:2] for point in points if point[2] < ground + TOUCHING]
    if len(low) < 3:
        return False
    center = _center_of_mass(kin)
    try:
        sides = ConvexHull(np.array(low)).equations
    except (QhullError, ValueError):
        return False  # points on a line
    return bool((sides[:, :2] @ center[:2] + sides[:, 2] < 0).all())


def _center_of_mass(kin: Kinematics) -> Array:
    """World position (3,) of the robot's, without free objects beside it."""
    beside, bodies = tree.object_bodies(kin.mechanism), kin.mechanism.bodies
    own = [(i, body.inertia) for i, body in enumerate(bodies) if i not in beside]
    moments = [inertia.mass * numeric_position(kin, i, inertia.com) for i, inertia in own]
    return np.sum(moments, axis=0) / sum(inertia.mass for _, inertia in own)


def _legs(robot: Robot, kin: Kinematics) -> list[_PlanarLeg]:
    """The legs, at zero joint angles, that have parallel hinges: most of a leg's hinges bend it in
    its plane.
    """
    legs = []
    for body, sole in soles(robot).items():
        chain = [i for i in hinges_to(robot, body) if abs(joint_axis(kin, i)[2]) < UPRIGHT]
        rows = [
            [k for k in chain if abs(joint_axis(kin, k) @ joint_axis(kin, i)) > PARALLEL]
            for i in chain
        ]
        hip, knee, ankle, *_ = [*max(rows, key=len, default=[None]), None, None]
        if hip is not None and knee is not None:
            middle = np.mean([point.position for point in sole], axis=0)
            legs.append(_PlanarLeg(hip, knee, ankle, (body, middle)))
    return legs


def _bent(kin: Kinematics, leg: _PlanarLeg, middle: Array, part: float) -> dict[int, float]:
    """Angles of hip, knee and ankle that put the leg's end below its hip, at a part of the straight
    leg's length.

    Seen along the hip's axis a vector is a complex number, down its real part; turning is
    multiplying by exp(i angle).
    """
    # the leg's plane: down and ahead
    axis, hip = joint_axis(kin, leg.hip), numeric_position(kin, leg.hip, ORIGIN)
    down = np.array([0.0, 0.0, -1.0]) + axis * axis[2]
    down /= np.linalg.norm(down)
    ahead = np.cross(axis, down)

    # thigh and shank in it, and the knee's angle by the law of cosines
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
    long = part * (abs(thigh) + abs(shank))
    if min(abs(thigh), abs(shank)) < SHORT:
        return {}
    cos = (long**2 - abs(thigh) ** 2 - abs(shank) ** 2) / (2 * abs(thigh) * abs(shank))
    inner = np.arccos(max(cos, -1.0))

    # the side to bend to: that which reaches, then the one wanted
    aside = ahead @ (middle - hip)
    wanted = aside if abs(aside) > NEAR else ahead[0]
    choices = []
    for side in (1.0, -1.0):
        b = _angle_in_range(kin, leg, leg.knee, np.angle(np.exp(1j * side * inner) * thigh / shank))
        a = _angle_in_range(kin, leg, leg.hip, -np.angle(thigh + np.exp(1j * b) * shank))
        knee = np.exp(1j * a) * thigh
        missed = abs(knee + np.exp(1j * (a + b)) * shank - long)
        choices.append((missed > NEAR, knee.imag * wanted < 0, a, b))
    _, _, a, b = min(choices)

    # the ankle keeps the sole level
    turned = zip(leg[:3], (a, b, -a - b), strict=True)
    return {
        i: _allowed(kin.mechanism, i, _sign(kin, leg, i) * angle)
        for i, angle in turned
        if i is not None
    }


def _angle_in_range(kin: Kinematics, leg: _PlanarLeg, joint: int, angle: float) -> float:
    """The nearest angle about the hip's axis that the joint's range has."""
    sign = _sign(kin, leg, joint)
    return sign * _allowed(kin.mechanism, joint, sign * angle)


def _allowed(robot: Mechanism, body: int, angle: float) -> float:
    """The nearest coordinate to `angle` within the joint's range, a margin off its ends."""
    joint = robot.bodies[body].joint
    free = MARGIN * (joint.upper - joint.lower) if np.isfinite(joint.upper - joint.lower) else 0.0
    inside = 0.0 if joint.lower <= angle <= joint.upper else free
    return float(np.clip(angle, joint.lower + inside, joint.upper - inside))


def _sign(kin: Kinematics, leg: _PlanarLeg, joint: int) -> float:
    """+1 where the joint's axis points as the hip's does, else -1."""
    return float(np.sign(joint_axis(kin, joint) @ joint_axis(kin, leg.hip)))
