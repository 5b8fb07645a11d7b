"""From a robot to a contact problem, and back to velocities.

This is the one file that knows both mechanics and contact laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import list_triples
from tarsus.algebra.ldl import factorize_tree, lower
from tarsus.collision.broad_phase import secondary_gaps
from tarsus.collision.closest_point.ellipsoid_ground import spots
from tarsus.collision.contact_point import Attached, ContactPoint
from tarsus.collision.contact_table import SecondaryGaps, SlotContact
from tarsus.collision.narrow_phase import contact_points, slot_contact_point
from tarsus.contact.base import ForceLaw, Law, forces_of
from tarsus.contact.problem import Bilateral, Contact, ContactProblem, ContactSolution, Roundness
from tarsus.dynamics import crba, rnea, springs
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
from tarsus.stepping import blocked, instants, joint_states
from tarsus.stepping.base import Attempt, Scene, StepOutputs, StepStart
from tarsus.stepping.coupling import (
    Coupling,
    couple,
    impulses_in_joints,
    velocity_change,
    without_contact,
)
from tarsus.stepping.delassus import (
    delassus,
    joint_rows,
    loose_mobilities,
    mobility,
    shared,
    velocity_form,
)
from tarsus.stepping.fast_motion import FastMotion, drive, fast_motion
from tarsus.stepping.known import named_where
from tarsus.stepping.runge_kutta import Rate
from tarsus.stepping.slots import with_slots
from tarsus.stepping.softened import softened
from tarsus.stepping.subcycling import rest_of_step, subcycles, with_sinking


@dataclass(frozen=True, eq=False)
class ContactKinematics:
    """A contact, and how its velocity follows from u."""

    contact: Contact
    attached: Attached

    @property
    def rows(self) -> list[list[SX]]:
        """Rows (3, nu) with contact velocity = rows u."""
        return self.attached.contact_rows

    @staticmethod
    def of(at: ContactPoint) -> ContactKinematics:
        """Describe a contact point as the contact of a law."""
        ball = Roundness(at.radius, at.rotation, at.arm, at.tracked)
        contact = Contact(
            at.gap,
            at.velocity,
            at.point,
            at.frame,
            *at.material,
            ball,
            at.velocity_product,
            at.away,
        )
        return ContactKinematics(contact, at.attached)


@dataclass(frozen=True, eq=False)
class StepView:
    """What a step sees at its coordinates, whichever joints are locked.

    Parameters
    ----------
    kin : Kinematics
        Pose and velocity of the robot.
    free : FreeMotion
        Mass matrix, and force without contact.
    moving : FastMotion
        Worlds where a joint turns fast.
    touching : list of ContactKinematics
        The primary contacts.
    gaps : SecondaryGaps or None
        Of the secondary contacts; None without slots.
    """

    kin: Kinematics
    free: FreeMotion
    moving: FastMotion
    touching: list[ContactKinematics]
    gaps: SecondaryGaps | None


def seen(scene: Scene, q: SX, start: StepStart, builder: Builder) -> StepView:
    """Evaluate kinematics, dynamics and contacts at q (nq,).

    A timed program has the sections of Gehring 2014, Fig. 7.
    """
    moving = builder.stamp("M, h", fast_motion(scene, q, start, builder))
    kin = builder.stamp("M, h", kinematics(scene.mechanism, q, start.u))
    if scene.pairs or scene.spans:  # loops find those near; M, behind them, needs R again
        kin = replace(kin, R=builder.store_all("R", kin.R))
    primary = [scene.candidates[i] for i in scene.geometry.primary]
    known = spots(scene.geometry, kin, start.terrain, scene.candidates, builder)
    points = builder.stamp(
        "rest", contact_points(scene.geometry, kin, start.terrain, primary, known)
    )
    found = [not_ahead(ContactKinematics.of(point), moving, (scene, start)) for point in points]
    free = builder.stamp("M, h", free_motion(kin, start.inertias, drive(start), start.dt))
    ahead = rest_of_step(start) if subcycles(scene, start) else None
    gaps = None
    if scene.slots:
        gaps = secondary_gaps(scene.geometry, kin, start.terrain, builder, known, ahead)
    return StepView(kin, free, moving, found, gaps)


def velocity_step(
    scene: Scene, view: StepView, start: StepStart, attempt: Attempt, builder: Builder
) -> StepOutputs:
    """Return the end velocity u^E that follows from u^S and the law's impulses.

    Everything is taken at the coordinates of the view. An attempt says which joints are locked and
    from where the solver begins.
    """
    robot = without_contact(scene, view.kin, view.free, start, attempt.locked, view.moving, builder)

    def solved(
        contacts: list[ContactKinematics], start: StepStart, attempt: Attempt
    ) -> StepOutputs:
        coupling = couple(robot, [touch.attached for touch in contacts], builder, attempt.bounded)
        problem = contact_problem(scene.law, coupling, contacts, start, attempt, builder)
        problem = replace(problem, loose=loose_mobilities(scene, attempt, view.free.M, coupling))
        impulses = solution(scene.law, problem, start, builder)
        return moved(scene, coupling, impulses, start, attempt)

    if view.gaps is None:
        return builder.stamp("u_E", solved(view.touching, start, attempt))

    def at_slot(slot: SlotContact) -> ContactKinematics:
        point = slot_contact_point(scene.geometry, view.kin, start.terrain, slot)
        return not_ahead(ContactKinematics.of(point), view.moving, (scene, start))

    slots = view.touching, view.gaps, at_slot, solved
    return builder.stamp("u_E", with_slots(scene, *slots, start, attempt, builder))


def moved(
    scene: Scene,
    coupling: Coupling,
    impulses: ContactSolution,
    start: StepStart,
    attempt: Attempt,
) -> StepOutputs:
    """Return the end of a step under the law's impulses, at the start's coordinates."""
    u, contact = velocity_after(coupling, impulses)
    # what carries the coordinates, where forces acted at other times than the step's instant
    carried = None
    if subcycles(scene, start):
        carried, _ = velocity_after(coupling, contact.as_carried())
    answer = contact.bilateral
    assert answer is not None
    joints = impulses_in_joints(coupling, attempt, u, answer, contact.joints)
    closing = answer.numel() - (0 if attempt.locked is None else len(attempt.locked.loops))
    contact = replace(contact, bilateral=answer[:closing])
    return StepOutputs(start.q, u, contact, joints=joints, carried=carried)


def contact_kinematics(
    scene: Scene,
    kin: Kinematics,
    terrain: object,
    which: Sequence[Candidate | Span | Pair] | None = None,
) -> list[ContactKinematics]:
    """Return the contacts of everything that may touch, or of some of it."""
    contacts = scene.geometry.contacts if which is None else which
    found = contact_points(scene.geometry, kin, terrain, contacts)
    return [ContactKinematics.of(at) for at in found]


def not_ahead(
    touch: ContactKinematics, moving: FastMotion, at: tuple[Scene, StepStart]
) -> ContactKinematics:
    """Return the contact without its velocity product in worlds where a joint turns fast.

    Taken at the start of the step, the product would predict the end as poorly as c does. At an
    impact no time passes, and it is zero.
    """
    (scene, start), own = at, touch.contact.velocity_product
    product = SX.zeros(3) if start.evaluation.impact else ca.if_else(moving.fast, 0, own)
    contact = replace(touch.contact, velocity_product=product)
    return replace(touch, contact=with_sinking(contact, scene, start))


def rate(scene: Scene, at: StepStart, builder: Builder) -> Rate:
    """Return the derivative of the state at an instant, for Runge-Kutta steppers.

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
            f" accept: use one of {named_where(lambda stepper: stepper.takes_impulses)}, or a law"
            " that computes forces, such as 'compliant'.",
            name_of(scene.law),
        )
    mechanism, kin = scene.mechanism, kinematics(scene.mechanism, at.q, at.u)
    if mechanism.constrained:
        able = named_where(lambda stepper: stepper.holds_constraints)
        raise Unsupported(
            "this stepper does not support cut joints, closed loops and mimic joints: use one of"
            f" {able}.",
            mechanism.name,
        )
    touching = contact_kinematics(scene, kin, at.terrain)
    h = at.tau - rnea.bias(kin, at.inertias) - dissipation(mechanism, at.u) * at.u
    if springs.has_springs(mechanism):
        h += springs.force(kin)
    moving = coordinate_rate(mechanism, at.q, at.u)
    forces, memory = [], at.memory
    if isinstance(scene.law, ForceLaw):
        contacts = [touch.contact for touch in touching]
        closed = [takes_part(scene.law, contact, at, i) for i, contact in enumerate(contacts)]
        forces, memory = forces_of(scene.law, contacts, closed, at.law, memory)
    for touch, force in zip(touching, forces, strict=False):
        h += ca.mtimes(ca.vertcat(*(ca.horzcat(*row) for row in touch.rows)).T, force)
    M = crba.mass_matrix(kin, at.inertias)
    factored = factorize_tree(lower(M), mechanism.nu)
    change = ca.vertcat(*factored.solve(entries(h + joint_states.spring(scene, kin, M))))
    if isinstance(scene.law, ForceLaw) or not touching:
        return Rate(moving, change, forces, memory)

    # a law that solves for all contacts together
    loose = Coupling(
        builder.store_all("L", factored), builder.store("slope", change), [], [], None, []
    )
    coupling = couple(loose, [touch.attached for touch in touching], builder)
    seen = contact_problem(scene.law, coupling, touching, at, Attempt(), builder)
    begun = held = None
    if scene.law.impulsive:
        begun = builder.store("begun", instants.begun(seen.contacts, seen.active))
        held = begun if at.evaluation.begun is None else at.evaluation.begun
    solved = solution(scene.law, instants.over_window(seen, held), at, builder)
    forces = [impulse / at.dt for impulse in solved.impulses]
    change, _ = velocity_after(coupling, replace(solved, impulses=forces))
    found = Rate(moving, change, forces, solved.memory, begun, solved.iterations, solved.converged)
    return builder.store_all("rate", found)


