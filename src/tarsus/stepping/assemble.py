"""The hall where the wings meet: from a robot to a contact problem, and back to velocities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import list_triples
from tarsus.algebra.ldl import factorize_tree, lower
from tarsus.contact.base import ForceLaw, Law, asked
from tarsus.contact.problem import (
    Bilateral,
    Blocks,
    Contact,
    ContactProblem,
    ContactSolution,
    Roundness,
    VelocityForm,
)
from tarsus.dynamics import crba, jacobian, rnea
from tarsus.dynamics.free_motion import dissipation
from tarsus.dynamics.kinematics import Kinematics, coordinate_rate, kinematics
from tarsus.errors import TarsusError
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.registry import name_of
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene, StepInputs, named_where
from tarsus.stepping.coupling import (
    Coupling,
    couple,
    mass_products,
    softened,
    velocity_change,
    without_contact,
)
from tarsus.stepping.fast_motion import FastMotion, fast_motion
from tarsus.stepping.rare_contacts import with_rare_contacts
from tarsus.stepping.runge_kutta import Rate


@dataclass(frozen=True, eq=False)
class ContactKinematics:
    """A contact candidate at the ground: rows (3, nu) with gamma = rows u, sparse."""

    contact: Contact
    rows: list[list[SX]]


def velocity_step(
    scene: Scene, q: SX, start: StepInputs, builder: Builder
) -> tuple[SX, ContactSolution]:
    """u^E (nu,) from u^S and the law's impulses, all that depends on coordinates taken at q.

    A timed program has the sections of Gehring 2014, Fig. 7: M and h, M^-1, G_B with its inverse,
    u_E, the rest.
    """
    moving = builder.stamp("M, h", fast_motion(scene.mechanism, q, start, builder))
    kin = builder.stamp("M, h", kinematics(scene.mechanism, q, start.u))
    touching = builder.stamp("rest", contact_kinematics(scene, kin, start.terrain))
    touching = [not_ahead(touch, moving) for touch in touching]
    robot = without_contact(scene, kin, start, moving, builder)

    def solved(which: list[ContactKinematics], at: StepInputs) -> tuple[SX, ContactSolution]:
        coupling = couple(robot, [row for touch in which for row in touch.rows], builder)
        problem = contact_problem(scene.law, coupling, which, at, builder)
        return velocity_after(coupling, solution(scene.law, problem, at, builder))

    falls = [takes_part(scene.law, touching[i].contact, start, i) for i in scene.rare]
    return builder.stamp("u_E", with_rare_contacts(scene, touching, falls, start, solved, builder))


def not_ahead(touch: ContactKinematics, moving: FastMotion) -> ContactKinematics:
    """The contact without its velocity product where a joint turns fast: taken at the start of the
    step it would say as little of the step's end as c does.
    """
    product = ca.if_else(moving.fast, 0, touch.contact.velocity_product)
    return replace(touch, contact=replace(touch.contact, velocity_product=product))


def rate(scene: Scene, at: StepInputs) -> Rate:
    """u' = M^-1 (tau - c - g - D u + W f) at an instant: explicit damping, unlike `free_motion`."""
    mechanism, kin = scene.mechanism, kinematics(scene.mechanism, at.q, at.u)
    if mechanism.loops:
        raise TarsusError(
            "cut joints and closed loops are held at the level of velocity: use a stepper that"
            f" holds them ({named_where(lambda stepper: stepper.holds_constraints)})."
        )
    touching = contact_kinematics(scene, kin, at.terrain)
    forces, memory = contact_forces(scene, touching, at)
    h = at.tau - rnea.bias(kin, at.inertias) - dissipation(mechanism, at.u) * at.u
    for touch, force in zip(touching, forces, strict=True):
        h += ca.mtimes(ca.vertcat(*(ca.horzcat(*row) for row in touch.rows)).T, force)
    factored = factorize_tree(lower(crba.mass_matrix(kin, at.inertias)), mechanism.nu)
    change = ca.vertcat(*factored.solve(entries(h)))
    return Rate(coordinate_rate(mechanism, at.q, at.u), change, forces, memory)


