"""Displacement of coordinates as expressions: what `dynamics.integrate` computes in NumPy.

Rotations are exact. Their Taylor series near zero keep all derivatives finite, which Newton methods
need where a body does not turn.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.model.mechanism import Mechanism
from tarsus.spatial.quaternion import conjugate, product
from tarsus.spatial.rotation import normalize

SMALL = 1e-4  # squared sine or tangent of half an angle, below which the series are exact


def integrate(mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
    """Move coordinates with a constant velocity.

    Parameters
    ----------
    mechanism
        Mechanism to which the coordinates belong.
    q
        Coordinates at the start, shape (nq,).
    u
        Velocities, shape (nu,).
    dt
        Duration in s.

    Returns
    -------
    SX
        Coordinates at the end, shape (nq,).
    """
    parts = []
    for body, in_q, in_u in zip(
        mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True
    ):
        start, change = q[in_q], u[in_u] * dt
        if body.joint.kind == "free":
            parts += [start[:3] + change[:3], _rotate(start[3:], change[3:])]
        elif body.joint.kind == "ball":
            parts.append(_rotate(start, change))
        else:
            parts.append(start + change)
    return ca.vertcat(*parts)


def difference(mechanism: Mechanism, q: SX, start: SX) -> SX:
    """Compute the constant velocity (nu,) that moves `start` to `q`, both (nq,), in one second."""
    parts = []
    for body, in_q in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        a, b = start[in_q], q[in_q]
        if body.joint.kind == "free":
            parts += [b[:3] - a[:3], _rotation_vector(a[3:], b[3:])]
        elif body.joint.kind == "ball":
            parts.append(_rotation_vector(a, b))
        else:
            parts.append(b - a)
    return ca.vertcat(*parts)


def _rotate(p: SX, by: SX) -> SX:
    """Rotate the quaternion p (4,) by a rotation vector (3,), body frame, rad."""
    square = ca.dot(by, by) / 4  # of half the angle
    half = ca.sqrt(ca.fmax(square, SMALL))
    cosine = ca.if_else(
        square < SMALL, _series(square, (1, -1 / 2, 1 / 24, -1 / 720)), ca.cos(half)
    )
    sinc = ca.if_else(
        square < SMALL, _series(square, (1, -1 / 6, 1 / 120, -1 / 5040)), ca.sin(half) / half
    )
    return normalize(product(p, ca.vertcat(cosine, 0.5 * sinc * by)))


def _rotation_vector(start: SX, end: SX) -> SX:
    """Compute the rotation vector (3,), body frame, from one unit quaternion to another."""
    p = product(conjugate(start), end)
    p = p * ca.if_else(p[0] < 0, -1, 1)
    square = ca.dot(p[1:], p[1:])
    sine = ca.sqrt(ca.fmax(square, SMALL * p[0] ** 2))
    is_small = square < SMALL * p[0] ** 2
    cosine = ca.if_else(is_small, p[0], 1)
    # atan2(sine, cosine) / sine
    series = _series(square / cosine**2, (1, -1 / 3, 1 / 5, -1 / 7)) / cosine
    return 2 * p[1:] * ca.if_else(is_small, series, ca.atan2(sine, p[0]) / sine)


def _series(x: SX, coefficients: tuple[float, ...]) -> SX:
    """Compute a polynomial of x by Horner's rule, lowest order first."""
    total = SX(0)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total
