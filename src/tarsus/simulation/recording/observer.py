"""Reconstruct quantities of a run from its records, with a program that observes one step."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import casadi as ca
from casadi import SX

from tarsus.contact.base import ForceLaw, symbols
from tarsus.contact.ledger import stored_energy
from tarsus.contact.problem import Contact
from tarsus.dynamics import (
    coordinates,
    energy,
    jacobian,
    loop_constraints,
    rnea,
    springs,
    tendons,
)
from tarsus.dynamics.free_motion import Drive, dissipation
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.simulation.recording.step_observables import (
    ObservedContact,
    ObservedStep,
    StepForces,
    conserved_momentum,
    step_observables,
)
from tarsus.simulation.step_program import (
    CACHE_SIZE,
    Plan,
    actuator_force,
    loop_joint_force,
    push_force,
    varied_scene,
)
from tarsus.spatial.inertia import LinearInertia
from tarsus.stepping import lockable_joints
from tarsus.stepping.assemble import ContactKinematics, contact_kinematics
from tarsus.stepping.base import Scene
from tarsus.stepping.fast_motion import turns_fast
from tarsus.stepping.flight import TERMS_VELOCITY


@lru_cache(maxsize=CACHE_SIZE)
def observer_program(plan: Plan) -> Program:
    """Trace the program that observes one step.

    Contacts are observed where the stepper first evaluates them (`Stepper.evaluation`).

    Notes
    -----
    Parameters: q0, u0 at the start; q1, u1 at the end; impulse (3n,) in N s; bilateral, the
    impulses of the constraints; tau (actuators,); memory of the law at the start; moments (3m,) in
    N m of torsional and rolling friction, world axes; those of the step program.

    Reports, in addition to those of `step_observables`:

    - point (3n,): contact points in world axes, in m.
    - frame (9n,): rows normal, tangent 1, tangent 2 of every contact frame.
    - correction (3n,): what the law adds to the velocities after the step, in m/s.
    - friction (n,): factor of the terrain on the law's friction coefficients.
    - moment_work (n,): work of torsional and rolling friction, in J, if any candidate has it.
    - stored (n,): energy that the ground's springs took in, in J.
    - center, center_velocity (3,): of mass, at the end.
    - fast: 1 where a joint turns so far that its velocity terms are damped (`fast_motion`).
    - drift: largest gap of a loop joint at the end, in m or rad.
    - q_uncut, u_uncut: state at the end of the robot before joints were cut; empty if none were.
    - passive (nu,): forces of damping, springs, limits and dry friction, in N or N m, if the step
      reports joint impulses.
    """
    # parameters
    n, b = len(plan.scene.geometry.contact_names), Builder(f"{plan.scene.mechanism.name}_observer")
    scene, inertias = varied_scene(plan, rnea.body_inertias, b)
    mechanism = scene.mechanism
    q0, u0 = b.parameter("q0", mechanism.nq), b.parameter("u0", mechanism.nu)
    q1, u1 = b.parameter("q1", mechanism.nq), b.parameter("u1", mechanism.nu)
    impulse, tau = b.parameter("impulse", 3 * n), b.parameter("tau", len(mechanism.actuators))
    memory, dt = b.parameter("memory", scene.law.memory_size(n)), b.parameter("dt")
    law = symbols({name: b.parameter(f"law.{name}") for name in scene.law.parameters()})
    terrain = scene.terrain.symbols(b)
    if in_joints := lockable_joints.are_reported(scene, plan.stepper):
        mechanism = lockable_joints.without_dry_friction(scene)

    # kinematics and forces where the step evaluated them
    seen = kinematics(mechanism, plan.stepper.evaluation(mechanism, q0, u0, dt), u0)
    touching = contact_kinematics(scene, seen, terrain)
    motors = Drive(actuator_force(mechanism, tau, seen.q), loop_joint_force(mechanism, tau))
    bilateral = b.parameter("bilateral", loop_constraints.count_constraints(mechanism))
    closing = loop_constraints.force(seen, bilateral / dt)
    acting = StepForces(motors, impulse, push_force(plan, q0, b), closing)
    acting = _add_joint_impulses(acting, scene, seen, b) if in_joints else acting
    moments = _declare_moments(plan, b)
    acting = replace(acting, moments=ca.vertcat(SX(0, 1), *moments.values()))

    # criteria, and quantities that only our own steps have
    start, end = kinematics(mechanism, q0, u0), kinematics(mechanism, q1, u1)
    one_evaluation = plan.stepper.velocity_level
    fast = turns_fast(mechanism, u0, dt, scene.fast_turn_angle) if one_evaluation else SX(0)
    terms_velocity = conserved = None
    if plan.stepper.mean_velocity:
        terms_velocity = b.parameter(TERMS_VELOCITY, mechanism.nu)
        fast = ca.logic_and(fast, ca.norm_1(terms_velocity - u0) == 0)
        conserved = conserved_momentum((start, end), inertias, acting, dt)
    balanced = ca.logic_not(fast) if one_evaluation else SX(0)
    contacts = _observed_contacts(touching, seen, scene, moments)
    step = ObservedStep(
        start, seen, end, inertias, dt, contacts, acting, balanced, terms_velocity, conserved
    )
    stored = [_stored_energy(plan, kin, terrain, law) for kin in (start, end)]
    return b.program(
        **step_observables(step),
        **_contact_geometry([touch.contact for touch in touching]),
        correction=_corrections(plan, [touch.contact for touch in touching], law, memory, dt),
        stored=stored[1] - stored[0],
        **_center_of_mass(end, inertias),
        **_loop_reports(end),
        **_passive_force(acting, seen, u1, dt),
        fast=fast,
    )


def _add_joint_impulses(
    acting: StepForces, scene: Scene, seen: Kinematics, b: Builder
) -> StepForces:
    """Add the impulses of limits and dry friction that the step reports to the forces."""
    impulses = b.parameter("joints", lockable_joints.impulse_count(scene))
    limits, friction = lockable_joints.generalized_impulses(scene, impulses, seen)
    return replace(acting, limits=limits, friction=friction)


def _passive_force(acting: StepForces, seen: Kinematics, u1: SX, dt: SX) -> dict[str, SX]:
    """Compute the mean passive force in joints over a step to u1 (nu,), if it is reported."""
    if acting.limits is None or acting.friction is None:
        return {}
    braking = -dissipation(seen.mechanism, seen.u) * u1
    braked = tendons.damping_forces(seen, dt)
    braking = sum((each.mean_force(u1 - seen.u, dt) for each in braked), braking)
    pull = springs.mean_force(seen, u1, dt) if springs.has_springs(seen.mechanism) else 0
    return {"passive": braking + pull + (acting.limits + acting.friction) / dt}


def resisting_candidates(plan: Plan) -> list[str]:
    """Find the names of the candidates whose moments the observer takes as parameters."""
    if not plan.stepper.supports_constraints:
        return []
    return [candidate.name for candidate in plan.scene.candidates if candidate.resists_rotation]


def _declare_moments(plan: Plan, b: Builder) -> dict[str, SX]:
    """Declare the moments (3,) of torsional and rolling friction, by candidate, N m."""
    names = resisting_candidates(plan)
    moments = ca.vertsplit(b.parameter("moments", 3 * len(names)), 3) if names else []
    return dict(zip(names, moments, strict=True))


def _observed_contacts(
    touching: list[ContactKinematics], seen: Kinematics, scene: Scene, moments: dict[str, SX]
) -> list[ObservedContact]:
    """Convert simulated contacts to the form that the criteria expect."""
    contacts = []
    for touch, name in zip(touching, scene.geometry.contact_names, strict=True):
        rows = ca.vertcat(*(ca.horzcat(*row) for row in touch.rows))
        contact = ObservedContact(touch.contact.gap, rows, touch.contact.velocity)
        if name in moments:
            candidate = scene.candidates[len(contacts)]
            columns = jacobian.angular_jacobian(seen, candidate.body)
            turning = jacobian.dense(columns, scene.mechanism.nu)
            contact = replace(contact, resisting=-ca.mtimes(turning.T, moments[name]))
        contacts.append(contact)
    return contacts


def _corrections(plan: Plan, contacts: list[Contact], p: Any, memory: SX, dt: SX) -> SX:
    """Compute what the law adds to the velocities after the step, shape (3n,)."""
    law = plan.scene.law
    return ca.vertcat(
        SX(0, 1),
        *(law.correction(c, p, law.memory_of(memory, i), dt) for i, c in enumerate(contacts)),
    )


def _contact_geometry(contacts: list[Contact]) -> dict[str, SX]:
    """Concatenate points, frames and friction factors of all contacts."""
    empty = SX(0, 1)
    return {
        "point": ca.vertcat(empty, *(c.point for c in contacts)),
        "frame": ca.vertcat(empty, *(ca.vec(c.frame.T) for c in contacts)),
        "friction": ca.vertcat(empty, *(c.friction for c in contacts)),
    }


def _center_of_mass(kin: Kinematics, inertias: list[LinearInertia]) -> dict[str, SX]:
    """Compute position and velocity (3,) of the center of mass."""
    mass = sum((inertia.m for inertia in inertias), SX(0))
    velocity = energy.momentum(kin, inertias)[:3] / mass
    return {"center": energy.center_of_mass(kin, inertias), "center_velocity": velocity}


def _loop_reports(end: Kinematics) -> dict[str, SX]:
    """Compute the largest gap of a loop joint, and the uncut robot's state (empty if none)."""
    mechanism, empty = end.mechanism, SX(0, 1)
    q, u = coordinates.uncut_state(mechanism, end.q, end.u) if mechanism.uncut else (empty, empty)
    return {
        "drift": ca.norm_inf(loop_constraints.gaps(end)) if mechanism.constrained else SX(0),
        "q_uncut": q,
        "u_uncut": u,
    }


def _stored_energy(plan: Plan, kin: Kinematics, terrain: object, law: object) -> SX:
    """Compute the energy (n,) in the ground's springs under each contact, in J."""
    law_of, n = plan.scene.law, len(plan.scene.geometry.contact_names)
    if not isinstance(law_of, ForceLaw):
        return SX.zeros(n)
    return ca.vertcat(
        *(
            stored_energy(law_of, t.contact, law)
            for t in contact_kinematics(plan.scene, kin, terrain)
        )
    )
