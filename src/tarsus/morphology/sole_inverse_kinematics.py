"""Inverse kinematics of a sole, for legs of six or seven hinges.

There is a closed form if the three hip hinges (about z, x, y) intersect in a point, the knee is
about y, and the ankle's hinges (y, x, and z if there are seven) intersect in a point. Let A be the
foot's rotation without that of a seventh joint, and v = A^T (hip - ankle). The length of v gives
the knee's angle (law of cosines), its direction the ankle's angles, and the rest of A the hip's.

Other legs use a Gauss-Newton method with a fixed number of iterations. It is damped near singular
postures, and angles are clipped at the joints' limits. A redundant seventh joint is pulled towards
the standing posture.

Both methods return the error: for a pose out of reach, that of the closest leg found.

References
----------
Nocedal and Wright 2006, section 10.3.
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
INTERSECTION_TOLERANCE = 1e-6  # m, on the distance of axes from their common point
MAX_KNEE_COSINE = 1 - 1e-9
ITERATIONS = 20
DAMPING = 1e-4  # of the Gauss-Newton method, with lengths in units of the leg's length
POSTURE_GAIN = (
    0.5  # share of the distance to the posture that a redundant joint moves per iteration
)
POSE_TOLERANCE = 1e-6  # m and rad; a larger error counts as out of reach
Z, X, Y = np.eye(3)[[2, 0, 1]]


class SoleAngles(NamedTuple):
    """Joint angles (n,), in rad, and the error of the pose, in m (rotation times leg length)."""

    angles: SX
    error: SX


class _Geometry(NamedTuple):
    """Geometry of a leg that has a closed form, at zero joint angles.

    Attributes
    ----------
    signs
        Signs (n,) of its axes.
    hip
        Position (3,) of the hip in the base, in m.
    thigh, shank, foot
        Vectors (3,) from hip to knee, knee to ankle, and ankle to sole, in m.
    turned
        Rotation (3, 3) of the sole frame.
    bend
        Side to which the knee bends, +1 or -1.
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
    """Compute joint angles that put the sole frame at a pose in the base.

    Parameters
    ----------
    leg
        Leg with a sole.
    R, p
        Rotation (3, 3) and position (3,) of the sole frame in the base, in m.
    start
        Initial angles (n,) of the Gauss-Newton method; the standing posture by default. The closed
        form takes the angle of a seventh joint from it.
    iterations
        Number of Gauss-Newton iterations.

    Returns
    -------
    SoleAngles
        Angles and error. The closed form ignores joint limits.
    """
    begin = SX(leg.posture) if start is None else start
    geometry = _closed_form(leg)
    if geometry is not None:
        return _solve_closed_form(geometry, R, p, begin)
    return _gauss_newton(leg, R, p, begin, iterations)


def sole_angles(leg: SoleLeg, R: Array, p: Array) -> Array:
    """Compute numeric joint angles (n,), in rad.

    Raises
    ------
    UnmetCondition
        If the pose is out of reach, or a joint would exceed its limits.
    """
    solution = sole_inverse_kinematics(leg, SX(R), SX(p))
    angles = np.array(ca.evalf(solution.angles)).ravel()
    error = float(ca.evalf(solution.error))
    if error > POSE_TOLERANCE:
        raise UnmetCondition(
            f"the sole of {leg.name!r} cannot reach {np.round(p, 4).tolist()} m in the base frame"
            f" and misses it by {error:.3g} m: choose a closer pose.",
            leg.name,
        )
    for joint, angle, (lower, upper) in zip(leg.joints, angles, leg.limits, strict=True):
        if not lower - POSE_TOLERANCE <= angle <= upper + POSE_TOLERANCE:
            raise UnmetCondition(
                f"the sole of {leg.name!r} reaches {np.round(p, 4).tolist()} m in the base frame"
                f" only with joint {joint!r} at {angle:.3g} rad, outside its range from"
                f" {lower:.3g} to {upper:.3g}.",
                joint,
            )
    return angles


def has_closed_form(leg: SoleLeg) -> bool:
    """Return whether the axes of a leg allow a closed-form solution."""
    return _closed_form(leg) is not None


# ---------------------------------------------------------------- in closed form


def _closed_form(leg: SoleLeg) -> _Geometry | None:
    """Compute the geometry of a leg; None if its axes allow no closed form."""
    # axes and points at zero joint angles
    R, point, axes, points = np.eye(3), np.zeros(3), [], []
    for home, position, axis in zip(leg.rotations, leg.positions, leg.axes, strict=True):
        point = point + R @ position
        R = R @ home
        axes.append(R @ axis)
        points.append(point)
    expected = np.array([Z, X, Y, Y, Y, X, Z][: leg.size])
    signs = np.sign(np.sum(np.array(axes) * expected, axis=1))
    if not np.allclose(np.array(axes) * signs[:, None], expected, atol=1e-9):
        return None
    # three axes intersect in the hip, two or three in the ankle; thigh and shank are coplanar
    hip, knee, ankle = points[2], points[3], points[5]
    thigh, shank = knee - hip, points[4] - knee
    gaps = [points[0][:2] - hip[:2], (points[1] - hip)[1:], points[4] - ankle]
    gaps += [np.array([thigh[1], shank[1]]), (points[-1] - ankle)[:2]]
    if max(np.abs(gap).max() for gap in gaps) > INTERSECTION_TOLERANCE:
        return None
    knee_angle = signs[3] * leg.posture[3] + _polar(shank) - _polar(thigh)
    bend = -1.0 if np.sin(knee_angle) < 0 else 1.0
    foot = point + R @ leg.sole - ankle
    return _Geometry(signs, hip, thigh, shank, foot, R @ leg.level.T, bend)


