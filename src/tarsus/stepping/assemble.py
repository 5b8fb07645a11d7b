"""Evaluate a robot, pose its contact problem, and turn impulses back into velocities.

This is the only module that knows both mechanics and contact laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial, reduce

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import list_triples
from tarsus.algebra.ldl import factorize_tree, lower_triangle
from tarsus.collision.broad_phase import secondary_gaps
from tarsus.collision.closest_point.ellipsoid_ground import closest_points
from tarsus.collision.contact_point import Attachment, ContactPoint
from tarsus.collision.contact_table import SecondaryGaps, SlotContact
from tarsus.collision.narrow_phase import contact_points, slot_contact_point
from tarsus.contact.base import ForceLaw, Law, evaluate_forces
from tarsus.contact.problem import Bilateral, Contact, ContactProblem, ContactSolution, Roundness
from tarsus.dynamics import crba, rnea, springs, tendons
from tarsus.dynamics.free_motion import FreeMotion, dissipation, free_motion
from tarsus.dynamics.kinematics import Kinematics, coordinate_rate, kinematics
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Candidate
from tarsus.model.solids import Pair
from tarsus.model.spans import Span
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.registry import name_of
from tarsus.stepping import instants, joint_states
from tarsus.stepping.base import Attempt, Scene, StepOutputs, StepStart, stepper_names
from tarsus.stepping.blocked_contacts import exclude_blocked
from tarsus.stepping.contact_moments import (
    ContactMoment,
    contact_moments,
    last_loads,
    with_moment_memory,
    with_moments,
    without_moment_memory,
)
from tarsus.stepping.coupling import (
    Coupling,
    couple,
    couple_without_contacts,
    joint_impulses,
    velocity_change,
)
from tarsus.stepping.delassus import (
    delassus,
    free_mobilities,
    joint_rows,
    mobility,
    shared_bodies,
    velocity_form,
)
from tarsus.stepping.fast_motion import FastMotion, drive, fast_motion
from tarsus.stepping.flight import TERMS_VELOCITY, mean_terms
from tarsus.stepping.patches import solve_patches
from tarsus.stepping.regularized_solve import regularized_solver
from tarsus.stepping.runge_kutta import Rate
from tarsus.stepping.slots import SlotMemory, solve_with_slots
from tarsus.stepping.subcycling import rest_of_step, subcycles, with_sinking


@dataclass(frozen=True, eq=False)
class ContactKinematics:
    """Contact of a law, with the rows that map u to its velocity."""

    contact: Contact
    attachment: Attachment

    @property
    def rows(self) -> list[list[SX]]:
        """Rows (3, nu) with contact velocity = rows u."""
        return self.attachment.contact_rows

    @staticmethod
    def of(at: ContactPoint) -> ContactKinematics:
        """Convert a contact point to the contact that a law takes."""
        ball = Roundness(at.radius, at.rotation, at.arm, at.tracked)
        contact = Contact(
            at.gap,
            at.velocity,
            at.point,
            at.frame,
            *at.material,
            ball,
            at.velocity_product,
            at.max_gap,
        )
        return ContactKinematics(contact, at.attachment)


@dataclass(frozen=True, eq=False)
class EvaluatedRobot:
    """Robot and contacts evaluated at the coordinates of a step, before any joint is locked.

    Parameters
    ----------
    kin : Kinematics
        Pose and velocity of the robot.
    free : FreeMotion
        Mass matrix, and generalized force without contact.
    fast_motion : FastMotion
        Worlds in which a joint turns fast.
    primary : list of ContactKinematics
        Primary contacts.
    gaps : SecondaryGaps or None
        Gaps of the secondary contacts; None if the scene has no slots.
    moments : list of ContactMoment
        Torsional and rolling friction of primary contacts.
    """

    kin: Kinematics
    free: FreeMotion
    fast_motion: FastMotion
    primary: list[ContactKinematics]
    gaps: SecondaryGaps | None
    moments: list[ContactMoment] = field(default_factory=list)


def evaluate(
    scene: Scene, q: SX, start: StepStart, builder: Builder, braking: SX | None = None
) -> EvaluatedRobot:
    """Evaluate kinematics, dynamics and contacts at the coordinates q (nq,).

    A timed program has the sections of Gehring 2014, Fig. 7.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    q : SX
        Coordinates (nq,) at which the step is evaluated.
    start : StepStart
        State and inputs at the start of the step.
    builder : Builder
        Traces the loops.
    braking : SX or None
        Damping (nu,) that stands for the joints' dry friction in the mean velocity, if the scene's
        mechanism has none because attempts at the step lock joints instead.
    """
    kin = builder.stamp("M, h", kinematics(scene.mechanism, q, start.u))
    if scene.pairs or scene.spans or start.evaluation.mean_velocity:
        # loops separate R from M, which reads it
        kin = replace(kin, R=builder.store_all("R", kin.R))
    primary = [scene.candidates[i] for i in scene.geometry.primary]
    ellipsoid_points = closest_points(scene.geometry, kin, start.terrain, scene.candidates, builder)
    points = builder.stamp(
        "rest", contact_points(scene.geometry, kin, start.terrain, primary, ellipsoid_points)
    )
    contacts = [ContactKinematics.of(point) for point in points]
    free = builder.stamp("M, h", free_motion(kin, start.inertias, drive(start), start.dt))
    ahead = rest_of_step(start) if subcycles(scene, start) else None
    gaps = None
    if scene.slots:
        gaps = secondary_gaps(scene.geometry, kin, start.terrain, builder, ellipsoid_points, ahead)
    solved = SX(0)
    if start.evaluation.mean_velocity:
        flight = is_in_flight(scene, contacts, gaps, start)
        terms = mean_terms(scene, q, start, flight, braking, builder)
        builder.store(TERMS_VELOCITY, terms.velocity, "report")
        free, solved = replace(free, h=free.h + terms.force), terms.solved
    frames = {i: contacts[i].contact.frame for i in scene.moment_contacts}
    moments = contact_moments(scene, kin, frames, start, builder)
    free = with_moments(free, moments, start.dt)
    moving = builder.stamp("M, h", fast_motion(scene, q, start, solved, moments, builder))
    contacts = [prepare_contact(contact, moving, scene, start) for contact in contacts]
    return EvaluatedRobot(kin, free, moving, contacts, gaps, moments)


def is_in_flight(
    scene: Scene, primary: list[ContactKinematics], gaps: SecondaryGaps | None, start: StepStart
) -> SX:
    """Return 1 where no contact is closed or has pressed in the last step with a moment."""
    closed = [is_active(scene.law, touch.contact, start, i) for i, touch in enumerate(primary)]
    if gaps is not None:
        closed.append(scene.law.closes_at(gaps.min_gap))
        closed += [number >= 0 for number in SlotMemory.of(scene, start.memory).numbers]
    closed += [load > 0 for load in last_loads(scene, start)]
    return ca.logic_not(reduce(ca.logic_or, closed, SX(0)))


def velocity_step(
    scene: Scene, robot: EvaluatedRobot, start: StepStart, attempt: Attempt, builder: Builder
) -> StepOutputs:
    """Solve for the end velocity u^E, given u^S and the contact law.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    robot : EvaluatedRobot
        Kinematics, dynamics and contacts at the coordinates of the step.
    start : StepStart
        State and inputs at the start of the step.
    attempt : Attempt
        Joints that are locked, and where the solver starts.
    builder : Builder
        Traces the program.
    """
    kin, free, moving = robot.kin, robot.free, robot.fast_motion
    no_contact = couple_without_contacts(scene, kin, free, start, attempt.locked, moving, builder)

    def solve_with(
        contacts: list[ContactKinematics], start: StepStart, attempt: Attempt
    ) -> StepOutputs:
        attached = [contact.attachment for contact in contacts]
        coupling = couple(no_contact, attached, builder, attempt.bounded)
        problem = contact_problem(scene.law, coupling, contacts, start, attempt, builder)
        mobilities = free_mobilities(scene, attempt, free.M, coupling)
        problem = replace(problem, free_mobility=mobilities)
        impulses = solve(scene.law, problem, start, builder)
        return step_outputs(scene, coupling, impulses, start, attempt)

    begin = without_moment_memory(scene, start)
    if robot.gaps is None:
        end = solve_patches(scene, robot.primary, solve_with, begin, attempt, builder)
        return builder.stamp("u_E", with_moment_memory(scene, robot.moments, start, end))

    def contact_in_slot(slot: SlotContact) -> ContactKinematics:
        point = slot_contact_point(scene.geometry, kin, start.terrain, slot)
        return prepare_contact(ContactKinematics.of(point), moving, scene, start)

    solvers = robot.primary, robot.gaps, contact_in_slot, solve_with
    end = solve_with_slots(scene, *solvers, begin, attempt, builder)
    return builder.stamp("u_E", with_moment_memory(scene, robot.moments, start, end))


def step_outputs(
    scene: Scene,
    coupling: Coupling,
    impulses: ContactSolution,
    start: StepStart,
    attempt: Attempt,
) -> StepOutputs:
    """Compute the end of a step under the law's impulses, before its coordinates advance."""
    u, contact = end_velocity(coupling, impulses)
    # substeps act at other times than the step's instant: the coordinates need their own velocity
    coordinate_velocity = None
    if subcycles(scene, start):
        coordinate_velocity, _ = end_velocity(coupling, contact.with_coordinate_impulses())
        if contact.free_share is not None:
            zeros = [SX.zeros(3) for _ in contact.impulses]
            free, _ = end_velocity(coupling, replace(contact, impulses=zeros, bilateral=None))
            coordinate_velocity -= (1 - contact.free_share) * (free - start.u)
    bilateral = contact.bilateral
    assert bilateral is not None
    joints = joint_impulses(coupling, attempt, u, bilateral, contact.joints)
    locked = 0 if attempt.locked is None else len(attempt.locked.dependent_directions)
    contact = replace(contact, bilateral=bilateral[: bilateral.numel() - locked])
    return StepOutputs(start.q, u, contact, joints=joints, coordinate_velocity=coordinate_velocity)


