"""Three-joint legs found in a mechanism, and their inverse kinematics in closed form.

A leg is a chain abad (about x) - hip (about y) - knee (about y) from the base to a foot, whatever
the signs of the axes, the offsets between the joints and the side the knee bends to. All vectors
are in the base's axes at zero joint angles; the *hip frame* has them too, its origin at the abad
joint.

With o, t, s the vectors abad-hip, hip-knee, knee-foot, the foot in the hip frame is
p = Rx(theta_0) (o + Ry(theta_1) (t + Ry(theta_2) s)), theta_i = sign_i q_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics import tree
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.morphology.feet import candidates_of_last_bodies

Array = NDArray[np.float64]

STRAIGHT = 0.9995  # |cos| of the knee angle is kept below: a straight knee has no finite rate
SHORTEST = 1e-6  # m^2, square of the shortest leg plane radius


@dataclass(frozen=True, eq=False)
class Leg:
    """One leg; vectors (3,) in m, base axes.

    name: of its foot
    joints: names of abad, hip, knee
    signs: (3,) of their axes
    hip: abad joint in the base
    abad, thigh, shank: the vectors abad-hip, hip-knee, knee-foot
    radius: of the foot, m
    posture: (3,) joint angles standing, rad
    bend: +1 or -1, the side the knee bends to (sign of the shank's angle against the thigh's, about
        +y)
    """

    name: str
    joints: tuple[str, str, str]
    signs: Array
    hip: Array
    abad: Array
    thigh: Array
    shank: Array
    radius: float
    posture: Array
    bend: int

    @property
    def lateral(self) -> float:
        """Distance of the foot from the abad axis along +y with the abad joint at zero, m."""
        return float(self.abad[1] + self.thigh[1] + self.shank[1])

    @property
    def lengths(self) -> tuple[float, float]:
        """Lengths of thigh and shank in the leg's plane, m."""
        return float(np.hypot(*self.thigh[::2])), float(np.hypot(*self.shank[::2]))

    @property
    def rest_angles(self) -> tuple[float, float]:
        """Angles of thigh and shank against straight down, about +y, at zero joint angles, rad."""
        return _down_angle(self.thigh), _down_angle(self.shank)

    @property
    def standing_foot(self) -> Array:
        """The foot (3,) in the hip frame in the standing posture, m."""
        return foot_in_hip_frame(self, self.posture)


class LegPoint(NamedTuple):
    """A foot as its leg reaches it, or the rates of these.

    across: angle of the leg's plane about the base's x axis, rad
    along, up: the foot against the hip joint in that plane, forwards and away from the ground, m
    """

    across: ca.SX
    along: ca.SX
    up: ca.SX


def find_legs(mechanism: Mechanism) -> tuple[Leg, ...]:
    """A leg for every hinged last body that has a contact candidate, the farthest one its foot.

    TarsusError if one is of another kind.
    """
    feet = [
        max((mechanism.candidates[k] for k in touching), key=_reach)
        for body, touching in candidates_of_last_bodies(mechanism).items()
        if mechanism.bodies[body].joint.kind == "hinge"
    ]
    if not feet:
        raise TarsusError(f"{mechanism.name!r} has no legs: no last body has a contact candidate.")
    return tuple(_leg(mechanism, foot) for foot in feet)


def hinges_to(mechanism: Mechanism, body: int) -> list[int]:
    """The hinged bodies on the way from the base to a body, the first one next to the base."""
    path = reversed(tree.path(mechanism, body))
    return [i for i in path if mechanism.bodies[i].joint.kind == "hinge"]


def diagonals(legs: tuple[Leg, ...]) -> tuple[int, ...]:
    """The diagonal of each leg: 0 for front left and hind right, 1 for the others."""
    if len(legs) != 4:
        raise TarsusError(f"a gait of diagonals needs four legs, this robot has {len(legs)}.")
    middle = np.mean([leg.hip for leg in legs], axis=0)
    signs = [np.sign(leg.hip - middle) for leg in legs]
    return tuple(0 if x * y > 0 else 1 for x, y, _ in signs)