def _solve_closed_form(leg: _Geometry, R: SX, p: SX, start: SX) -> SoleAngles:
    # the foot without the rotation of a seventh joint; the hip relative to the ankle
    seventh = entries(start)[6:]
    last = about_axis(Z, leg.signs[6] * seventh[0]) if seventh else SX.eye(3)
    A = ca.mtimes([R, constant(leg.turned.T), last.T])
    v = ca.mtimes(A.T, constant(leg.hip) - p) + ca.mtimes(last, constant(leg.foot))

    # the knee by the law of cosines
    thigh, shank = float(np.hypot(*leg.thigh[::2])), float(np.hypot(*leg.shank[::2]))
    square = ca.dot(v, v)
    cos = (square - (thigh**2 + shank**2)) / (2 * thigh * shank)
    inside = ca.fmin(ca.fmax(cos, -MAX_KNEE_COSINE), MAX_KNEE_COSINE)
    knee = _polar(leg.thigh) - _polar(leg.shank) + leg.bend * ca.acos(inside)
    reached = ca.sqrt(thigh**2 + shank**2 + 2 * thigh * shank * inside)

    # the ankle from the direction of the hip
    roll = ca.atan2(v[1], v[2])
    up = ca.sqrt(v[1] * v[1] + v[2] * v[2])
    c, s = ca.cos(knee), ca.sin(knee)
    x, z = leg.thigh[0] * c - leg.thigh[2] * s, leg.thigh[0] * s + leg.thigh[2] * c
    pitch = ca.atan2(-(x + leg.shank[0]), -(z + leg.shank[2])) - ca.atan2(v[0], up)

    # the hip from the remaining rotation
    B = ca.mtimes([A, about_axis(X, -roll), about_axis(Y, -pitch - knee)])
    hip_roll = ca.asin(ca.fmin(ca.fmax(B[2, 1], -1.0), 1.0))
    hip = [ca.atan2(-B[0, 1], B[1, 1]), hip_roll, ca.atan2(-B[2, 0], B[2, 2])]
    angles = constant(leg.signs[:6]) * ca.vertcat(*hip, knee, _wrap(pitch), roll)
    return SoleAngles(ca.vertcat(angles, *seventh), ca.fabs(ca.sqrt(square) - reached))


def _polar(vector: Array) -> float:
    """Compute the angle about y from straight up to a vector (3,), in rad."""
    return float(np.arctan2(vector[0], vector[2]))


def _wrap(angle: SX) -> SX:
    """Wrap an angle in (-2 pi, 2 pi) to (-pi, pi)."""
    full = 2 * float(np.pi)
    return angle - full * (angle > np.pi) + full * (angle < -np.pi)


# ---------------------------------------------------------------- by iterations


def _gauss_newton(leg: SoleLeg, R: SX, p: SX, start: SX, iterations: int) -> SoleAngles:
    lower, upper = leg.limits.T
    angles = start
    for _ in range(iterations):
        step = damped_least_squares(
            sole_jacobian(leg, angles), _error(leg, R, p, angles), leg.length
        )
        free = POSTURE_GAIN * (SX(leg.posture) - angles)
        angles = ca.fmin(ca.fmax(angles + step.of(free), lower), upper)
    return SoleAngles(angles, ca.norm_2(_error(leg, R, p, angles) * _scale(leg)))


def _error(leg: SoleLeg, R: SX, p: SX, angles: SX) -> SX:
    """Compute the error of the pose (6,), in m and rad."""
    rotation, position = sole_pose(leg, angles)
    return ca.vertcat(p - position, rotation_error(R, rotation))


def _scale(leg: SoleLeg) -> SX:
    """Compute factors (6,) that convert the error of a pose to lengths."""
    return SX([1, 1, 1, leg.length, leg.length, leg.length])


def rotation_error(target: SX, actual: SX) -> SX:
    """Compute the rotation vector (3,), in rad, to the target rotation; exact for small angles."""
    crossed = SX.zeros(3)
    for k in range(3):
        crossed += ca.cross(actual[:, k], target[:, k])
    return 0.5 * crossed


class DampedLeastSquares(NamedTuple):
    """Damped least-squares solution for a desired motion of a leg's sole.

    Attributes
    ----------
    jacobian
        Jacobian (6, n) of the sole.
    desired
        Desired motion (6,), in m and rad, or rates.
    unit
        Factors (6,) that scale lengths by the leg's length.
    factor
        Factors of the damped J J^T in these units.
    """

    jacobian: SX
    desired: SX
    unit: SX
    factor: Factor

    def of(self, free: SX) -> SX:
        """Compute the desired joint motion (n,) that is closest to `free` (n,)."""
        residual = self.unit * (self.desired - ca.mtimes(self.jacobian, free))
        x = self.factor.solve(entries(residual))
        return free + ca.mtimes(self.jacobian.T, self.unit * ca.vertcat(*x))


def damped_least_squares(jacobian: SX, desired: SX, length: float) -> DampedLeastSquares:
    """Factorize the least-squares problem of a leg's Jacobian (6, n) and a desired motion (6,)."""
    unit = SX([1 / length] * 3 + [1.0] * 3)
    scaled = ca.mtimes(ca.diag(unit), jacobian)
    K = ca.mtimes(scaled, scaled.T) + DAMPING**2 * SX.eye(6)
    rows = [[K[i, j] for j in range(6)] for i in range(6)]
    return DampedLeastSquares(jacobian, desired, unit, factorize_dense(rows))
