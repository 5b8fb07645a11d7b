"""Compute the observables of one step: contact velocities, energies, works, momentum residual.

Both our own logs (`observer`) and runs of other engines (`observed_run`) are evaluated with the
expressions of this file.

The residual is computed by the plain Newton-Euler recursion with the inertias of the bodies. It
shares neither the regrouped inertias nor the mass matrix nor the factorization with the step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import energy, energy_balance, loop_constraints, rnea, springs, tree
from tarsus.dynamics.free_motion import Drive, armature, residual_force
from tarsus.dynamics.kinematics import Kinematics
from tarsus.spatial.inertia import LinearInertia
from tarsus.stepping.fast_motion import carried_inertias
from tarsus.stepping.flight import isolated_bases, missing_momentum, velocity_terms

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ObservedContact:
    """A contact of an observed step, in its contact frame."""

    gap: SX
    """Gap to the ground, in m."""
    rows: SX
    """Jacobian (3, nu) of the contact point: normal, tangent 1, tangent 2."""
    before: SX
    """Contact velocity (3,) at the start of the step, m/s."""
    resisting: SX | None = None
    """Generalized force (nu,) of torsional and rolling friction; None if there is none."""


@dataclass(frozen=True, eq=False)
class StepForces:
    """Generalized forces (nu,) and impulses during an observed step."""

    motors: Drive
    """Motor torques, N m."""
    impulse: SX
    """Contact impulses (3n,), in the axes of the contacts' rows, N s."""
    pushes: SX
    """External forces."""
    constraints: SX
    """Forces of loop joints."""
    passive: SX | None = None
    """Forces of joint damping, friction and springs; None: those of the robot's model."""
    limits: SX | None = None
    """Impulses of joint limits; None if there are none."""
    friction: SX | None = None
    """Impulses of joint dry friction; None if the passive forces include it."""
    moments: SX = field(default_factory=lambda: SX(0, 1))
    """Moments of torsional and rolling friction, N m."""


@dataclass(frozen=True, eq=False)
class ConservedMomentum:
    """Momentum balance of floating robots, used instead of their forces in contact-free steps."""

    applies: SX
    """1 in contact-free steps, else 0."""
    rows: list[int]
    """Entries of u of these robots."""
    missing: SX
    """Momentum (linear, angular) missing at the end of the step, N s and N m s."""


@dataclass(frozen=True, eq=False)
class ObservedStep:
    """One step of a robot: its start, its end, and the forces in between."""

    start: Kinematics
    """Coordinates and velocities q0, u0."""
    evaluated: Kinematics
    """Kinematics at which the step evaluated its dynamics, with the velocities u0."""
    end: Kinematics
    """Coordinates and velocities q1, u1."""
    inertias: list[LinearInertia]
    """Inertia of every body, in kg, kg m, kg m^2."""
    dt: SX
    """Length of the step, s."""
    contacts: Sequence[ObservedContact]
    """All contacts that may touch, open or closed."""
    acting: StepForces
    """Forces and drives during the step."""
    one_balance: SX
    """1 where one momentum balance, at `evaluated`, gives u1; where 0, its residual counts as
    drift."""
    terms_velocity: SX | None = None
    """Velocity (nu,) at which its velocity terms were evaluated; None: u0."""
    conserved: ConservedMomentum | None = None
    """Momentum balance of the floating robots; None: not applied."""


def step_observables(step: ObservedStep) -> dict[str, SX]:
    """Compute what the criteria need of a step with n contacts.

    Returns
    -------
    dict
        gap (n,): gap of each contact, in m. before, after (3n,): contact velocities with u0 and u1,
        in m/s. kinetic, potential: energies at the end, in J. energy_before: total energy at the
        start, in J. work_motors, work_pushes, work_joints, work_limits, work_joint_friction,
        work_drift: the robot's shares of the energy ledger, in J. moment_work (n,): work of
        torsional and rolling friction at the contacts, in J, if there is any. residual: largest
        entry of M (u1 - u0) / dt - h - W L / dt, in N or N m; NaN unless one balance gives u1.
        Where `conserved` applies, the rows of these robots are replaced by their missing momentum /
        dt.
    """
    start, seen, end, dt = step.start, step.evaluated, step.end, step.dt
    acting, inertias, u1 = step.acting, step.inertias, step.end.u
    empty = SX(0, 1)

    # momentum balance: subtract everything that acted
    residual, joints = _contact_free_balance(step)
    residual = residual - acting.pushes - acting.constraints
    stops, sticks = (
        SX.zeros(u1.numel()) if impulse is None else impulse / dt
        for impulse in (acting.limits, acting.friction)
    )
    residual -= stops + sticks
    after: list[SX] = []
    for i, contact in enumerate(step.contacts):
        after.append(ca.mtimes(contact.rows, u1))
        residual -= ca.mtimes(contact.rows.T, acting.impulse[3 * i : 3 * i + 3]) / dt
        if contact.resisting is not None:
            residual -= contact.resisting

    # energy ledger: integration drift, and a missing balance with the velocity terms of u0
    drift = energy_balance.integration_drift(seen, start, end, inertias, dt)
    is_exact = step.one_balance
    if step.terms_velocity is not None:
        is_exact = ca.logic_and(is_exact, ca.norm_1(step.terms_velocity - start.u) == 0)
    if step.conserved is not None:
        is_exact = ca.logic_and(is_exact, ca.logic_not(step.conserved.applies))
    if not is_exact.is_one():
        missed = energy_balance.work(residual, seen, u1, dt)
        drift += ca.if_else(is_exact, 0, missed)
    return _moment_work(step) | {
        "gap": ca.vertcat(empty, *(contact.gap for contact in step.contacts)),
        "before": ca.vertcat(empty, *(contact.before for contact in step.contacts)),
        "after": ca.vertcat(empty, *after),
        "kinetic": energy.kinetic_energy(end, inertias),
        "potential": energy.potential_energy(end, inertias),
        "energy_before": energy.kinetic_energy(start, inertias)
        + energy.potential_energy(start, inertias),
        "work_motors": energy_balance.drive_work(acting.motors, seen, u1, dt),
        "work_pushes": energy_balance.work(acting.pushes, seen, u1, dt),
        "work_joints": joints + energy_balance.work(acting.constraints, seen, u1, dt),
        "work_limits": energy_balance.work(stops, seen, u1, dt),
        "work_joint_friction": energy_balance.work(sticks, seen, u1, dt),
        "work_drift": drift,
        "residual": ca.if_else(step.one_balance, _residual(step, residual), SX.nan()),
    }