def foot_in_hip_frame(leg: Leg, angles: Array) -> Array:
    """Forward kinematics: the foot (3,) m in the hip frame at joint angles (3,) rad."""
    abad, hip, knee = leg.signs * angles
    return _about_x(abad) @ (leg.abad + _about_y(hip) @ (leg.thigh + _about_y(knee) @ leg.shank))


def foot_jacobian(leg: Leg, angles: Array) -> Array:
    """Derivative (3, 3) of `foot_in_hip_frame` by the joint angles, m/rad."""
    abad, hip, knee = leg.signs * angles
    plane = _about_x(abad)
    shank = _about_y(hip) @ _about_y(knee) @ leg.shank
    lower = _about_y(hip) @ leg.thigh + shank
    x, y = np.eye(3)[:2]
    columns = (
        np.cross(x, plane @ (leg.abad + lower)),
        plane @ np.cross(y, lower),
        plane @ np.cross(y, shank),
    )
    return np.array(columns).T * leg.signs


def displaced(leg: Leg, standing: Array, moved: ca.SX, moving: ca.SX) -> tuple[LegPoint, LegPoint]:
    """Where a foot is, and how fast it goes, when moved by (3,) m and moving with (3,) m/s from
    where it stands.

    standing: the foot (3,) in the hip frame, m.

    The leg's plane is swung by an angle proportional to `moved` sideways, and the foot is put in it
    at the height asked for, to second order: on Mini Cheetah a foot 5 cm aside stands 2 mm off and
    0.2 mm high, one lifted is less far aside. That saves an arc tangent, a root and two divisions a
    leg.
    """
    side, (x, y, z) = leg.lateral, standing
    down = -np.sqrt(max(y * y + z * z - side * side, SHORTEST))
    # rounded: an exact 0 makes products fold
    tilt = round(float(np.arctan2(z * side - y * down, y * side + z * down)), 12)
    cos, slope = float(np.cos(tilt)), float(np.tan(tilt))
    angle, turning = moved[1] * float(-cos / down), moving[1] * float(-cos / down)

    # the height z = side sin(a) + up cos(a), solved for `up` and expanded about a = tilt
    up = z / cos - side * slope + moved[2] * (1 / cos)
    first = up * slope - side
    bent = angle * (up * (1 + slope * slope) + first * slope)
    return (
        LegPoint(
            tilt + angle,
            x - leg.abad[0] + moved[0],
            up - leg.abad[2] + angle * (first + 0.5 * bent),
        ),
        LegPoint(turning, moving[0], moving[2] * (1 / cos) + turning * (first + bent)),
    )


def leg_inverse_kinematics(leg: Leg, foot: LegPoint, rate: LegPoint) -> tuple[ca.SX, ca.SX]:
    """Joint angles (3,) rad that put the foot at a point, and their rates (3,) rad/s while the
    point moves.

    A point out of reach gives the (almost) straight or folded leg in its direction. The rates are
    solved from the geometry: an arc tangent, an arc cosine, a root and a division are all that a
    leg costs.
    """
    # the leg's constants
    _, along, up = foot
    thigh, shank = leg.lengths
    thigh_rest, shank_rest = leg.rest_angles
    abad_sign, hip_sign, knee_sign = leg.signs
    product = thigh * shank

    # the knee by the law of cosines from the squared distance hip-foot
    square = ca.fmax(along * along + up * up, SHORTEST)
    cos = square * (0.5 / product) - 0.5 * (thigh / shank + shank / thigh)
    cos = ca.fmin(ca.fmax(cos, -STRAIGHT), STRAIGHT)
    sin = leg.bend * ca.sqrt(1 - cos * cos)

    # the hip by the direction of the foot
    beyond = thigh / shank + cos
    back, down = along * beyond - up * sin, -(up * beyond) - along * sin
    hip = ca.atan2(-hip_sign * back, down) - hip_sign * thigh_rest
    knee = leg.bend * ca.acos(cos) - (shank_rest - thigh_rest)

    # rates of knee and hip
    inverse = (1 / product) / (sin * square)
    knee_rate = -(along * rate.along + up * rate.up) * (square * inverse)
    turning = up * rate.along - along * rate.up - knee_rate * (shank * shank + product * cos)
    hip_rate = turning * (product * sin * inverse)
    return (
        ca.vertcat(abad_sign * foot.across, hip, knee_sign * knee),
        ca.vertcat(abad_sign * rate.across, hip_sign * hip_rate, knee_sign * knee_rate),
    )


