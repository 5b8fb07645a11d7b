"""The hall where the wings meet: from a robot at a configuration to a contact problem, and back to velocities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.sparse_ldl import Factor, factorise, lower
from tarsus.contact.base import ForceLaw, Law, asked
from tarsus.contact.problem import Bilateral, Blocks, Contact, ContactProblem, ContactSolution, Roundness, VelocityForm
from tarsus.dynamics import constraint_solve, crba, jacobian, loop_constraints, rnea
from tarsus.dynamics.constraint_solve import Constraints, dot
from tarsus.dynamics.free_motion import Drive, dissipation, smooth
from tarsus.dynamics.kinematics import Kinematics, coordinate_rate, kinematics
from tarsus.errors import TarsusError
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene, StepInputs
from tarsus.stepping.rare_contacts import by_cases
from tarsus.stepping.runge_kutta import Rate


@dataclass(frozen=True, eq=False)
class Touch:
    """A contact candidate at the ground: rows (3, nu) with gamma = rows u, sparse."""

    contact: Contact
    rows: list[list[SX]]


@dataclass(frozen=True, eq=False)
class Coupling:
    """How percussions move the robot: its factor, its velocity without them, L^-T w for each force direction w.

    rows: of all contacts, three each; half_solved: L^-T of each; u_free (nu,): without contact and constraints;
    constraints: those of cut joints and loops, if any; felt[b][k]: entry of G_BU, what constraint b feels of row k.
    """

    factor: Factor
    u_free: SX
    rows: list[list[SX]]
    half_solved: list[list[SX]]
    constraints: Constraints | None
    felt: list[list[SX]]

    def answered(self, impulse: list[SX]) -> list[SX]:
        """Percussions (nb,) of the constraints that hold the robot under contact percussions (3n,)."""
        if self.constraints is None:
            return []
        driven = zip(self.constraints.gamma, self.felt, strict=True)
        return self.constraints.percussions([gamma + dot(row, impulse) for gamma, row in driven])

    def free_velocities(self, held: bool) -> list[SX]:
        """Contact velocities (3n,) at the end of the step without contact, the constraints acting or not."""
        velocities = [dot(row, entries(self.u_free)) for row in self.rows]
        if self.constraints is None or not held:
            return velocities
        answer = self.answered([SX(0)] * len(self.rows))
        return [
            v + dot(list(column), answer) for v, column in zip(velocities, zip(*self.felt, strict=True), strict=True)
        ]


def velocity_step(scene: Scene, q: SX, start: StepInputs, builder: Builder) -> tuple[SX, ContactSolution]:
    """u^E (nu,) from u^S and the law's percussions, with everything that depends on coordinates taken at q.

    A timed program has the sections of document 000, Fig. 7: M and h, M^-1, G_B with its inverse, u_E, the rest.
    """
    kin = builder.stamp("M, h", kinematics(scene.mechanism, q, start.u))
    touching = builder.stamp("rest", touches(scene, kin, start.terrain))
    robot = without_contact(scene, kin, start, builder)

    def solved(which: list[Touch], at: StepInputs) -> tuple[SX, ContactSolution]:
        coupling = couple(robot, which, builder)
        problem = contact_problem(scene.law, coupling, which, at, builder)
        contact = scene.law.solve(problem, at.law, at.memory, builder)
        return velocity_after(coupling, contact)

    falls = [takes_part(scene.law, touching[i].contact, start, i) for i in scene.seldom]
    return builder.stamp("u_E", by_cases(scene, touching, falls, start, solved, builder))


def rate(scene: Scene, at: StepInputs) -> Rate:
    """u' = M^-1 (tau - c - g - D u + W f) at an instant: the damping is explicit, unlike in `smooth`."""
    mechanism, kin = scene.mechanism, kinematics(scene.mechanism, at.q, at.u)
    if mechanism.loops:
        raise TarsusError(
            "cut joints and closed loops are held at the level of velocity: use the stepper 'midpoint' or "
            "'symplectic_euler'."
        )
    touching = touches(scene, kin, at.terrain)
    forces, memory = contact_forces(scene, touching, at)
    h = at.tau - rnea.bias(kin, at.inertias) - dissipation(mechanism, at.u) * at.u
    for touch, force in zip(touching, forces, strict=True):
        h += ca.mtimes(ca.vertcat(*(ca.horzcat(*row) for row in touch.rows)).T, force)
    factored = factorise(lower(crba.mass_matrix(kin, at.inertias)), mechanism.nu)
    change = ca.vertcat(*factored.solve(entries(h)))
    return Rate(coordinate_rate(mechanism, at.q, at.u), change, forces, memory)