def _moment_work(step: ObservedStep) -> dict[str, SX]:
    """Compute the work (n,) of torsional and rolling friction, J, if any contact has it."""
    forces = [contact.resisting for contact in step.contacts]
    if all(force is None for force in forces):
        return {}
    done = [
        SX(0) if force is None else energy_balance.work(force, step.evaluated, step.end.u, step.dt)
        for force in forces
    ]
    return {"moment_work": ca.vertcat(*done)}


def conserved_momentum(
    states: tuple[Kinematics, Kinematics],
    inertias: list[LinearInertia],
    acting: StepForces,
    dt: SX,
) -> ConservedMomentum | None:
    """Compute what floating robots lack of their momentum after a step without contact.

    `states` are those at its start and at its end. None if there is no such robot.
    """
    mechanism = states[0].mechanism
    roots = isolated_bases(mechanism)
    if not roots:
        return None
    rows, missing, force = [], [], acting.motors.tau + acting.pushes
    for root in roots:
        carried = carried_inertias(mechanism, root, inertias)
        wrench = force[mechanism.u_slices[root]]
        missing.append(missing_momentum(carried, root, states, wrench, dt).momentum)
        for i, at in enumerate(mechanism.u_slices):
            rows += range(at.start, at.stop) if root in tree.support_path(mechanism, i) else ()
    untouched = ca.norm_1(ca.vertcat(SX(0), acting.impulse, acting.moments)) == 0
    return ConservedMomentum(untouched, rows, ca.vertcat(*missing))


def _residual(step: ObservedStep, residual: SX) -> SX:
    """Compute the residual that is reported, from the balance (nu,) with velocity terms of u0."""
    seen, inertias = step.evaluated, step.inertias
    if step.terms_velocity is not None:
        at_terms = replace(seen, u=step.terms_velocity)
        residual += velocity_terms(at_terms, inertias) - velocity_terms(seen, inertias)
    conserved = step.conserved
    if conserved is None:
        return ca.norm_inf(residual)
    others = [residual[k] for k in range(residual.numel()) if k not in conserved.rows]
    without = ca.norm_inf(ca.vertcat(*others, conserved.missing / step.dt))
    return ca.if_else(conserved.applies, without, ca.norm_inf(residual))


def _contact_free_balance(step: ObservedStep) -> tuple[SX, SX]:
    """Compute the remaining force of a contact-free step and the work of the joints.

    Returns
    -------
    force
        Generalized force (nu,) other than those of motors and joints, N or N m.
    work
        Work of joint damping and dry friction, J.
    """
    seen, inertias, u1, dt = step.evaluated, step.inertias, step.end.u, step.dt
    motors, passive = step.acting.motors, step.acting.passive
    if passive is None:
        return (
            residual_force(seen, inertias, motors, u1, dt),
            energy_balance.joint_work(seen, inertias, u1, dt),
        )
    rate = (u1 - seen.u) / dt
    inertial = rnea.inverse_dynamics(seen, inertias, rate) + armature(seen.mechanism) * rate
    inertial += loop_constraints.rotor_forces(seen, rate)
    lossy = passive - springs.mean_force(seen, u1, dt)
    return inertial - motors.tau - passive, energy_balance.work(lossy, seen, u1, dt)


def energy_totals(shares: Mapping[str, Array], change: Array) -> dict[str, float]:
    """Compute the energy ledger of a whole run, in J.

    Parameters
    ----------
    shares
        Work of each share by name, shape (steps,) or (steps, n), in J.
    change
        Energy after each step minus that at the start, shape (steps,), in J.

    Returns
    -------
    dict
        Sum of every share, `change` of the whole run, and `unbalanced`: the largest difference at
        any time between the change of energy and the sum of the shares so far.
    """
    by_step = {name: value.reshape(len(value), -1).sum(1) for name, value in shares.items()}
    with np.errstate(invalid="ignore", over="ignore"):  # a diverged run has no balance
        missed = np.abs(change - np.cumsum(sum(by_step.values())))
    totals = {name: float(value.sum()) for name, value in by_step.items()}
    return totals | {"change": float(change[-1]), "unbalanced": float(missed.max())}