def contact_kinematics(
    scene: Scene,
    kin: Kinematics,
    terrain: object,
    selection: Sequence[Candidate | Span | Pair] | None = None,
) -> list[ContactKinematics]:
    """Compute the contacts of all candidates, spans and pairs, or of a selection."""
    contacts = scene.geometry.contacts if selection is None else selection
    points = contact_points(scene.geometry, kin, terrain, contacts)
    return [ContactKinematics.of(point) for point in points]


def prepare_contact(
    contact: ContactKinematics, moving: FastMotion, scene: Scene, start: StepStart
) -> ContactKinematics:
    """Add the corrections that depend on the step to a contact.

    In worlds where a joint turns fast the velocity product is dropped: evaluated at the start of
    the step, it predicts the end as poorly as c does. It is also dropped at an impact, which takes
    no time. For laws that subcycle, the distance by which the contact may still sink is added.
    """
    product = SX.zeros(3)
    if not start.evaluation.impact:
        product = ca.if_else(moving.is_fast, 0, contact.contact.velocity_product)
    prepared = replace(contact.contact, velocity_product=product)
    return replace(contact, contact=with_sinking(prepared, scene, start))


def rate(scene: Scene, at: StepStart, builder: Builder) -> Rate:
    """Compute the time derivative of the state at one instant, for Runge-Kutta steppers.

    u' = M^-1 (tau - c - g - D u - K (q - rest) + W f), with explicit damping and springs, unlike
    `free_motion`.

    Raises
    ------
    Unsupported
        If the law computes impulses, or the robot has constraints.
    """
    if not scene.law.at_instants:
        raise Unsupported(
            f"the law {name_of(scene.law)!r} computes impulses, which this stepper does not"
            f" accept: use one of {stepper_names(lambda known: known.supports_impulses)}, or a law"
            " that computes forces, such as 'compliant'.",
            name_of(scene.law),
        )
    mechanism, kin = scene.mechanism, kinematics(scene.mechanism, at.q, at.u)
    if mechanism.constrained:
        supported = stepper_names(lambda stepper: stepper.supports_constraints)
        raise Unsupported(
            "this stepper does not support cut joints, closed loops and mimic joints: use one of"
            f" {supported}.",
            mechanism.name,
        )
    touching = contact_kinematics(scene, kin, at.terrain)
    h = at.tau - rnea.bias(kin, at.inertias) - dissipation(mechanism, at.u) * at.u
    if springs.has_springs(mechanism):
        h += springs.force(kin)
    for braked in tendons.damping_forces(kin, at.dt):
        h += braked.row * braked.force
    moving = coordinate_rate(mechanism, at.q, at.u)
    forces, memory = [], at.memory
    if isinstance(scene.law, ForceLaw):
        contacts = [replace(touch.contact, dt=at.dt) for touch in touching]
        closed = [is_active(scene.law, contact, at, i) for i, contact in enumerate(contacts)]
        forces, memory = evaluate_forces(scene.law, contacts, closed, at.law, memory)
    for touch, force in zip(touching, forces, strict=False):
        h += ca.mtimes(ca.vertcat(*(ca.horzcat(*row) for row in touch.rows)).T, force)
    M = crba.mass_matrix(kin, at.inertias)
    factored = factorize_tree(lower_triangle(M), mechanism.nu)
    h += joint_states.limit_springs(scene, kin, M)
    change = ca.vertcat(*factored.solve(entries(h)))
    if isinstance(scene.law, ForceLaw) or not touching:
        return Rate(moving, change, forces, memory)

    # a law that solves for all contacts together
    no_contact = Coupling(
        builder.store_all("L", factored), builder.store("slope", change), [], [], None, []
    )
    coupling = couple(no_contact, [touch.attachment for touch in touching], builder)
    problem = contact_problem(scene.law, coupling, touching, at, Attempt(), builder)
    contacts_now = reference = None
    if scene.law.impulsive:
        contacts_now = instants.start_contacts(problem.contacts, problem.active)
        contacts_now = builder.store("start_contacts", contacts_now)
        earlier = at.evaluation.start_contacts
        reference = contacts_now if earlier is None else earlier
    solved = solve(scene.law, instants.over_window(problem, reference), at, builder)
    forces = [impulse / at.dt for impulse in solved.impulses]
    change, _ = end_velocity(coupling, replace(solved, impulses=forces))
    how = solved.iterations, solved.converged
    return builder.store_all(
        "rate", Rate(moving, change, forces, solved.memory, contacts_now, *how)
    )


