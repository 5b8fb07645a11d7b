"""Recursive Newton-Euler algorithm in three separate terms: velocity, gravity, external forces.

Accelerations are classical ones, of the body's origin, not spatial ones. The linear velocity then
does not appear (Galilean invariance), and the initial value a_0 = (0, -omega x v) of Algorithm 2 is
not needed. The generalized forces are the same; see docs/decisions/0003-classical-accelerations.md.

References
----------
Teixeira de Paula 2024, Algorithms 2 to 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import casadi as ca
from casadi import SX

from tarsus.dynamics import jacobian, tree
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.spatial.inertia import LinearInertia
from tarsus.spatial.rotation import constant, skew

Motion = tuple[SX, SX]  # angular and linear acceleration of a body's origin, body frame
Wrench = tuple[SX, SX]  # moment about the body's origin and force, body frame


def body_inertias(mechanism: Mechanism) -> list[LinearInertia]:
    """Compute the inertia of each body about the origin of its own frame."""
    inertias = []
    for body in mechanism.bodies:
        m, c = SX(body.inertia.mass), constant(body.inertia.com)
        steiner = m * (ca.dot(c, c) * SX.eye(3) - ca.mtimes(c, c.T))
        inertias.append(LinearInertia(m, m * c, SX(body.inertia.about_com) + steiner))
    return inertias


def velocity_terms(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute c(q, u) (nu,), the Coriolis and centrifugal forces, in N or N m (Alg. 2)."""
    return _inverse_dynamics(kin, inertias, SX.zeros(3), None, moving=True)


