"""What can be derived from a logged step, derived afterwards: gaps, contact velocities, frames, energies, residuals.

The residual is checked against the plain Newton-Euler recursion with the bodies' own inertias, which shares neither
the regrouped inertias nor the mass matrix nor the factorisation that the step used.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
from casadi import SX

from tarsus.dynamics import energy, rnea
from tarsus.dynamics.kinematics import kinematics
from tarsus.program.blocks import Program
from tarsus.program.trace import Builder
from tarsus.simulation.step_program import Plan, applied, scaled
from tarsus.stepping import assemble


@cache
def observer(plan: Plan) -> Program:
    """A program of samples: a step's start (q0, u0), end (q1, u1), impulse, tau and the step's parameters.

    Contacts are seen where the stepper first looks at them, its `evaluation`. Reports: gap (n,) m; point (3n,) m;
    frame (9n,) rows normal, tangent 1, tangent 2; before, after (3n,) m/s: contact velocities with u0 and u1; kinetic,
    potential energy at the end, J; residual: largest entry of M (u1 - u0) / dt - h - W L / dt there, N or N m, NaN if
    the stepper does not solve this equation.
    """
    scene, mechanism = plan.scene, plan.scene.mechanism
    n = len(scene.candidates)
    b = Builder(f"{mechanism.name}_observer")
    q0, u0 = b.parameter("q0", mechanism.nq), b.parameter("u0", mechanism.nu)
    q1, u1 = b.parameter("q1", mechanism.nq), b.parameter("u1", mechanism.nu)
    impulse, tau = b.parameter("impulse", 3 * n), b.parameter("tau", len(mechanism.actuators))
    dt = b.parameter("dt")
    terrain = scene.terrain.symbols(b)
    inertias = scaled(plan, rnea.body_inertias(mechanism), b)

    seen = kinematics(mechanism, plan.stepper.evaluation(mechanism, q0, u0, dt), u0)
    touching = assemble.touches(scene, seen, terrain)
    acceleration = (u1 - u0) / dt
    needed = rnea.inverse_dynamics(seen, inertias, acceleration) - applied(mechanism, tau)
    needed += assemble.armature(mechanism) * acceleration + assemble.joint_dissipation(scene, u0) * u1
    after: list[SX] = []
    for i, touch in enumerate(touching):
        rows = ca.vertcat(*(ca.horzcat(*row) for row in touch.rows))
        after.append(ca.mtimes(rows, u1))
        needed -= ca.mtimes(rows.T, impulse[3 * i : 3 * i + 3]) / dt

    end = kinematics(mechanism, q1, u1)
    empty = SX(0, 1)
    contacts = [touch.contact for touch in touching]
    return b.program(
        gap=ca.vertcat(empty, *(c.gap for c in contacts)),
        point=ca.vertcat(empty, *(c.point for c in contacts)),
        frame=ca.vertcat(empty, *(ca.vec(c.frame.T) for c in contacts)),
        before=ca.vertcat(empty, *(c.velocity for c in contacts)),
        after=ca.vertcat(empty, *after),
        kinetic=energy.kinetic_energy(end, inertias),
        potential=energy.potential_energy(end, inertias),
        residual=ca.norm_inf(needed) if plan.stepper.velocity_level else SX.nan(),
    )