def contact_forces(
    scene: Scene, touching: list[ContactKinematics], at: StepInputs
) -> tuple[list[SX], SX]:
    """The law's force (3,) on every contact at an instant, zero where it is open, and the law's
    next memory.
    """
    if not isinstance(scene.law, ForceLaw):
        raise TarsusError(
            f"the law {name_of(scene.law)!r} gives impulses, not forces: use a stepper that takes"
            f" them ({named_where(lambda stepper: stepper.takes_impulses)}), or a force law such as"
            " 'compliant'."
        )
    forces, memories = [], [SX(0, 1)]
    for i, touch in enumerate(touching):
        own, closed = scene.law.own(at.memory, i), takes_part(scene.law, touch.contact, at, i)
        force, pressed = asked(scene.law, touch.contact, at.law, own)
        forces.append(ca.if_else(closed, force, 0))
        memories.append(ca.if_else(closed, pressed, scene.law.released(touch.contact, at.law, own)))
    return forces, ca.vertcat(*memories)


def takes_part(law: Law, contact: Contact, at: StepInputs, i: int) -> SX:
    """1 if the law calls contact i closed and the step does not hold it open, else 0."""
    closed = law.closed(contact, law.own(at.memory, i))
    return (
        closed if at.contact_override is None else ca.logic_and(closed, at.contact_override[i] <= 0)
    )


def with_override(touch: ContactKinematics, at: StepInputs, i: int) -> Contact:
    """Contact i, no higher than the ground if the step says that it stands there."""
    contact = touch.contact
    if at.contact_override is None:
        return contact
    gap = ca.if_else(at.contact_override[i] < 0, ca.fmin(contact.gap, 0), contact.gap)
    return replace(contact, gap=gap, located=True)


def contact_kinematics(scene: Scene, kin: Kinematics, terrain: object) -> list[ContactKinematics]:
    """Gap, frame, Jacobian and velocity of every candidate."""
    # the ground below all candidates at once
    found = []
    centers = [jacobian.position(kin, c.body, constant(c.position)) for c in scene.candidates]
    surfaces = scene.terrain.surfaces(centers, terrain)
    velocity_product = rnea.velocity_products(kin)
    for candidate, center, (distance, frame) in zip(
        scene.candidates, centers, surfaces, strict=True
    ):
        # the candidate's lowest point and how it moves
        middle = constant(candidate.position)
        arm = -candidate.radius * jacobian.direction_in_body(kin, candidate.body, frame[0, :].T)
        columns = jacobian.point_jacobian(kin, candidate.body, middle + arm)
        rows = ca.mtimes(frame, jacobian.dense(columns, scene.mechanism.nu))
        point = center - candidate.radius * frame[0, :].T
        # what the ground says there
        material = scene.terrain.material(point, terrain)
        roundness = Roundness(candidate.radius, kin.world_rotation[candidate.body])
        gained = ca.mtimes(frame, velocity_product(candidate.body, middle, arm))
        # in the contact frame
        contact = Contact(
            distance - candidate.radius,
            ca.mtimes(rows, kin.u),
            point,
            frame,
            *material,
            roundness,
            gained,
        )
        found.append(
            ContactKinematics(
                contact, [[rows[k, j] for j in range(scene.mechanism.nu)] for k in range(3)]
            )
        )
    return found


def contact_problem(
    law: Law,
    coupling: Coupling,
    touching: list[ContactKinematics],
    start: StepInputs,
    builder: Builder,
) -> ContactProblem:
    """Gaps, velocities and Delassus matrix as a law wants them, the constraints solved for unless
    it asks for them.
    """
    # contacts with what event location says of them
    contacts = [with_override(touch, start, i) for i, touch in enumerate(touching)]

    # both apart, for a law that iterates over the constraints too
    def bilateral() -> Bilateral:
        assert coupling.constraints is not None
        G = _delassus(coupling, builder, held=False)
        free = list_triples(coupling.free_velocities(held=False))
        return Bilateral(
            free,
            G,
            coupling.G_BU,
            coupling.constraints.G,
            coupling.constraints.gamma,
            start.bilateral,
        )

    # the constraints solved for; matrices only when asked for
    return ContactProblem(
        contacts=contacts,
        active=[takes_part(law, contact, start, i) for i, contact in enumerate(contacts)],
        free=list_triples(coupling.free_velocities(held=True)),
        dt=start.dt,
        make_delassus=lambda: _delassus(coupling, builder, held=True),
        make_velocity_form=lambda: _velocity_form(coupling, builder),
        make_bilateral=bilateral if coupling.constraints else None,
        softened=None if coupling.constraints else partial(softened, coupling),
    )