def is_active(law: Law, contact: Contact, at: StepStart, i: int) -> SX:
    """Return 1 if the law considers contact i closed and the stepper does not force it open."""
    closed = law.is_closed(contact, law.memory_of(at.memory, i))
    if at.evaluation.overrides is None:
        return closed
    return ca.logic_and(closed, at.evaluation.overrides[i] <= 0)


def with_gap_override(contact: Contact, at: StepStart, i: int) -> Contact:
    """Clip the gap of contact i to zero if the stepper treats it as closed."""
    if at.evaluation.overrides is None:
        return contact
    gap = ca.if_else(at.evaluation.overrides[i] < 0, ca.fmin(contact.gap, 0), contact.gap)
    return replace(contact, gap=gap)


def start_contacts(scene: Scene, at: StepStart) -> Values:
    """Create the register that holds the contacts at the start of a step."""
    if not (scene.law.impulsive and scene.candidates):
        return {}
    kin = kinematics(scene.mechanism, at.q, at.u)
    touching = enumerate(contact_kinematics(scene, kin, at.terrain))
    contacts = [with_gap_override(touch.contact, at, i) for i, touch in touching]
    closed = [is_active(scene.law, contact, at, i) for i, contact in enumerate(contacts)]
    return {"start_contacts": instants.start_contacts(contacts, closed)}


