"""Springs of hinges, slides and balls: stiffness K, force and energy (a linear spring's, Hooke's
law).

A ball's spring pulls back along its rotation vector phi, in the body's axes, which turning about
itself does not change: the moment -K phi has the energy 1/2 K |phi|^2, for phi . omega is half the
rate of |phi|^2. It rests where the ball is at zero, and gives way beyond half a turn.

Over a step that ends with the velocity u1 the mean of the coordinates at its start and its end is
q + dt/4 (u1 - u) if the step is seen at its midpoint q: so much of the spring acts at the end. It
then works against a step as an inertia dt^2/4 K would, is stable however stiff it is, and gives
back what it took: the midpoint rule of a linear oscillator (Hairer 2006).
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Mechanism

MEAN = 0.25  # of dt^2 K: what acts on the change of velocity
TURNED = 1e-24  # [1]: the square of half an angle, below which its sine is the angle


def has_springs(mechanism: Mechanism) -> bool:
    """Whether a joint has a spring."""
    return any(body.joint.stiffness for body in mechanism.bodies)


def stiffness(mechanism: Mechanism) -> SX:
    """K (nu,), N m/rad or N/m, zero where there is no spring."""
    K = SX.zeros(mechanism.nu)
    for body, at in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        if body.joint.stiffness:
            K[at] = body.joint.stiffness
    return K


def force(kin: Kinematics) -> SX:
    """-K (q - rest) (nu,), N m or N."""
    F = SX.zeros(kin.mechanism.nu)
    for at, stretched, K in _stretched(kin):
        F[at] = -K * stretched
    return F


def stored(kin: Kinematics) -> SX:
    """1/2 K (q - rest)^2 of all springs together, J."""
    return sum((0.5 * K * x * x for _, x, K in _stretched(kin)), SX(0))


def inertia(mechanism: Mechanism, dt: SX) -> SX:
    """dt^2/4 K (nu,): what a spring adds to a step's mass matrix, kg m^2 or kg."""
    return MEAN * dt * dt * stiffness(mechanism)


def mean_force(kin: Kinematics, u1: SX, dt: SX) -> SX:
    """The springs' force (nu,) over a step seen at kin.q that goes from kin.u to u1, N m or N."""
    return force(kin) - MEAN * dt * stiffness(kin.mechanism) * (u1 - kin.u)


def _stretched(kin: Kinematics) -> list[tuple[int, SX, float]]:
    """Of every spring, three times of a ball's: its place in u, its coordinate from rest on, its
    stiffness.
    """
    m, found = kin.mechanism, list[tuple[int, SX, float]]()
    for body, q, u in zip(m.bodies, m.q_slices, m.u_slices, strict=True):
        if not body.joint.stiffness:
            continue
        ball = body.joint.kind == "ball"
        at = ca.vertsplit(_rotation_vector(kin.q[q])) if ball else [kin.q[q] - body.joint.rest]
        found += [(u.start + k, x, body.joint.stiffness) for k, x in enumerate(at)]
    return found


def _rotation_vector(p: SX) -> SX:
    """phi (3,), rad, of a unit quaternion (w, x, y, z), at most half a turn long."""
    half = ca.sqrt(ca.fmax(ca.sumsqr(p[1:]), TURNED))
    return ca.if_else(p[0] < 0, -2, 2) * ca.atan2(half, ca.fabs(p[0])) / half * p[1:]