def contact_forces(scene: Scene, touching: list[Touch], at: StepInputs) -> tuple[list[SX], SX]:
    """The law's force (3,) on every contact at an instant, zero where it is open, and the law's next memory."""
    if not isinstance(scene.law, ForceLaw):
        raise TarsusError(
            f"the law {_name(scene.law)!r} gives percussions, not forces: use the stepper 'midpoint' or "
            "'symplectic_euler', or a force law such as 'compliant'."
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
    return closed if at.told is None else ca.logic_and(closed, at.told[i] <= 0)


def as_told(touch: Touch, at: StepInputs, i: int) -> Contact:
    """Contact i, no higher than the ground if the step says that it stands there."""
    contact = touch.contact
    if at.told is None:
        return contact
    return replace(contact, gap=ca.if_else(at.told[i] < 0, ca.fmin(contact.gap, 0), contact.gap))


def touches(scene: Scene, kin: Kinematics, terrain: object) -> list[Touch]:
    """Gap, frame, Jacobian and velocity of every candidate."""
    found = []
    centres = [jacobian.position(kin, c.body, constant(c.position)) for c in scene.candidates]
    surfaces = scene.terrain.surfaces(centres, terrain)
    velocity_product = rnea.velocity_products(kin)
    for candidate, centre, (distance, frame) in zip(scene.candidates, centres, surfaces, strict=True):
        middle = constant(candidate.position)
        arm = -candidate.radius * jacobian.direction_in_body(kin, candidate.body, frame[0, :].T)
        columns = jacobian.point_jacobian(kin, candidate.body, middle + arm)
        rows = ca.mtimes(frame, jacobian.dense(columns, scene.mechanism.nu))
        point = centre - candidate.radius * frame[0, :].T
        material = scene.terrain.material(point, terrain)
        roundness = Roundness(candidate.radius, kin.world_rotation[candidate.body])
        gained = ca.mtimes(frame, velocity_product(candidate.body, middle, arm))
        contact = Contact(
            distance - candidate.radius, ca.mtimes(rows, kin.u), point, frame, *material, roundness, gained
        )
        found.append(Touch(contact, [[rows[k, j] for j in range(scene.mechanism.nu)] for k in range(3)]))
    return found


def without_contact(scene: Scene, kin: Kinematics, start: StepInputs, builder: Builder) -> Coupling:
    """The robot and its constraints, kept for use before and after the law's iterations."""
    free = builder.stamp("M, h", smooth(kin, start.inertias, Drive(start.tau, start.tau_loops), start.dt))
    factor = builder.stamp("M^-1", factorise(lower(free.M), scene.mechanism.nu))
    M = builder.hold("L", factor)
    u_free = builder.keep("u_free", kin.u + ca.vertcat(*factor.solve(entries(start.dt * free.h))))
    builder.stamp("u_E")
    if not scene.mechanism.loops:
        return Coupling(M, u_free, [], [], None, [])
    directions = loop_constraints.directions(kin)
    half_B = builder.hold("half_B", [M.backward(row) for row in directions])
    G_B = builder.hold("G_B", constraint_solve.delassus(M, half_B, half_B))
    bent = entries(loop_constraints.bending(kin, start.dt))
    gamma = [dot(row, entries(u_free)) - wanted for row, wanted in zip(directions, bent, strict=True)]
    if scene.stabilisation:
        gamma = [
            g + scene.stabilisation / start.dt * gap
            for g, gap in zip(gamma, entries(loop_constraints.gaps(kin)), strict=True)
        ]
    gamma = entries(builder.keep("gamma_B", ca.vertcat(*gamma)))
    constraints = Constraints(half_B, G_B, builder.hold("L_B", constraint_solve.factored(G_B)), gamma)
    builder.stamp("G_B")
    return Coupling(M, u_free, [], [], constraints, [])


def couple(robot: Coupling, touching: list[Touch], builder: Builder) -> Coupling:
    """How these contacts move the robot."""
    rows = [row for touch in touching for row in touch.rows]
    half = builder.hold("half_solved", [robot.factor.backward(row) for row in rows])
    if robot.constraints is None:
        return replace(robot, rows=rows, half_solved=half)
    felt = builder.hold("G_BU", constraint_solve.delassus(robot.factor, robot.constraints.half, half))
    return replace(robot, rows=rows, half_solved=half, felt=felt)


def contact_problem(
    law: Law, coupling: Coupling, touching: list[Touch], start: StepInputs, builder: Builder
) -> ContactProblem:
    """Gaps, velocities and Delassus matrix as a law wants them, the constraints solved for unless it asks for them."""
    contacts = [as_told(touch, start, i) for i, touch in enumerate(touching)]

    def grouped(velocities: list[SX]) -> list[SX]:
        return [ca.vertcat(*velocities[3 * i : 3 * i + 3]) for i in range(len(contacts))]

    def bilateral() -> Bilateral:
        assert coupling.constraints is not None
        G = _delassus(coupling, builder, held=False)
        free = grouped(coupling.free_velocities(held=False))
        return Bilateral(free, G, coupling.felt, coupling.constraints.G, coupling.constraints.gamma, start.bilateral)

    return ContactProblem(
        contacts=contacts,
        active=[takes_part(law, contact, start, i) for i, contact in enumerate(contacts)],
        free=grouped(coupling.free_velocities(held=True)),
        dt=start.dt,
        make_delassus=lambda: _delassus(coupling, builder, held=True),
        make_velocity_form=lambda: _velocity_form(coupling, builder),
        make_bilateral=bilateral if coupling.constraints else None,
    )


def velocity_after(coupling: Coupling, contact: ContactSolution) -> tuple[SX, ContactSolution]:
    """u_end (nu,) = u_free + M^-1 (W_U L_U + W_B L_B), and the solution with the constraints' percussions L_B."""
    impulse = entries(contact.stacked())
    answer = coupling.answered(impulse) if contact.bilateral is None else entries(contact.bilateral)
    acting = list(zip(coupling.half_solved, impulse, strict=True))
    if coupling.constraints is not None:
        acting += zip(coupling.constraints.half, answer, strict=True)
    moved = coupling.u_free + ca.vertcat(*_response(coupling.factor, acting))
    return moved, replace(contact, bilateral=ca.vertcat(SX(0, 1), *answer))


def _response(M: Factor, acting: list[tuple[list[SX], SX]]) -> list[SX]:
    """M^-1 sum w L of half-solved directions and percussions, from the leaves to the root and back."""
    y = [SX(0)] * M.size
    for row, impulse in acting:
        y = [a + b * impulse for a, b in zip(y, row, strict=True)]
    return M.forward([d * a for d, a in zip(M.inverse_pivots, y, strict=True)])


def _name(thing: object) -> str:
    """The name of the file that a law stands in."""
    return type(thing).__module__.rpartition(".")[2]


def _delassus(coupling: Coupling, builder: Builder, *, held: bool) -> Blocks:
    """G = W^T M^-1 W of all contacts, or with the constraints acting G - G_UB G_B^-1 G_BU."""
    entry = _products(coupling.factor, coupling.half_solved)
    if held and coupling.constraints is not None:
        inner = coupling.constraints.factor
        taken = _products(inner, [inner.backward(list(column)) for column in zip(*coupling.felt, strict=True)])
        loose, entry = entry, lambda r, c: loose(r, c) - taken(r, c)
    lower_places = [(r, c) for r in range(len(coupling.rows)) for c in range(r + 1)]
    values = builder.hold("G", [entry(r, c) for r, c in lower_places])  # apart, bodies' blocks are zero
    places = {place: k for k, place in enumerate(lower_places)}
    n = len(coupling.rows) // 3

    def block(i: int, j: int) -> SX:
        at = [[(3 * i + k, 3 * j + m) for m in range(3)] for k in range(3)]
        return ca.vertcat(*(ca.horzcat(*(values[places[max(p), min(p)]] for p in row)) for row in at))

    return {(i, j): block(i, j) for i in range(n) for j in range(n)}


def _products(M: Factor, half: list[list[SX]]) -> Callable[[int, int], SX]:
    """(r, c) -> w_r^T M^-1 w_c of half-solved directions."""
    scaled = [[d * a for d, a in zip(M.inverse_pivots, row, strict=True)] for row in half]
    return lambda r, c: dot(half[r], scaled[c])


def _velocity_form(coupling: Coupling, builder: Builder) -> VelocityForm:
    """The same problem in velocities; with constraints, each direction brings their answer with it."""
    nu, columns = coupling.factor.size, []
    u_free, hold = coupling.u_free, coupling.constraints
    if hold is not None:
        answer = coupling.answered([SX(0)] * len(coupling.rows))
        u_free = u_free + ca.vertcat(*_response(coupling.factor, list(zip(hold.half, answer, strict=True))))
    for k, row in enumerate(coupling.half_solved):
        acting = [(row, SX(1))]
        if hold is not None:
            answer = hold.percussions([felt[k] for felt in coupling.felt])
            acting += zip(hold.half, answer, strict=True)
        columns += _response(coupling.factor, acting)
    response = ca.reshape(ca.vertcat(*builder.hold("response", columns)), nu, len(coupling.rows))
    W = builder.hold("W", [entry for row in coupling.rows for entry in row])
    return VelocityForm(u_free, ca.reshape(ca.vertcat(*W), nu, len(coupling.rows)), response)