def takes_part(law: Law, contact: Contact, at: StepStart, i: int) -> SX:
    """Return 1 if the law calls contact i closed and the step does not hold it open, else 0."""
    closed = law.is_closed(contact, law.memory_of(at.memory, i))
    if at.evaluation.overrides is None:
        return closed
    return ca.logic_and(closed, at.evaluation.overrides[i] <= 0)


def with_override(contact: Contact, at: StepStart, i: int) -> Contact:
    """Return contact i, no higher than the ground if the step says that it stands there."""
    if at.evaluation.overrides is None:
        return contact
    gap = ca.if_else(at.evaluation.overrides[i] < 0, ca.fmin(contact.gap, 0), contact.gap)
    return replace(contact, gap=gap)


def begun(scene: Scene, at: StepStart) -> Values:
    """Return what a step that begins here keeps for a law of impulses (`instants.begun`)."""
    if not (scene.law.impulsive and scene.candidates):
        return {}
    kin = kinematics(scene.mechanism, at.q, at.u)
    touching = enumerate(contact_kinematics(scene, kin, at.terrain))
    contacts = [with_override(touch.contact, at, i) for i, touch in touching]
    closed = [takes_part(scene.law, contact, at, i) for i, contact in enumerate(contacts)]
    return {"begun": instants.begun(contacts, closed)}


