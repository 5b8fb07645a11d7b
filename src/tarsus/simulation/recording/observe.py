"""What can be derived from a logged step, derived afterwards: gaps, contact velocities, frames,
energies, residuals.

The residual is checked against the plain Newton-Euler recursion with the bodies' own inertias,
which shares neither the regrouped inertias nor the mass matrix nor the factorization that the step
used.
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
from casadi import SX

from tarsus.contact.base import ForceLaw, symbols
from tarsus.contact.ledger import stored_energy
from tarsus.contact.problem import Contact
from tarsus.dynamics import coordinates, energy, energy_balance, loop_constraints, rnea
from tarsus.dynamics.free_motion import Drive, residual_force
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.program.ir.blocks import Program
from tarsus.program.ir.trace import Builder
from tarsus.simulation.step_program import KEPT, Plan, applied, applied_in_loops, pushes, scaled
from tarsus.stepping import assemble


@lru_cache(maxsize=KEPT)
def observer(plan: Plan) -> Program:
    """A program of samples: a step's start q0, u0, end q1, u1, impulse, bilateral, tau, parameters.

    Contacts are seen where the stepper first looks at them, its `evaluation`. Reports: gap (n,) m;
    point (3n,) m; frame (9n,) rows normal, tangent 1, tangent 2; friction (n,), the ground's
    factor; before, after (3n,) m/s: contact velocities with u0 and u1; kinetic, potential: energy
    at the end, J; energy_before: both at the start, J; stored (n,): what the ground's springs took
    in, J; work_motors, work_pushes, work_joints, work_drift: the robot's share of the energy
    ledger, J; drift: the largest gap of a loop joint at the end, m or rad; q_uncut, u_uncut: the
    end in the coordinates of the robot before joints were cut, if any; residual: largest entry of M
    (u1 - u0) / dt - h - W L / dt there, N or N m, NaN if the stepper does not solve this equation.
    """
    scene, mechanism = plan.scene, plan.scene.mechanism
    n = len(scene.candidates)
    b = Builder(f"{mechanism.name}_observer")
    q0, u0 = b.parameter("q0", mechanism.nq), b.parameter("u0", mechanism.nu)
    q1, u1 = b.parameter("q1", mechanism.nq), b.parameter("u1", mechanism.nu)
    impulse, tau = b.parameter("impulse", 3 * n), b.parameter("tau", len(mechanism.actuators))
    dt = b.parameter("dt")
    law = symbols({name: b.parameter(f"law.{name}") for name in scene.law.parameters()})
    terrain = scene.terrain.symbols(b)
    inertias = scaled(plan, rnea.body_inertias(mechanism), b)

    seen = kinematics(mechanism, plan.stepper.evaluation(mechanism, q0, u0, dt), u0)
    touching = assemble.contact_kinematics(scene, seen, terrain)
    motors = Drive(applied(mechanism, tau), applied_in_loops(mechanism, tau))
    pushed = pushes(plan, q0, b)
    held = _held(seen, b.parameter("bilateral", loop_constraints.count(mechanism)), dt)
    needed = residual_force(seen, inertias, motors, u1, dt) - pushed - held
    after: list[SX] = []
    for i, touch in enumerate(touching):
        rows = ca.vertcat(*(ca.horzcat(*row) for row in touch.rows))
        after.append(ca.mtimes(rows, u1))
        needed -= ca.mtimes(rows.T, impulse[3 * i : 3 * i + 3]) / dt

    start, end = kinematics(mechanism, q0, u0), kinematics(mechanism, q1, u1)
    stored = [_stored(plan, kin, terrain, law) for kin in (start, end)]
    drift = energy_balance.integration_drift(seen, start, end, inertias, dt)
    if not plan.stepper.velocity_level:
        drift += energy_balance.work(needed, seen, u1, dt)
    return b.program(
        **_of_contacts([touch.contact for touch in touching]),
        after=ca.vertcat(SX(0, 1), *after),
        kinetic=energy.kinetic_energy(end, inertias),
        potential=energy.potential_energy(end, inertias),
        energy_before=energy.kinetic_energy(start, inertias)
        + energy.potential_energy(start, inertias),
        stored=stored[1] - stored[0],
        work_motors=energy_balance.drive_work(motors, seen, u1, dt),
        work_pushes=energy_balance.work(pushed, seen, u1, dt),
        work_joints=energy_balance.joint_work(seen, inertias, u1, dt)
        + energy_balance.work(held, seen, u1, dt),
        work_drift=drift,
        **_of_loops(end),
        residual=ca.norm_inf(needed) if plan.stepper.velocity_level else SX.nan(),
    )


def _of_contacts(contacts: list[Contact]) -> dict[str, SX]:
    """What the contacts themselves say, one behind the other."""
    empty = SX(0, 1)
    return {
        "gap": ca.vertcat(empty, *(c.gap for c in contacts)),
        "point": ca.vertcat(empty, *(c.point for c in contacts)),
        "frame": ca.vertcat(empty, *(ca.vec(c.frame.T) for c in contacts)),
        "friction": ca.vertcat(empty, *(c.friction for c in contacts)),
        "before": ca.vertcat(empty, *(c.velocity for c in contacts)),
    }


def _held(kin: Kinematics, bilateral: SX, dt: SX) -> SX:
    """Generalized force (nu,) of the constraints' impulses (nb,)."""
    force = SX.zeros(kin.mechanism.nu)
    for k, row in enumerate(loop_constraints.directions(kin)):
        force += ca.vertcat(*row) * bilateral[k] / dt
    return force


def _of_loops(end: Kinematics) -> dict[str, SX]:
    """The largest gap of a loop joint, and the state of the robot before joints were cut (empty if
    none were).
    """
    mechanism, empty = end.mechanism, SX(0, 1)
    q, u = coordinates.uncut_state(mechanism, end.q, end.u) if mechanism.uncut else (empty, empty)
    return {
        "drift": ca.norm_inf(loop_constraints.gaps(end)) if mechanism.loops else SX(0),
        "q_uncut": q,
        "u_uncut": u,
    }


def _stored(plan: Plan, kin: Kinematics, terrain: object, law: object) -> SX:
    """What the ground's springs hold, contact by contact (n,), J."""
    law_of, n = plan.scene.law, len(plan.scene.candidates)
    if not isinstance(law_of, ForceLaw):
        return SX.zeros(n)
    return ca.vertcat(
        *(
            stored_energy(law_of, t.contact, law)
            for t in assemble.contact_kinematics(plan.scene, kin, terrain)
        )
    )
