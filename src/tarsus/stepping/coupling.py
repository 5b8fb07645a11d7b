"""How impulses move the robot: free velocity, factored mass matrix, bilateral constraints.

The constraints are those of cut joints and closed loops (Gehring 2014, Eqn. (20)).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.ldl import Factor, factorize_tree, lower
from tarsus.algebra.products import Matrix, dot
from tarsus.collision.contact_point import Attached
from tarsus.dynamics import constraint_solve, loop_constraints
from tarsus.dynamics.actuator_force import scatter
from tarsus.dynamics.constraint_solve import Constraints
from tarsus.dynamics.free_motion import FreeMotion
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import Attempt, Scene, StepStart
from tarsus.stepping.fast_motion import FastMotion
from tarsus.stepping.locked_joints import BoundedJoints, LockedJoints

FREE = 1e20  # times its own mobility: how much a joint that may be locked gives while it is free


@dataclass(frozen=True, eq=False)
class Arm:
    """The rows of a contact in a coupling: the first one, and arms (3, 6) if they are a body's."""

    first: int
    arms: SX | None = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return 3 if self.arms is None else 6


@dataclass(frozen=True, eq=False)
class Coupling:
    """How impulses move the robot: its factored mass matrix, its velocity without them.

    factor: of the mass matrix
    u_free: velocity (nu,) at the step's end without contact and constraints
    rows: three of each contact, or six of the body that several share; behind them one of each
        joint that is solved for together with the contacts
    W_half: L^-T of each row
    constraints: those of cut joints and loops, if any; behind them, one row each, joints that
        close loops and stand at a limit
    G_BU: G_BU[b][k] is what constraint b feels of row k
    contacts: which rows are whose
    stiff: inertia (m,) added to the joints that may be held
    joints: how many joints have rows
    """

    factor: Factor
    u_free: SX
    rows: list[list[SX]]
    W_half: list[list[SX]]
    constraints: Constraints | None
    G_BU: list[list[SX]]
    contacts: list[Arm] = field(default_factory=list)
    stiff: SX = field(default_factory=lambda: SX(0, 1))
    joints: int = 0

    @property
    def joints_first(self) -> int:
        """Where the joints' rows begin."""
        return len(self.rows) - self.joints

    def constraint_impulses(self, impulse: list[SX]) -> list[SX]:
        """Return the constraints' impulses (nb,) that go with the impulses of the rows."""
        if self.constraints is None:
            return []
        driven = zip(self.constraints.gamma, self.G_BU, strict=True)
        return self.constraints.impulses([gamma + dot(row, impulse) for gamma, row in driven])

    def free_velocities(self, held: bool) -> list[SX]:
        """Return the contact velocities (3n,) at the step's end without contact impulses."""
        return self.of_contacts(self.row_velocities(held))

    def row_velocities(self, held: bool) -> list[SX]:
        """Return the same of all rows; held: whether the constraints act."""
        velocities = [dot(row, entries(self.u_free)) for row in self.rows]
        if self.constraints is not None and held:
            answer = self.constraint_impulses([SX(0)] * len(self.rows))
            felt = zip(*self.G_BU, strict=True)
            pairs = zip(velocities, felt, strict=True)
            velocities = [v + dot(list(column), answer) for v, column in pairs]
        return velocities

    def of_contacts(self, values: list[SX]) -> list[SX]:
        """Return three values per contact from one value per row."""
        found = []
        for contact in self.contacts:
            own = values[contact.first : contact.first + contact.size]
            found += own if contact.arms is None else _entries(contact.arms, ca.vertcat(*own))
        return found

    def on_rows(self, impulse: list[SX], joints: SX | None = None) -> list[SX]:
        """Return one impulse per row, from those of contacts (3n,) and of joints' rows (m,)."""
        found = [SX(0)] * self.joints_first
        found += [SX(0)] * self.joints if joints is None else entries(joints)
        for i, contact in enumerate(self.contacts):
            own = impulse[3 * i : 3 * i + 3]
            if contact.arms is not None:
                own = _entries(contact.arms.T, ca.vertcat(*own))
            for k, value in enumerate(own, contact.first):
                found[k] = value if found[k].is_zero() else found[k] + value
        return found

    def by_contact(self, rows: list[list[SX]]) -> list[list[SX]]:
        """Return three vectors (nu,) per contact from one vector per row."""
        columns = [self.of_contacts(list(column)) for column in zip(*rows, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]


def _entries(A: SX, x: SX) -> list[SX]:
    return entries(ca.densify(ca.mtimes(A, x)))


def without_contact(
    scene: Scene,
    kin: Kinematics,
    free: FreeMotion,
    start: StepStart,
    locked: LockedJoints | None,
    moving: FastMotion,
    builder: Builder,
) -> Coupling:
    """Return the robot and its constraints without contacts, some of its joints locked."""
    # the robot: mass matrix, its factor, free velocity
    in_tree, M, stiff = locked and locked.in_tree, free.M, SX(0, 1)
    begun, push = moving.instead_of(kin.u), start.dt * free.h
    if in_tree is not None:
        stiff = in_tree.weight * ca.diag(M)[in_tree.places] + in_tree.drag
        stiff = builder.store("stiff", stiff)
        push = ca.if_else(moving.fast, 0, push)
        begun, push = with_locked(scene.mechanism, in_tree, (M, stiff), (begun, push))
        M += ca.diag(scatter(scene.mechanism, in_tree.places, stiff))
    solved = builder.stamp("M^-1", factorize_tree(lower(M), scene.mechanism.nu))
    factor = builder.store_all("L", solved)
    u_free = (kin.u if in_tree is None else begun) + ca.vertcat(*solved.solve(entries(push)))
    u_free = moving.instead_of(u_free) if in_tree is None else u_free
    u_free = builder.store("u_free", u_free)
    builder.stamp("u_E")
    if not scene.mechanism.constrained:
        return Coupling(factor, u_free, [], [], None, [], stiff=stiff)

    # the constraints: directions, Delassus matrix, velocities without their impulses
    directions = loop_constraints.directions(kin)
    closing, wanted = len(directions), entries(loop_constraints.curvature_correction(kin, start.dt))
    if scene.stabilization:
        back = scene.stabilization / start.dt * loop_constraints.gaps(kin)
        wanted = [g - gap for g, gap in zip(wanted, entries(back), strict=True)]
    if locked is not None:
        directions += locked.loops
        wanted += entries(locked.velocity)[len(locked.places) :]
    half_B = builder.store_all("half_B", [factor.backward(row) for row in directions])
    G_B = constraint_solve.delassus(factor, half_B, half_B)
    if locked is not None:
        G_B = _with_give(G_B, entries(locked.weight)[len(locked.places) :])
    G_B = builder.store_all("G_B", G_B)
    gamma = [dot(row, entries(u_free)) - g for row, g in zip(directions, wanted, strict=True)]
    gamma = entries(builder.store("gamma_B", ca.vertcat(*gamma)))
    factored = builder.store_all("L_B", constraint_solve.factorize(G_B, closing))
    constraints = Constraints(half_B, G_B, factored, gamma, closing)
    builder.stamp("G_B")
    return Coupling(factor, u_free, [], [], constraints, [], stiff=stiff)


def _with_give(G_B: list[list[SX]], weights: list[SX]) -> list[list[SX]]:
    """Return G_B with the rows of loop joints that may be locked softened.

    A joint is as stiff as if `weight` times its own inertia were added to it; with weight 0 it
    carries nothing.
    """
    first = len(G_B) - len(weights)
    for k, weight in enumerate(weights, first):
        give = ca.if_else(weight > 0, 1 / ca.fmax(weight, 1), FREE)
        G_B[k] = [*G_B[k][:k], G_B[k][k] * (1 + give), *G_B[k][k + 1 :]]
    return G_B


def with_locked(
    mechanism: Mechanism, locked: LockedJoints, inertia: tuple[SX, SX], start: tuple[SX, SX]
) -> tuple[SX, SX]:
    """Return the velocity (nu,) to start from, and the impulse (nu,) on it, with joints locked.

    Locked joints start from the rate at which they end the step, so that what holds them is not a
    difference of large numbers.

    inertia: M (nu, nu) and the inertia added to the locked joints
    """
    (M, stiff), (begun, push) = inertia, start
    wanted = begun[:, :]
    for k, at in enumerate(locked.places):
        wanted[at] = ca.if_else(stiff[k] > 0, locked.velocity[k], begun[at])
    pull = locked.friction + stiff * (locked.velocity - ca.vec(wanted[locked.places]))
    return wanted, push + ca.mtimes(M, begun - wanted) + scatter(mechanism, locked.places, pull)


def impulses_in_joints(
    coupling: Coupling, attempt: Attempt, u: SX, answer: SX, joints: SX | None
) -> SX | None:
    """Return `StepOutputs.joints` of a step that ends with u (nu,).

    It follows from the impulses of the constraints, and of the joints' rows if they have any.
    """
    if attempt.bounded is not None and joints is not None:
        return attempt.bounded.limits_and_friction(joints)
    locked = attempt.locked
    if locked is None:
        return None
    closing = entries(answer)[answer.numel() - len(locked.loops) :]
    pairs = zip(entries(locked.limited)[len(locked.places) :], closing, strict=True)
    loops = [ca.if_else(at_limit, impulse, 0) for at_limit, impulse in pairs]
    in_tree = locked.in_tree
    if in_tree is None:
        return ca.vertcat(*loops)
    pull = in_tree.friction + coupling.stiff * (in_tree.velocity - ca.vec(u[in_tree.places]))
    rubbed = [ca.if_else(in_tree.limited[k], 0, pull[k]) for k in in_tree.rubbing]
    limits = entries(pull)
    for k, own in zip(in_tree.rubbing, rubbed, strict=True):
        limits[k] -= own
    return ca.vertcat(*limits, *loops, *rubbed)


def couple(
    robot: Coupling,
    attached: list[Attached],
    builder: Builder,
    bounded: BoundedJoints | None = None,
) -> Coupling:
    """Return how contacts, and joints solved together with them, move the robot."""
    # rows of their own, or of the bodies that they share; then the joints'
    groups, contacts, first, count = [], [], dict[int, int](), 0
    for own in attached:
        at = count if own.body < 0 else first.setdefault(own.body, count)
        if at == count:
            groups.append(own.rows)
            count += len(own.rows)
        contacts.append(Arm(at, own.arms))
    joints = [] if bounded is None else bounded.ways
    rows = [row for own in groups for row in own] + joints
    robot = replace(robot, joints=len(joints))

    # half-solved
    def halved(own: Matrix) -> Matrix:
        return [robot.factor.backward(row) for row in own]

    halves = builder.map_items("W_half", groups, halved)
    half = builder.store_all("W_half", [row for own in halves for row in own] + halved(joints))
    contacts = builder.store_all("arms", contacts)
    if robot.constraints is None:
        return replace(robot, rows=rows, W_half=half, contacts=contacts)
    G_BU = builder.store_all(
        "G_BU", constraint_solve.delassus(robot.factor, robot.constraints.half, half)
    )
    return replace(robot, rows=rows, W_half=half, G_BU=G_BU, contacts=contacts)


def velocity_change(M: Factor, acting: list[tuple[list[SX], SX]]) -> list[SX]:
    """Return M^-1 sum w L of half-solved directions w and impulses L."""
    y = [SX(0)] * M.size
    for row, impulse in acting:
        y = [a + b * impulse for a, b in zip(y, row, strict=True)]
    return M.forward([d * a for d, a in zip(M.inverse_pivots, y, strict=True)])
