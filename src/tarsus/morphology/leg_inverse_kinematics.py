"""Inverse kinematics of a three-joint leg in closed form; see `legs` for its geometry."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.morphology.legs import Leg

Array = NDArray[np.float64]

STRAIGHT = 0.9995  # |cos| of the knee angle is kept below: a straight knee has no finite rate
SHORTEST = 1e-6  # m^2, square of the shortest leg plane radius


class LegPoint(NamedTuple):
    """A foot as its leg reaches it, or the rates of these.

    across: angle of the leg's plane about the base's x axis, rad
    along, up: the foot against the hip joint in that plane, forwards and away from the ground, m
    """

    across: ca.SX
    along: ca.SX
    up: ca.SX


def displaced_foot(
    leg: Leg, standing: Array, moved: ca.SX, moving: ca.SX
) -> tuple[LegPoint, LegPoint]:
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
    """Joint angles (3,), rad, that put the foot at a point, and their rates (3,) while it moves.

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