def _leg(mechanism: Mechanism, foot: Candidate) -> Leg:
    """The leg that ends in a foot; TarsusError if its hinges are not abad, hip and knee."""
    # axes of the hinges, places of the hinges and of the foot, at zero joint angles
    chain = _unbroken(mechanism, hinges_to(mechanism, foot.body))
    axes, points, turn = [], [], np.eye(3)
    for body in (mechanism.bodies[i] for i in chain):
        points.append(turn @ body.position)
        turn = turn @ body.rotation
        axes.append(turn @ body.joint.axis)
    points.append(turn @ foot.position)

    # about x, y and y
    wanted = np.eye(3)[[0, 1, 1]]
    if len(chain) != 3 or not np.allclose(np.abs(axes), wanted, atol=1e-6):
        listed = ", ".join(np.array2string(axis, precision=3) for axis in axes)
        raise TarsusError(
            f"the leg to {foot.name!r} of {mechanism.name!r} must have three hinges from the base, "
            f"about x, y and y (abad, hip, knee), but its axes are {listed}."
        )

    # the standing posture says to which side the knee bends
    signs = np.sign(np.sum(axes, axis=1))
    first, second, third = (mechanism.bodies[i].joint.name for i in chain)
    posture = _posture(mechanism, chain)
    return Leg(
        name=foot.name,
        joints=(first, second, third),
        signs=signs,
        hip=points[0],
        abad=points[1],
        thigh=points[2],
        shank=points[3],
        radius=foot.radius,
        posture=posture,
        bend=_bend(
            foot.name, signs[2] * posture[2] + _down_angle(points[3]) - _down_angle(points[2])
        ),
    )


def _unbroken(mechanism: Mechanism, hinges: list[int]) -> list[int]:
    """Those of the hinges that follow the last joint of another kind."""
    parents = [mechanism.bodies[body].parent for body in hinges]
    breaks = [k for k in range(1, len(hinges)) if parents[k] != hinges[k - 1]]
    return hinges[max(breaks, default=0) :]


def _posture(mechanism: Mechanism, chain: list[int]) -> Array:
    """Standing angles: the keyframe "stand", else the middle of each joint's range."""
    if "stand" in mechanism.keyframes:
        stand = mechanism.keyframes["stand"]
        return np.array([stand[mechanism.q_slices[i].start] for i in chain], dtype=float)
    ranges = np.array(
        [(mechanism.bodies[i].joint.lower, mechanism.bodies[i].joint.upper) for i in chain]
    )
    return np.where(np.isfinite(ranges).all(axis=1), np.nan_to_num(ranges).mean(axis=1), 0.0)


def _bend(name: str, angle: float) -> int:
    angle = (angle + np.pi) % (2 * np.pi) - np.pi
    if abs(angle) < 1e-3:
        raise TarsusError(
            f"the knee of the leg to {name!r} is straight, so the side it bends to is unknown; "
            'give the robot a keyframe "stand" with bent knees.'
        )
    return 1 if angle > 0 else -1


def _reach(candidate: Candidate) -> float:
    return float(np.linalg.norm(candidate.position)) + candidate.radius


def _down_angle(vector: Array) -> float:
    """Angle about +y that turns straight down into the vector's direction in the x-z plane, rad."""
    return float(np.arctan2(-vector[0], -vector[2]))


def _about_x(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def _about_y(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
