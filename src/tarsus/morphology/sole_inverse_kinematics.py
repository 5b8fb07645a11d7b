"""Joint angles that put a sole where it should be, for legs of six or seven hinges.

In closed form where three hip hinges (about z, x, y) meet in a point, knee and ankle turn about y,
and the ankle's hinges (y, x, and z if there are seven) meet in another: with A the foot's rotation
without a seventh joint's, v = A^T (hip - ankle) has the length that the knee must give (law of
cosines), its direction gives the ankle's angles, and what is left of A are the hip's.

Else by a Gauss-Newton method (Nocedal and Wright 2006, section 10.3) with a fixed number of
iterations, damped near singular postures, angles cut off at the joints' limits; what a seventh
joint leaves free is pulled towards the standing posture.

Both say how far the pose is missed: a pose out of reach gives the nearest leg that is found.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.algebra.ldl import Factor, factorize_dense
from tarsus.errors import UnmetCondition
from tarsus.morphology.sole_leg import SoleLeg, sole_jacobian, sole_pose
from tarsus.program.ir.symbolic import entries
from tarsus.spatial.rotation import about_axis, constant

Array = NDArray[np.float64]
MEET = 1e-6  # m: axes that pass nearer to a point than this meet in it
STRAIGHT = 1 - 1e-9  # |cos| of the knee's inner angle is kept below
ITERATIONS = 20
DAMPING = 1e-4  # [1]: of the Gauss-Newton method, against lengths in units of the leg's
PULL = 0.5  # part of the way to the posture that a free joint is pulled in an iteration
REACHED = 1e-6  # m and rad: a pose that is missed by more counts as out of reach
Z, X, Y = np.eye(3)[[2, 0, 1]]


class SoleAngles(NamedTuple):
    """Joint angles (n,), rad, and by how much they miss the pose, m (rotation times leg length)."""

    angles: SX
    missed: SX


class _Hinged(NamedTuple):
    """A leg that has a closed form.

    signs: (n,) of its axes
    hip: (3,) in the base; thigh, shank: (3,) hip-knee and knee-ankle; foot: (3,) ankle-sole
    turned: (3, 3) the sole's frame, all at zero joint angles
    bend: +1 or -1, the side the knee bends to
    """

    signs: Array
    hip: Array
    thigh: Array
    shank: Array
    foot: Array
    turned: Array
    bend: float


def sole_inverse_kinematics(
    leg: SoleLeg, R: SX, p: SX, start: SX | None = None, iterations: int = ITERATIONS
) -> SoleAngles:
    """Angles for the sole's frame at rotation R (3, 3) and place p (3,), m, in the base.

    start: (n,) angles that the Gauss-Newton method starts from, by default the posture; of a leg
    with a closed form, a seventh joint's angle is taken from it. The closed form does not look at
    joint limits.
    """
    begin = SX(leg.posture) if start is None else start
    hinged = _closed_form(leg)
    if hinged is not None:
        return _solved(hinged, R, p, begin)
    return _gauss_newton(leg, R, p, begin, iterations)


def sole_angles(leg: SoleLeg, R: Array, p: Array) -> Array:
    """Return the same in numbers (n,); UnmetCondition for a pose out of reach or beyond a limit."""
    found = sole_inverse_kinematics(leg, SX(R), SX(p))
    angles = np.array(ca.evalf(found.angles)).ravel()
    missed = float(ca.evalf(found.missed))
    if missed > REACHED:
        raise UnmetCondition(
            f"the sole of {leg.name!r} cannot reach {np.round(p, 4).tolist()} m in the base frame"
            f" and misses it by {missed:.3g} m: choose a nearer pose.",
            leg.name,
        )
    for joint, angle, (lower, upper) in zip(leg.joints, angles, leg.limits, strict=True):
        if not lower - REACHED <= angle <= upper + REACHED:
            raise UnmetCondition(
                f"the sole of {leg.name!r} reaches {np.round(p, 4).tolist()} m in the base frame"
                f" only with joint {joint!r} at {angle:.3g} rad, outside its range from"
                f" {lower:.3g} to {upper:.3g}.",
                joint,
            )
    return angles


def has_closed_form(leg: SoleLeg) -> bool:
    """Whether its axes allow a solution without iterations."""
    return _closed_form(leg) is not None


# ---------------------------------------------------------------- in closed form


def _closed_form(leg: SoleLeg) -> _Hinged | None:
    """The leg's constants; None where its axes are others."""
    # axes and points at zero joint angles
    turn, point, axes, points = np.eye(3), np.zeros(3), [], []
    for home, place, axis in zip(leg.rotations, leg.positions, leg.axes, strict=True):
        point = point + turn @ place
        turn = turn @ home
        axes.append(turn @ axis)
        points.append(point)
    wanted = np.array([Z, X, Y, Y, Y, X, Z][: leg.size])
    signs = np.sign(np.sum(np.array(axes) * wanted, axis=1))
    if not np.allclose(np.array(axes) * signs[:, None], wanted, atol=1e-9):
        return None
    # three meet in the hip, two or three in the ankle, and thigh and shank lie in a plane
    hip, knee, ankle = points[2], points[3], points[5]
    thigh, shank = knee - hip, points[4] - knee
    apart = [points[0][:2] - hip[:2], (points[1] - hip)[1:], points[4] - ankle]
    apart += [np.array([thigh[1], shank[1]]), (points[-1] - ankle)[:2]]
    if max(np.abs(gap).max() for gap in apart) > MEET:
        return None
    knee_angle = signs[3] * leg.posture[3] + _polar(shank) - _polar(thigh)
    bend = -1.0 if np.sin(knee_angle) < 0 else 1.0
    foot = point + turn @ leg.sole - ankle
    return _Hinged(signs, hip, thigh, shank, foot, turn @ leg.level.T, bend)


