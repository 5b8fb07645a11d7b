"""Rotation matrices and unit quaternions (w, x, y, z) as CasADi expressions.

A rotation matrix R of a body maps its own coordinates to its parent's: x_parent = R x_body.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

ROUND_OFF = 1e-14


def constant(matrix: NDArray[np.float64]) -> SX:
    """Convert a numeric matrix to SX, without round-off near 0 and +-1, so that products fold."""
    clean = np.array(matrix, dtype=float)
    nearest = np.round(clean)
    is_near = np.abs(clean - nearest) < ROUND_OFF
    clean[is_near] = nearest[is_near]
    return SX(clean)


def skew(a: SX) -> SX:
    """Build the matrix [a]x with [a]x b = a x b."""
    zero = SX(0)
    return ca.vertcat(
        ca.horzcat(zero, -a[2], a[1]), ca.horzcat(a[2], zero, -a[0]), ca.horzcat(-a[1], a[0], zero)
    )


def about_axis(axis: NDArray[np.float64], angle: SX) -> SX:
    """Compute the rotation by `angle` (rad) about a constant unit axis."""
    a = constant(axis)
    outer = ca.mtimes(a, a.T)
    return outer + ca.cos(angle) * (SX.eye(3) - outer) + ca.sin(angle) * skew(a)


def from_quaternion(p: SX) -> SX:
    """Compute the rotation matrix of a unit quaternion (w, x, y, z) (Gehring 2014, Eqn. (21))."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    x2, y2, z2 = 2 * x, 2 * y, 2 * z
    wx, wy, wz = w * x2, w * y2, w * z2
    xx, xy, xz = x * x2, x * y2, x * z2
    yy, yz, zz = y * y2, y * z2, z * z2
    return ca.vertcat(
        ca.horzcat(1 - (yy + zz), xy - wz, xz + wy),
        ca.horzcat(xy + wz, 1 - (xx + zz), yz - wx),
        ca.horzcat(xz - wy, yz + wx, 1 - (xx + yy)),
    )


def quaternion_rate(p: SX, omega: SX) -> SX:
    """Compute p' = 1/2 H(p)^T omega for omega in body axes (Gehring 2014, Eqn. (22))."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    return 0.5 * ca.vertcat(
        -x * omega[0] - y * omega[1] - z * omega[2],
        w * omega[0] - z * omega[1] + y * omega[2],
        z * omega[0] + w * omega[1] - x * omega[2],
        -y * omega[0] + x * omega[1] + w * omega[2],
    )


def stretch(omega: SX, dt: SX) -> SX:
    """Stretch an angular velocity (3,) so that a normalized Euler step rotates exactly.

    omega is scaled by tan(a) / a with a = |omega| dt / 2. normalize(p + dt p') then turns by 2 a,
    up to an error of order a^7.
    """
    square = ca.dot(omega, omega) * (dt * dt / 4)
    return omega * (1 + square * (1 / 3 + square * (2 / 15)))


def normalize(p: SX) -> SX:
    """Compute p / |p|."""
    return p * (1 / ca.sqrt(ca.dot(p, p)))
