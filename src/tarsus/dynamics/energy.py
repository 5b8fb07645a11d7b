"""Energy, momentum and center of mass of the whole robot."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from casadi import SX

from tarsus.dynamics import loop_constraints, springs
from tarsus.dynamics.kinematics import Kinematics, coordinate_rate, kinematics
from tarsus.spatial.inertia import LinearInertia


def center_of_mass(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute the position (3,) of the center of mass in the world, in m."""
    moment, mass = SX.zeros(3), SX(0)
    for R, p, inertia in zip(kin.world_rotation, kin.world_position, inertias, strict=True):
        moment += inertia.m * p + ca.mtimes(R, inertia.h)
        mass += inertia.m
    return moment / mass


def kinetic_energy(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute the kinetic energy in J, with reflected rotor inertia (armature)."""
    total = SX(0)
    for omega, v, inertia in zip(kin.omega, kin.velocity, inertias, strict=True):
        spin, push = inertia.momentum(omega, v)
        total += 0.5 * (ca.dot(spin, omega) + ca.dot(push, v))
    for body, u_slice in zip(kin.mechanism.bodies, kin.mechanism.u_slices, strict=True):
        rate = kin.u[u_slice]
        total += 0.5 * body.joint.armature * ca.dot(rate, rate)
    return total + loop_constraints.rotor_energy(kin)


def potential_energy(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute the potential energy in J: gravity, zero at the world's origin, and springs."""
    mass = sum((inertia.m for inertia in inertias), SX(0))
    gravity = -mass * ca.dot(
        SX(list(kin.mechanism.gravity_acceleration)), center_of_mass(kin, inertias)
    )
    return gravity + springs.energy(kin) if springs.has_springs(kin.mechanism) else gravity


def momentum(kin: Kinematics, inertias: list[LinearInertia], about: SX | None = None) -> SX:
    """Compute linear momentum (N s), and angular momentum (N m s) about a point, (6,).

    The point is given in world axes (3,), in m; None: the world's origin.
    """
    linear, angular = SX.zeros(3), SX.zeros(3)
    origin = SX.zeros(3) if about is None else about
    for i, inertia in enumerate(inertias):
        spin, push = inertia.momentum(kin.omega[i], kin.velocity[i])
        R = kin.world_rotation[i]
        push = ca.mtimes(R, push)
        linear += push
        angular += ca.mtimes(R, spin) + ca.cross(kin.world_position[i] - origin, push)
    return ca.vertcat(linear, angular)


def centroidal_momentum(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute linear and angular momentum (6,), the latter about the center of mass."""
    return momentum(kin, inertias, center_of_mass(kin, inertias))


def centroidal_momentum_matrix(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute A(q) (6, nu), with A u the centroidal momentum (Orin 2013)."""
    u = SX.sym("u", kin.mechanism.nu)  # the momentum is linear in u
    return ca.jacobian(centroidal_momentum(replace(kin, u=u), inertias), u)


def centroidal_momentum_bias(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Compute dA/dt u (6,), the rate of the centroidal momentum at u' = 0.

    It is the derivative of A(q) u along q' = F(q) u.
    """
    q, u = SX.sym("q", kin.mechanism.nq), SX.sym("u", kin.mechanism.nu)
    h = centroidal_momentum(kinematics(kin.mechanism, q, u), inertias)
    rate = ca.jtimes(h, q, coordinate_rate(kin.mechanism, q, u))
    return ca.substitute([rate], [q, u], [kin.q, kin.u])[0]
