"""Energy balance of a step: works whose sum is the robot's change of energy.

The momentum balance M (u1 - u0) = dt f + W L, evaluated at fixed coordinates and multiplied by
(u0 + u1) / 2, gives the change of kinetic energy for a constant mass matrix as a sum of works. The
error of evaluating all at fixed coordinates is the drift.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.dynamics import energy, loop_constraints, rnea, springs
from tarsus.dynamics.free_motion import Drive, armature, residual_force
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.program.ir.symbolic import entries
from tarsus.spatial.inertia import LinearInertia


def work(force: SX, kin: Kinematics, u1: SX, dt: SX) -> SX:
    """Compute the work of a generalized force (nu,) over a step from velocity kin.u to u1, in J."""
    return 0.5 * dt * ca.dot(force, kin.u + u1)


def drive_work(drive: Drive, kin: Kinematics, u1: SX, dt: SX) -> SX:
    """Compute the work of the motors on tree joints and loop joints, in J."""
    total = work(drive.tau, kin, u1, dt)
    for row, force in zip(loop_constraints.rate_rows(kin), entries(drive.in_loops), strict=True):
        total += work(force * ca.vertcat(*row), kin, u1, dt)
    return total


def joint_work(kin: Kinematics, inertias: list[LinearInertia], u1: SX, dt: SX) -> SX:
    """Compute the work of joint damping and dry friction, in J."""
    rate = (u1 - kin.u) / dt
    idle = Drive(SX.zeros(kin.mechanism.nu), SX.zeros(len(kin.mechanism.loops)))
    body = (
        rnea.inverse_dynamics(kin, inertias, rate)
        + armature(kin.mechanism) * rate
        + loop_constraints.rotor_forces(kin, rate)
    )
    if springs.has_springs(kin.mechanism):
        body -= springs.mean_force(kin, u1, dt)
    return work(body - residual_force(kin, inertias, idle, u1, dt), kin, u1, dt)


def integration_drift(
    kin: Kinematics, start: Kinematics, end: Kinematics, inertias: list[LinearInertia], dt: SX
) -> SX:
    """Compute the energy that a step adds by evaluating M, c and g at fixed coordinates, in J.

    It is [T(q1, u1) - T(q, u1)] - [T(q0, u0) - T(q, u0)] + V(q1) - V(q0)
    - dt (c + g)(q, u0) . (u0 + u1) / 2, plus the springs' change of energy less the work of their
    mean force.

    Parameters
    ----------
    kin
        Kinematics at the coordinates q where the step is evaluated, with kin.u = start.u.
    start
        Kinematics at the start of the step.
    end
        Kinematics at the end of the step.
    inertias
        Inertia of each body.
    dt
        Step size in s.

    Returns
    -------
    SX
        Energy in J.
    """
    fixed = kinematics(kin.mechanism, kin.q, end.u)
    before, fixed_before, after, fixed_after = (
        energy.kinetic_energy(k, inertias) for k in (start, kin, end, fixed)
    )
    potential = energy.potential_energy(end, inertias) - energy.potential_energy(start, inertias)
    bias = rnea.bias(kin, inertias) + loop_constraints.rotor_forces(kin)
    if springs.has_springs(kin.mechanism):
        bias -= springs.mean_force(kin, end.u, dt)
    gained = (after - fixed_after) - (before - fixed_before)
    return gained + potential - work(bias, kin, end.u, dt)