def velocity_matrix(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute C(q, u) (nu, nu), half the derivative of c(q, u) with respect to u.

    c is quadratic in u, so C(q, u) v is linear in both velocities, symmetric in them, and
    C(q, u) u = c(q, u).
    """
    v = SX.sym("v", kin.mechanism.nu)
    moving = replace(kin, u=v)
    C = 0.5 * ca.jacobian(velocity_terms(moving, inertias), v)
    return ca.substitute(C, v, kin.u)


def gravity_terms(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute g(q) (nu,), the forces that hold the robot against gravity, in N or N m (Alg. 3)."""
    return _inverse_dynamics(
        kin, inertias, SX(list(kin.mechanism.gravity_acceleration)), None, moving=False
    )


def bias(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute c(q, u) + g(q) (nu,), computed in one sweep."""
    return _inverse_dynamics(
        kin, inertias, SX(list(kin.mechanism.gravity_acceleration)), None, moving=True
    )


def inverse_dynamics(kin: Kinematics, inertias: list[LinearInertia], acceleration: SX) -> SX:
    """Compute M(q) u' + c(q, u) + g(q) (nu,), with u' = acceleration (nu,), without armature."""
    return _inverse_dynamics(
        kin, inertias, SX(list(kin.mechanism.gravity_acceleration)), acceleration, moving=True
    )


def external_terms(kin: Kinematics, wrenches: Mapping[int, Wrench]) -> SX:
    """Compute the generalized force (nu,) of wrenches by body, in body frames (Alg. 4)."""
    zero = (SX.zeros(3), SX.zeros(3))
    by_body = [wrenches.get(i, zero) for i in range(len(kin.mechanism.bodies))]
    return _project(kin, by_body)


def velocity_products(kin: Kinematics) -> Callable[[int, SX, SX], SX]:
    """Build a function (body, center, arm) that gives dJ/dt u (3,), in m/s^2, world axes.

    J u is the velocity of the body's point at center + arm, both (3,) in the body's frame. The
    center moves with the body and the arm stays fixed in the world: the contact point of a ball.
    Gravity is included in the sweep, so that `bias` shares it.
    """
    gravity = SX(list(kin.mechanism.gravity_acceleration))
    motions, fields = _accelerations(kin, gravity, None, kin.omega)

    def product(body: int, center: SX, arm: SX) -> SX:
        alpha, a = motions[body]
        total = a + ca.mtimes(fields[body], center) + ca.cross(alpha, arm)
        return jacobian.direction_in_world(kin, body, total) + gravity

    return product


def velocity_product(motion: tuple[SX, SX, SX], center: SX, arm: SX) -> SX:
    """Compute dJ/dt u (3,), in m/s^2, of a body's point at center + arm, both from its origin.

    Parameters
    ----------
    motion
        Angular velocity, angular acceleration and acceleration of the body (`world_motions`).
    center
        Part of the lever arm (3,) that moves with the body, in m, world axes.
    arm
        Part of the lever arm (3,) that stays fixed in the world, in m, world axes.

    Returns
    -------
    SX
        dJ/dt u (3,), in m/s^2, world axes.
    """
    omega, alpha, a = motion
    return a + ca.cross(alpha, center + arm) + ca.cross(omega, ca.cross(omega, center))


def world_motions(kin: Kinematics) -> list[tuple[SX, SX, SX]]:
    """Compute the motion of every body at u' = 0, in world axes.

    Returns
    -------
    list of (SX, SX, SX)
        Angular velocity (rad/s), angular acceleration (rad/s^2) and acceleration of the origin
        (m/s^2), each (3,).
    """
    gravity = SX(list(kin.mechanism.gravity_acceleration))
    motions, _ = _accelerations(kin, gravity, None, kin.omega)
    return [
        (ca.mtimes(R, omega), ca.mtimes(R, alpha), ca.mtimes(R, a) + gravity)
        for R, omega, (alpha, a) in zip(kin.world_rotation, kin.omega, motions, strict=True)
    ]


def bias_acceleration(kin: Kinematics, body: int, point: SX) -> SX:
    """Compute dJ/dt u (6,) of a body's point (3,), body frame: its acceleration at u' = 0.

    The first three entries are the acceleration of the point (m/s^2), the others the angular
    acceleration of the body (rad/s^2), in world axes.
    """
    motions, fields = _accelerations(kin, SX.zeros(3), None, kin.omega)
    alpha, a = motions[body]
    linear = a + ca.mtimes(fields[body], point)
    return ca.vertcat(*(jacobian.direction_in_world(kin, body, each) for each in (linear, alpha)))


def _inverse_dynamics(
    kin: Kinematics,
    inertias: list[LinearInertia],
    gravity: SX,
    acceleration: SX | None,
    *,
    moving: bool,
) -> SX:
    omega = kin.omega if moving else [SX.zeros(3)] * len(kin.mechanism.bodies)
    motions, fields = _accelerations(kin, gravity, acceleration, omega)
    wrenches = []
    for i, (alpha, a) in enumerate(motions):
        inertia = inertias[i]
        force = inertia.m * a + ca.mtimes(fields[i], inertia.h)
        spin = ca.mtimes(inertia.I, omega[i])
        moment = ca.mtimes(inertia.I, alpha) + ca.cross(omega[i], spin) + ca.cross(inertia.h, a)
        wrenches.append((moment, force))
    return _project(kin, wrenches)


def _accelerations(
    kin: Kinematics, gravity: SX, acceleration: SX | None, omega: list[SX]
) -> tuple[list[Motion], dict[int, SX]]:
    """Compute the accelerations of every body, and its acceleration field (3, 3), in 1/s^2.

    Gravity enters as an upward acceleration of the world.
    """
    # acceleration field of each body: [alpha]x + omega omega^T - |omega|^2
    fields: dict[int, SX] = {}

    def visit(i: int, parent: Motion) -> Motion:
        field = fields.get(kin.mechanism.bodies[i].parent, SX.zeros(3, 3))
        alpha, a = _accelerate(
            kin, i, (parent[0], parent[1] + ca.mtimes(field, kin.r[i])), omega, acceleration
        )
        w = omega[i]
        fields[i] = skew(alpha) + ca.mtimes(w, w.T) - ca.dot(w, w) * SX.eye(3)
        return alpha, a

    return tree.sweep_outward(kin.mechanism, visit, (SX.zeros(3), -gravity)), fields


def _accelerate(
    kin: Kinematics, i: int, carried: Motion, omega: list[SX], acceleration: SX | None
) -> Motion:
    """Compute the acceleration of body i from its joint's base point in the parent frame."""
    mechanism = kin.mechanism
    joint, u_slice = mechanism.bodies[i].joint, mechanism.u_slices[i]
    alpha, a = ca.mtimes(kin.R[i].T, carried[0]), ca.mtimes(kin.R[i].T, carried[1])
    rate = kin.u[u_slice]
    joint_acceleration = SX.zeros(joint.nu) if acceleration is None else acceleration[u_slice]
    if joint.kind == "hinge":
        axis = constant(joint.axis)
        return alpha + axis * joint_acceleration + ca.cross(omega[i], axis * rate), a
    if joint.kind == "slide":
        axis = constant(joint.axis)
        return alpha, a + axis * joint_acceleration + 2 * ca.cross(omega[i], axis * rate)
    if joint.kind == "ball":
        return alpha + joint_acceleration + ca.cross(omega[i], rate), a
    return joint_acceleration[3:], a + ca.mtimes(kin.R[i].T, joint_acceleration[:3])


def _project(kin: Kinematics, wrenches: list[Wrench]) -> SX:
    """Accumulate wrenches towards the root and project them on joints (Eqns. (22) and (23))."""

    def to_parent(i: int, wrench: Wrench) -> Wrench:
        force = ca.mtimes(kin.R[i], wrench[1])
        return ca.mtimes(kin.R[i], wrench[0]) + ca.cross(kin.r[i], force), force

    total = tree.sweep_inward(
        kin.mechanism, wrenches, to_parent, lambda a, b: (a[0] + b[0], a[1] + b[1])
    )
    return ca.vertcat(*(project_on_joint(kin, i, wrench) for i, wrench in enumerate(total)))


def project_on_joint(kin: Kinematics, i: int, wrench: Wrench) -> SX:
    """Compute S_i^T f_i, the generalized force of a wrench on body i at its own joint."""
    joint = kin.mechanism.bodies[i].joint
    moment, force = wrench
    if joint.kind == "hinge":
        return ca.dot(constant(joint.axis), moment)
    if joint.kind == "slide":
        return ca.dot(constant(joint.axis), force)
    if joint.kind == "ball":
        return moment
    return ca.vertcat(ca.mtimes(kin.R[i], force), moment)
