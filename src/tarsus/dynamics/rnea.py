"""Recursive Newton-Euler in three parts that can be called apart: velocity, gravity, external
(Teixeira de Paula 2024, Alg. 2-4).

Accelerations are those of the body's origin (not spatial ones): the linear velocity then never
appears, as Galilei asks, and Algorithm 2's special start a_0 = (0, -omega x v) is not needed. The
generalized forces are the same; see docs/decisions/0003-classical-accelerations.md.
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
    """Each body's inertia about its own frame's origin."""
    found = []
    for body in mechanism.bodies:
        m, c = SX(body.inertia.mass), constant(body.inertia.com)
        steiner = m * (ca.dot(c, c) * SX.eye(3) - ca.mtimes(c, c.T))
        found.append(LinearInertia(m, m * c, SX(body.inertia.about_com) + steiner))
    return found


def velocity_terms(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """c(q, u) (nu,): generalized force of Coriolis and centrifugal terms, at u' = 0 (Alg. 2)."""
    return _inverse_dynamics(kin, inertias, SX.zeros(3), None, moving=True)


def velocity_matrix(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """C(q, u) (nu, nu), half the derivative of c(q, u) by u.

    c is quadratic in u, so C(q, u) v is linear in both velocities, symmetric in them, and
    C(q, u) u = c(q, u).
    """
    v = SX.sym("v", kin.mechanism.nu)
    moving = replace(kin, u=v)
    C = 0.5 * ca.jacobian(velocity_terms(moving, inertias), v)
    return ca.substitute(C, v, kin.u)


def gravity_terms(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """g(q) (nu,): generalized force that holds the robot against gravity (Alg. 3)."""
    return _inverse_dynamics(
        kin, inertias, SX(list(kin.mechanism.gravity_acceleration)), None, moving=False
    )


def bias(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """c(q, u) + g(q) in one sweep."""
    return _inverse_dynamics(
        kin, inertias, SX(list(kin.mechanism.gravity_acceleration)), None, moving=True
    )


def inverse_dynamics(kin: Kinematics, inertias: list[LinearInertia], acceleration: SX) -> SX:
    """M(q) u' + c(q, u) + g(q) for u' = acceleration (nu,), without armature."""
    return _inverse_dynamics(
        kin, inertias, SX(list(kin.mechanism.gravity_acceleration)), acceleration, moving=True
    )


def external_terms(kin: Kinematics, wrenches: Mapping[int, Wrench]) -> SX:
    """Generalized force (nu,) of {body: (moment at its origin, force)} in body frames (Alg. 4)."""
    zero = (SX.zeros(3), SX.zeros(3))
    own = [wrenches.get(i, zero) for i in range(len(kin.mechanism.bodies))]
    return _project(kin, own)


def velocity_products(kin: Kinematics) -> Callable[[int, SX, SX], SX]:
    """From a body, a center (3,) in its frame and an arm (3,) there to dJ/dt u (3,), m/s^2, world.

    J u is the velocity of the body's point at center + arm; the center moves with the body and the
    arm stays as it is in the world: the point at which a ball touches. Found with gravity, in the
    sweep that `bias` makes too.
    """
    gravity = SX(list(kin.mechanism.gravity_acceleration))
    motions, fields = _accelerations(kin, gravity, None, kin.omega)

    def gained(body: int, center: SX, arm: SX) -> SX:
        alpha, a = motions[body]
        felt = a + ca.mtimes(fields[body], center) + ca.cross(alpha, arm)
        return jacobian.direction_in_world(kin, body, felt) + gravity

    return gained


def velocity_product(motion: tuple[SX, SX, SX], center: SX, arm: SX) -> SX:
    """dJ/dt u (3,), m/s^2, of the point at center + arm (3,) of a body with one of `world_motions`,
    both from its origin; the center moves with the body, the arm stays as it is.
    """
    spin, turning, pull = motion
    return pull + ca.cross(turning, center + arm) + ca.cross(spin, ca.cross(spin, center))


def world_motions(kin: Kinematics) -> list[tuple[SX, SX, SX]]:
    """Of every body at u' = 0, in world axes (3,): angular velocity, rad/s, angular acceleration,
    rad/s^2, and acceleration of its origin, m/s^2.
    """
    gravity = SX(list(kin.mechanism.gravity_acceleration))
    motions, _ = _accelerations(kin, gravity, None, kin.omega)
    return [
        (ca.mtimes(R, omega), ca.mtimes(R, alpha), ca.mtimes(R, a) + gravity)
        for R, omega, (alpha, a) in zip(kin.world_rotation, kin.omega, motions, strict=True)
    ]


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
    """Every body's motion, gravity as the world's acceleration up, and its field (3, 3), 1/s^2."""
    fields: dict[
        int, SX
    ] = {}  # [alpha]x + omega omega^T - |omega|^2: acceleration field of each body

    def visit(i: int, parent: Motion) -> Motion:
        field = fields.get(kin.mechanism.bodies[i].parent, SX.zeros(3, 3))
        alpha, a = _accelerate(
            kin, i, (parent[0], parent[1] + ca.mtimes(field, kin.r[i])), omega, acceleration
        )
        w = omega[i]
        fields[i] = skew(alpha) + ca.mtimes(w, w.T) - ca.dot(w, w) * SX.eye(3)
        return alpha, a

    return tree.outward(kin.mechanism, visit, (SX.zeros(3), -gravity)), fields


def _accelerate(
    kin: Kinematics, i: int, carried: Motion, omega: list[SX], acceleration: SX | None
) -> Motion:
    """Body i's acceleration from the motion of its joint's foot point, both in the parent frame."""
    mechanism = kin.mechanism
    joint, where = mechanism.bodies[i].joint, mechanism.u_slices[i]
    alpha, a = ca.mtimes(kin.R[i].T, carried[0]), ca.mtimes(kin.R[i].T, carried[1])
    rate = kin.u[where]
    push = SX.zeros(joint.nu) if acceleration is None else acceleration[where]
    if joint.kind == "hinge":
        axis = constant(joint.axis)
        return alpha + axis * push + ca.cross(omega[i], axis * rate), a
    if joint.kind == "slide":
        axis = constant(joint.axis)
        return alpha, a + axis * push + 2 * ca.cross(omega[i], axis * rate)
    if joint.kind == "ball":
        return alpha + push + ca.cross(omega[i], rate), a
    return push[3:], a + ca.mtimes(kin.R[i].T, push[:3])


def _project(kin: Kinematics, own: list[Wrench]) -> SX:
    """Hand wrenches to the root, each joint its share (Teixeira de Paula 2024, Eqns. (22)-(23))."""

    def to_parent(i: int, wrench: Wrench) -> Wrench:
        force = ca.mtimes(kin.R[i], wrench[1])
        return ca.mtimes(kin.R[i], wrench[0]) + ca.cross(kin.r[i], force), force

    total = tree.inward(kin.mechanism, own, to_parent, lambda a, b: (a[0] + b[0], a[1] + b[1]))
    return ca.vertcat(*(joint_share(kin, i, wrench) for i, wrench in enumerate(total)))


def joint_share(kin: Kinematics, i: int, wrench: Wrench) -> SX:
    """S_i^T f_i: what a wrench on body i does to its own joint."""
    joint = kin.mechanism.bodies[i].joint
    moment, force = wrench
    if joint.kind == "hinge":
        return ca.dot(constant(joint.axis), moment)
    if joint.kind == "slide":
        return ca.dot(constant(joint.axis), force)
    if joint.kind == "ball":
        return moment
    return ca.vertcat(ca.mtimes(kin.R[i], force), moment)