def contact_problem(
    law: Law,
    coupling: Coupling,
    touching: list[ContactKinematics],
    start: StepStart,
    attempt: Attempt,
    builder: Builder,
) -> ContactProblem:
    """Pose the contact problem of a step: gaps, velocities and Delassus matrix.

    Constraints are eliminated, unless the law asks for them.
    """
    locked, bounded = attempt.locked, attempt.bounded
    # contacts with what event location says of them; those that take part
    contacts = [with_override(touch.contact, start, i) for i, touch in enumerate(touching)]
    active = [takes_part(law, contact, start, i) for i, contact in enumerate(contacts)]
    if not isinstance(law, ForceLaw):
        active = blocked.without(active, coupling, [touch.attached for touch in touching])

    # both apart, for a law that iterates over the constraints too
    def bilateral() -> Bilateral:
        assert coupling.constraints is not None
        G = delassus(coupling, mobility(coupling, builder, held=False), builder)
        free = list_triples(coupling.free_velocities(held=False))
        limited = 0 if locked is None else len(locked.loops)
        return Bilateral(
            free,
            G,
            [coupling.of_contacts(row) for row in coupling.G_BU],
            coupling.constraints.G,
            coupling.constraints.gamma,
            ca.vertcat(start.bilateral, SX.zeros(limited)),
        )

    # the constraints solved for; matrices only when asked for
    between = cache(lambda: mobility(coupling, builder, held=True))
    all_shared = all(contact.arms is not None for contact in coupling.contacts)
    return ContactProblem(
        contacts=contacts,
        active=active,
        free=list_triples(coupling.free_velocities(held=True)),
        dt=start.dt,
        make_delassus=lambda: delassus(coupling, between(), builder),
        make_velocity_form=lambda: velocity_form(coupling, builder),
        make_bilateral=bilateral if coupling.constraints else None,
        make_shared=(lambda: shared(coupling, between())) if all_shared else None,
        softened=partial(softened, coupling, builder),
        restart=attempt.restart,
        at_rest=attempt.at_rest,
        warm_start=attempt.warm_start,
        loads_determined=locked is not None and bool(locked.rubbing),
        joints=joint_rows(coupling, between(), bounded, builder) if bounded else None,
        instant=start.evaluation.instant if start.evaluation.subcycles else None,
    )


def solution(law: Law, problem: ContactProblem, at: StepStart, builder: Builder) -> ContactSolution:
    """Solve the contact problem by the law; without contacts there is nothing to solve."""
    if not problem.n:
        stage = SX(0) if law.stages else None
        return ContactSolution([], SX(0, 1), SX(0), SX(1), stage=stage)
    return law.solve(problem, at.law, at.memory, builder)


def velocity_after(coupling: Coupling, contact: ContactSolution) -> tuple[SX, ContactSolution]:
    """Return u_end (nu,) = u_free + M^-1 (W_U L_U + W_B L_B), and the solution with L_B."""
    impulse = entries(contact.stacked())
    on_rows = coupling.on_rows(impulse, contact.joints)
    answer = (
        coupling.constraint_impulses(on_rows)
        if contact.bilateral is None
        else entries(contact.bilateral)
    )
    acting = list(zip(coupling.W_half, on_rows, strict=True))
    if coupling.constraints is not None:
        acting += zip(coupling.constraints.half, answer, strict=True)
    moved = coupling.u_free + ca.vertcat(*velocity_change(coupling.factor, acting))
    return moved, replace(contact, bilateral=ca.vertcat(SX(0, 1), *answer))