def contact_problem(
    law: Law,
    coupling: Coupling,
    touching: list[ContactKinematics],
    start: StepStart,
    attempt: Attempt,
    builder: Builder,
) -> ContactProblem:
    """Pose the contact problem of a step: gaps, velocities and Delassus matrix.

    Constraints of cut joints and closed loops are eliminated, unless the law asks for them
    (`ContactProblem.bilateral`).
    """
    locked, bounded = attempt.locked, attempt.bounded
    # contacts that event location forces open or closed; then those that are active
    contacts = [with_gap_override(touch.contact, start, i) for i, touch in enumerate(touching)]
    active = [is_active(law, contact, start, i) for i, contact in enumerate(contacts)]
    if not isinstance(law, ForceLaw):
        active = exclude_blocked(active, coupling, [touch.attachment for touch in touching])

    # contacts and constraints separately, for a law that iterates over both
    def bilateral() -> Bilateral:
        assert coupling.constraints is not None
        G = delassus(coupling, mobility(coupling, builder, constrained=False), builder)
        free = list_triples(coupling.free_velocities(constrained=False))
        limited = 0 if locked is None else len(locked.dependent_directions)
        return Bilateral(
            free,
            G,
            [coupling.to_contacts(row) for row in coupling.G_BU],
            coupling.constraints.G,
            coupling.constraints.gamma,
            ca.vertcat(start.bilateral, SX.zeros(limited)),
        )

    # constraints eliminated; matrices are computed only when the law asks for them
    row_mobility = cache(lambda: mobility(coupling, builder, constrained=True))
    all_shared = all(contact.arms is not None for contact in coupling.contacts)
    return ContactProblem(
        contacts=contacts,
        active=active,
        free=list_triples(coupling.free_velocities(constrained=True)),
        dt=start.dt,
        make_delassus=lambda: delassus(coupling, row_mobility(), builder),
        make_velocity_form=lambda: velocity_form(coupling, builder),
        make_bilateral=bilateral if coupling.constraints else None,
        make_shared=(lambda: shared_bodies(coupling, row_mobility())) if all_shared else None,
        regularized_solver=partial(regularized_solver, coupling, builder),
        restart=attempt.restart,
        skip_correction=attempt.skip_correction,
        warm_start=attempt.warm_start,
        loads_determined=locked is not None and bool(locked.with_friction),
        joints=joint_rows(coupling, row_mobility(), bounded, builder) if bounded else None,
        instant=start.evaluation.instant if start.evaluation.subcycles else None,
    )


def solve(law: Law, problem: ContactProblem, at: StepStart, builder: Builder) -> ContactSolution:
    """Let the law solve the contact problem; without contacts, return an empty solution."""
    if not problem.n:
        stage = SX(0) if law.stages else None
        return ContactSolution([], SX(0, 1), SX(0), SX(1), stage=stage)
    return law.solve(problem, at.law, at.memory, builder)


def end_velocity(coupling: Coupling, contact: ContactSolution) -> tuple[SX, ContactSolution]:
    """Compute the end velocity, and complete the solution by the constraints' impulses.

    u^E (nu,) = u_free + M^-1 (W_U L_U + W_B L_B).
    """
    impulse = entries(contact.stack())
    row_impulses = coupling.to_rows(impulse, contact.joints)
    bilateral = (
        coupling.constraint_impulses(row_impulses)
        if contact.bilateral is None
        else entries(contact.bilateral)
    )
    acting = list(zip(coupling.W_half, row_impulses, strict=True))
    if coupling.constraints is not None:
        acting += zip(coupling.constraints.half, bilateral, strict=True)
    u = coupling.u_free + ca.vertcat(*velocity_change(coupling.factor, acting))
    return u, replace(contact, bilateral=ca.vertcat(SX(0, 1), *bilateral))