def _solved(leg: _Hinged, R: SX, p: SX, start: SX) -> SoleAngles:
    """The closed form."""
    # the foot without what a seventh joint turns it by; the hip seen from the ankle
    seventh = entries(start)[6:]
    last = about_axis(Z, leg.signs[6] * seventh[0]) if seventh else SX.eye(3)
    A = ca.mtimes([R, constant(leg.turned.T), last.T])
    v = ca.mtimes(A.T, constant(leg.hip) - p) + ca.mtimes(last, constant(leg.foot))

    # the knee by the law of cosines
    thigh, shank = float(np.hypot(*leg.thigh[::2])), float(np.hypot(*leg.shank[::2]))
    square = ca.dot(v, v)
    cos = (square - (thigh**2 + shank**2)) / (2 * thigh * shank)
    inside = ca.fmin(ca.fmax(cos, -STRAIGHT), STRAIGHT)
    knee = _polar(leg.thigh) - _polar(leg.shank) + leg.bend * ca.acos(inside)
    reached = ca.sqrt(thigh**2 + shank**2 + 2 * thigh * shank * inside)

    # the ankle by the hip's direction
    roll = ca.atan2(v[1], v[2])
    up = ca.sqrt(v[1] * v[1] + v[2] * v[2])
    c, s = ca.cos(knee), ca.sin(knee)
    x, z = leg.thigh[0] * c - leg.thigh[2] * s, leg.thigh[0] * s + leg.thigh[2] * c
    pitch = ca.atan2(-(x + leg.shank[0]), -(z + leg.shank[2])) - ca.atan2(v[0], up)

    # the hip by what is left of the rotation
    B = ca.mtimes([A, about_axis(X, -roll), about_axis(Y, -pitch - knee)])
    hip_roll = ca.asin(ca.fmin(ca.fmax(B[2, 1], -1.0), 1.0))
    hip = [ca.atan2(-B[0, 1], B[1, 1]), hip_roll, ca.atan2(-B[2, 0], B[2, 2])]
    angles = constant(leg.signs[:6]) * ca.vertcat(*hip, knee, _turned(pitch), roll)
    return SoleAngles(ca.vertcat(angles, *seventh), ca.fabs(ca.sqrt(square) - reached))


def _polar(vector: Array) -> float:
    """Angle about y from straight up to a vector (3,), rad."""
    return float(np.arctan2(vector[0], vector[2]))


def _turned(angle: SX) -> SX:
    """An angle between -2 pi and 2 pi as one between -pi and pi."""
    full = 2 * float(np.pi)
    return angle - full * (angle > np.pi) + full * (angle < -np.pi)


# ---------------------------------------------------------------- by iterations


def _gauss_newton(leg: SoleLeg, R: SX, p: SX, start: SX, iterations: int) -> SoleAngles:
    """The iterations, one after the other."""
    lower, upper = leg.limits.T
    angles = start
    for _ in range(iterations):
        step = towards(sole_jacobian(leg, angles), _error(leg, R, p, angles), leg.length)
        free = PULL * (SX(leg.posture) - angles)
        angles = ca.fmin(ca.fmax(angles + step.of(free), lower), upper)
    return SoleAngles(angles, ca.norm_2(_error(leg, R, p, angles) * _scale(leg)))


def _error(leg: SoleLeg, R: SX, p: SX, angles: SX) -> SX:
    """What is missing to the pose (6,): m, rad."""
    turned, place = sole_pose(leg, angles)
    return ca.vertcat(p - place, rotation_error(R, turned))


def _scale(leg: SoleLeg) -> SX:
    """Factors (6,) that make lengths of a pose's error."""
    return SX([1, 1, 1, leg.length, leg.length, leg.length])


def rotation_error(wanted: SX, actual: SX) -> SX:
    """The turn (3,), rad, from one rotation (3, 3) to the wanted one, exact for small angles."""
    crossed = SX.zeros(3)
    for k in range(3):
        crossed += ca.cross(actual[:, k], wanted[:, k])
    return 0.5 * crossed


class Towards(NamedTuple):
    """The damped least-squares answer of a leg to a wanted motion of its sole.

    jacobian: (6, n)
    wanted: (6,) m and rad, or rates of these
    unit: (6,) factors that measure lengths in leg lengths
    factor: of J J^T, damped, in these units
    """

    jacobian: SX
    wanted: SX
    unit: SX
    factor: Factor

    def of(self, free: SX) -> SX:
        """Joint motion (n,) that gives the wanted one and else follows `free` (n,)."""
        left = self.unit * (self.wanted - ca.mtimes(self.jacobian, free))
        x = self.factor.solve(entries(left))
        return free + ca.mtimes(self.jacobian.T, self.unit * ca.vertcat(*x))


def towards(jacobian: SX, wanted: SX, length: float) -> Towards:
    """Factored once, for a leg's Jacobian (6, n) and the sole's wanted motion (6,)."""
    unit = SX([1 / length] * 3 + [1.0] * 3)
    scaled = ca.mtimes(ca.diag(unit), jacobian)
    K = ca.mtimes(scaled, scaled.T) + DAMPING**2 * SX.eye(6)
    rows = [[K[i, j] for j in range(6)] for i in range(6)]
    return Towards(jacobian, wanted, unit, factorize_dense(rows))
