"""Where the energy of a robot goes in one step: works whose sum is its change of energy.

The balance of momentum M (u1 - u0) = dt f + W L, all at the coordinates `seen` and multiplied by
(u0 + u1) / 2, gives the change of kinetic energy at a held mass matrix as a sum of works. What the
held coordinates leave out is drift.
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
    """Work of a generalized force (nu,) over a step from velocity kin.u to u1, J."""
    return 0.5 * dt * ca.dot(force, kin.u + u1)


def drive_work(drive: Drive, kin: Kinematics, u1: SX, dt: SX) -> SX:
    """Work of motors, in the tree and on the joints that close loops, J."""
    total = work(drive.tau, kin, u1, dt)
    for row, force in zip(loop_constraints.freedoms(kin), entries(drive.in_loops), strict=True):
        total += work(force * ca.vertcat(*row), kin, u1, dt)
    return total


def joint_work(kin: Kinematics, inertias: list[LinearInertia], u1: SX, dt: SX) -> SX:
    """Work of joint damping and dry friction, J."""
    rate = (u1 - kin.u) / dt
    idle = Drive(SX.zeros(kin.mechanism.nu), SX.zeros(len(kin.mechanism.loops)))
    body = (
        rnea.inverse_dynamics(kin, inertias, rate)
        + armature(kin.mechanism) * rate
        + loop_constraints.rotors(kin, rate)
    )
    if springs.has_springs(kin.mechanism):
        body -= springs.mean_force(kin, u1, dt)
    return work(body - residual_force(kin, inertias, idle, u1, dt), kin, u1, dt)


def integration_drift(
    kin: Kinematics, start: Kinematics, end: Kinematics, inertias: list[LinearInertia], dt: SX
) -> SX:
    """Energy, J, made by holding M, c and g at kin's q, kin.u = start.u, over a step to `end`.

    [T(q1, u1) - T(q, u1)] - [T(q0, u0) - T(q, u0)] + V(q1) - V(q0) - dt (c + g)(q, u0) . (u0 + u1)
    / 2, and of springs what their mean force leaves of their change of energy.
    """
    held = kinematics(kin.mechanism, kin.q, end.u)
    before, held_before, after, held_after = (
        energy.kinetic_energy(k, inertias) for k in (start, kin, end, held)
    )
    raised = energy.potential_energy(end, inertias) - energy.potential_energy(start, inertias)
    bias = rnea.bias(kin, inertias) + loop_constraints.rotors(kin)
    if springs.has_springs(kin.mechanism):
        bias -= springs.mean_force(kin, end.u, dt)
    return (after - held_after) - (before - held_before) + raised - work(bias, kin, end.u, dt)