def solution(
    law: Law, problem: ContactProblem, at: StepInputs, builder: Builder
) -> ContactSolution:
    """The law's impulses; a law is asked only where there are contacts."""
    if not problem.n:
        return ContactSolution([], SX(0, 1), SX(0), SX(1))
    return law.solve(problem, at.law, at.memory, builder)


def velocity_after(coupling: Coupling, contact: ContactSolution) -> tuple[SX, ContactSolution]:
    """u_end (nu,) = u_free + M^-1 (W_U L_U + W_B L_B), and the solution with impulses L_B."""
    impulse = entries(contact.stacked())
    answer = (
        coupling.constraint_impulses(impulse)
        if contact.bilateral is None
        else entries(contact.bilateral)
    )
    acting = list(zip(coupling.W_half, impulse, strict=True))
    if coupling.constraints is not None:
        acting += zip(coupling.constraints.half, answer, strict=True)
    moved = coupling.u_free + ca.vertcat(*velocity_change(coupling.factor, acting))
    return moved, replace(contact, bilateral=ca.vertcat(SX(0, 1), *answer))


def _delassus(coupling: Coupling, builder: Builder, *, held: bool) -> Blocks:
    """G = W^T M^-1 W of all contacts, or with the constraints acting G - G_UB G_B^-1 G_BU."""
    entry = mass_products(coupling.factor, coupling.W_half)
    if held and coupling.constraints is not None:
        inner = coupling.constraints.factor
        taken = mass_products(
            inner, [inner.backward(list(column)) for column in zip(*coupling.G_BU, strict=True)]
        )
        loose, entry = entry, lambda r, c: loose(r, c) - taken(r, c)
    lower_places = [(r, c) for r in range(len(coupling.rows)) for c in range(r + 1)]
    # apart, bodies' blocks are zero
    values = builder.hold("G", [entry(r, c) for r, c in lower_places])
    places = {place: k for k, place in enumerate(lower_places)}
    n = len(coupling.rows) // 3

    def block(i: int, j: int) -> SX:
        at = [[(3 * i + k, 3 * j + m) for m in range(3)] for k in range(3)]
        return ca.vertcat(
            *(ca.horzcat(*(values[places[max(p), min(p)]] for p in row)) for row in at)
        )

    return {(i, j): block(i, j) for i in range(n) for j in range(n)}


def _velocity_form(coupling: Coupling, builder: Builder) -> VelocityForm:
    """The same problem in velocities; with constraints, each direction brings their answer."""
    nu, columns = coupling.factor.size, []
    u_free, hold = coupling.u_free, coupling.constraints
    if hold is not None:
        answer = coupling.constraint_impulses([SX(0)] * len(coupling.rows))
        u_free = u_free + ca.vertcat(
            *velocity_change(coupling.factor, list(zip(hold.half, answer, strict=True)))
        )
    for k, row in enumerate(coupling.W_half):
        acting = [(row, SX(1))]
        if hold is not None:
            answer = hold.impulses([G_BU[k] for G_BU in coupling.G_BU])
            acting += zip(hold.half, answer, strict=True)
        columns += velocity_change(coupling.factor, acting)
    response = ca.reshape(ca.vertcat(*builder.hold("response", columns)), nu, len(coupling.rows))
    W = builder.hold("W", [entry for row in coupling.rows for entry in row])
    return VelocityForm(u_free, ca.reshape(ca.vertcat(*W), nu, len(coupling.rows)), response)
