"""Energy, momentum and center of mass of the whole robot."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.dynamics import loop_constraints, springs
from tarsus.dynamics.kinematics import Kinematics
from tarsus.spatial.inertia import LinearInertia


def center_of_mass(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """World position (3,) of the center of mass, m."""
    moment, mass = SX.zeros(3), SX(0)
    for R, p, inertia in zip(kin.world_rotation, kin.world_position, inertias, strict=True):
        moment += inertia.m * p + ca.mtimes(R, inertia.h)
        mass += inertia.m
    return moment / mass


def kinetic_energy(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Kinetic energy with reflected rotor inertia (armature), J."""
    total = SX(0)
    for omega, v, inertia in zip(kin.omega, kin.velocity, inertias, strict=True):
        spin, push = inertia.momentum(omega, v)
        total += 0.5 * (ca.dot(spin, omega) + ca.dot(push, v))
    for body, where in zip(kin.mechanism.bodies, kin.mechanism.u_slices, strict=True):
        rate = kin.u[where]
        total += 0.5 * body.joint.armature * ca.dot(rate, rate)
    return total + loop_constraints.rotor_energy(kin)


def potential_energy(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """Potential energy in gravity, zero at the world's origin, and in the joints' springs, J."""
    mass = sum((inertia.m for inertia in inertias), SX(0))
    raised = -mass * ca.dot(
        SX(list(kin.mechanism.gravity_acceleration)), center_of_mass(kin, inertias)
    )
    return raised + springs.stored(kin) if springs.has_springs(kin.mechanism) else raised


def momentum(kin: Kinematics, inertias: list[LinearInertia]) -> SX:
    """(6,): linear (N s) and angular momentum about the world's origin (N m s), world frame."""
    linear, angular = SX.zeros(3), SX.zeros(3)
    for i, inertia in enumerate(inertias):
        spin, push = inertia.momentum(kin.omega[i], kin.velocity[i])
        R = kin.world_rotation[i]
        push = ca.mtimes(R, push)
        linear += push
        angular += ca.mtimes(R, spin) + ca.cross(kin.world_position[i], push)
    return ca.vertcat(linear, angular)
