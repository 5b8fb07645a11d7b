"""Linear springs of hinge, slide and ball joints, and of tendons: stiffness K, force and energy.

The moment of a ball's spring is -K phi, with phi the rotation vector in the body's axes. Its energy
is 1/2 K |phi|^2, because phi . omega is half the rate of |phi|^2. It is at rest at zero rotation;
beyond half a turn the moment changes sign.

A step evaluates forces at its midpoint q. If it ends with velocity u1, the mean of its coordinates
is q + dt/4 (u1 - u), and the spring force is taken there. The spring then acts as an additional
inertia dt^2/4 K. The step is stable for any stiffness and conserves the spring's energy: it is the
midpoint rule of a linear oscillator (Hairer 2006).
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.dynamics import tendons
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.tendons import MEAN_FACTOR
from tarsus.model.mechanism import Mechanism

MIN_SQUARED_SINE = 1e-24  # of half an angle; below it the sine equals the angle


def has_springs(mechanism: Mechanism) -> bool:
    """Return whether a joint or tendon has a spring."""
    stretched = any(tendon.stiffness for tendon in mechanism.tendons)
    return stretched or any(body.joint.has_spring for body in mechanism.bodies)


def stiffness(mechanism: Mechanism) -> SX:
    """Compute K (nu,) of the joints, in N m/rad or N/m; zero where there is no spring."""
    K = SX.zeros(mechanism.nu)
    for body, u_slice in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        if body.joint.has_spring:
            K[u_slice] = body.joint.stiffness
    return K


def force(kin: Kinematics) -> SX:
    """Compute the spring forces -K (q - rest), shape (nu,), in N m or N."""
    F = _joint_force(kin)
    return sum((-K * x * row for row, x, K in tendons.spring_deflections(kin)), F)


def energy(kin: Kinematics) -> SX:
    """Compute the energy of all springs, the sum of 1/2 K (q - rest)^2, in J."""
    joints = sum((0.5 * K * x * x for _, x, K in _list_deflections(kin)), SX(0))
    return sum((0.5 * K * x * x for _, x, K in tendons.spring_deflections(kin)), joints)


def inertia(kin: Kinematics, dt: SX) -> SX:
    """Compute the inertia (nu, nu) that springs add to a step, in kg m^2 or kg.

    It is dt^2/4 K on the diagonal for those of joints.
    """
    joints = ca.diag(MEAN_FACTOR * dt * dt * stiffness(kin.mechanism))
    each = tendons.spring_forces(kin, dt)
    return sum((s.inertia * ca.mtimes(s.row, s.row.T) for s in each), joints)


def inertia_energy(kin: Kinematics, dt: SX) -> SX:
    """Compute the energy that this inertia has at the velocity kin.u, in J."""
    joints = MEAN_FACTOR * dt * dt * stiffness(kin.mechanism)
    energy = 0.5 * ca.dot(joints, kin.u * kin.u)
    each = tendons.spring_forces(kin, dt)
    return sum((0.5 * s.inertia * ca.dot(s.row, kin.u) ** 2 for s in each), energy)


def start_force(kin: Kinematics, dt: SX) -> SX:
    """Compute the spring forces (nu,) of a step of dt that keeps its velocity."""
    return sum((s.row * s.force for s in tendons.spring_forces(kin, dt)), _joint_force(kin))


def mean_force(kin: Kinematics, u1: SX, dt: SX) -> SX:
    """Compute the mean spring force (nu,) over a step from kin.u to u1, evaluated at kin.q."""
    change = u1 - kin.u
    joints = _joint_force(kin) - MEAN_FACTOR * dt * stiffness(kin.mechanism) * change
    each = tendons.spring_forces(kin, dt)
    return sum((s.mean_force(change, dt) for s in each), joints)


def _joint_force(kin: Kinematics) -> SX:
    """Compute the forces (nu,) of the joints' springs."""
    F = SX.zeros(kin.mechanism.nu)
    for index, deflection, K in _list_deflections(kin):
        F[index] = -K * deflection
    return F


def _list_deflections(kin: Kinematics) -> list[tuple[int, SX, float]]:
    """List (index in u, deflection from rest, stiffness) of every spring; three for a ball's."""
    m, deflections = kin.mechanism, list[tuple[int, SX, float]]()
    for body, q, u in zip(m.bodies, m.q_slices, m.u_slices, strict=True):
        if not body.joint.has_spring:
            continue
        ball = body.joint.kind == "ball"
        deflection = (
            ca.vertsplit(_rotation_vector(kin.q[q])) if ball else [kin.q[q] - body.joint.rest]
        )
        deflections += [(u.start + k, x, body.joint.stiffness) for k, x in enumerate(deflection)]
    return deflections


def _rotation_vector(p: SX) -> SX:
    """Compute the rotation vector (3,), rad, of a unit quaternion; its length is at most pi."""
    half = ca.sqrt(ca.fmax(ca.sumsqr(p[1:]), MIN_SQUARED_SINE))
    return ca.if_else(p[0] < 0, -2, 2) * ca.atan2(half, ca.fabs(p[0])) / half * p[1:]
