"""How impulses move the robot: free velocity, factored mass matrix, bilateral constraints.

The constraints are those of cut joints and closed loops (Gehring 2014, Eqn. (20)).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.ldl import Factor, factorize_tree, lower_triangle
from tarsus.algebra.products import Matrix, dot
from tarsus.collision.contact_point import Attachment
from tarsus.dynamics import constraint_solve, loop_constraints
from tarsus.dynamics.constraint_solve import Constraints
from tarsus.dynamics.free_motion import FreeMotion
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.transmission import scatter
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import Attempt, Scene, StepStart
from tarsus.stepping.fast_motion import FastMotion
from tarsus.stepping.locked_joints import BoundedJoints, LockedJoints

FREE_COMPLIANCE = 1e20  # times its own mobility: compliance of a free dependent coordinate


@dataclass(frozen=True, eq=False)
class ContactRows:
    """Rows of one contact in a coupling.

    Attributes
    ----------
    first
        Index of the first row.
    arms
        Matrix (3, 6) from the twist of a shared body to the contact's velocity; None if the contact
        has three rows of its own.
    """

    first: int
    arms: SX | None = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return 3 if self.arms is None else 6


@dataclass(frozen=True, eq=False)
class Coupling:
    """Factored mass matrix, constraints and contact rows: how impulses change the velocity.

    Attributes
    ----------
    factor
        Factored mass matrix.
    u_free
        Velocity (nu,) at the end of the step without contacts and constraints.
    rows
        Three rows (nu,) per contact, or six per body that several contacts share, followed by one
        per joint that is solved together with the contacts.
    W_half
        L^-T times each row.
    constraints
        Constraints of cut joints and loops, if any, followed by one row per lockable dependent
        coordinate.
    G_BU
        `G_BU[b][k]` is the velocity of constraint b per impulse of row k.
    contacts
        Rows of each contact.
    locking_inertia
        Inertia (m,) added to the lockable joints.
    joint_count
        Number of joints that have rows.
    """

    factor: Factor
    u_free: SX
    rows: list[list[SX]]
    W_half: list[list[SX]]
    constraints: Constraints | None
    G_BU: list[list[SX]]
    contacts: list[ContactRows] = field(default_factory=list)
    locking_inertia: SX = field(default_factory=lambda: SX(0, 1))
    joint_count: int = 0

    @property
    def first_joint_row(self) -> int:
        """Index of the first row of a joint."""
        return len(self.rows) - self.joint_count

    def constraint_impulses(self, impulse: list[SX]) -> list[SX]:
        """Compute the constraints' impulses (nb,) that balance the impulses of the rows."""
        if self.constraints is None:
            return []
        pairs = zip(self.constraints.gamma, self.G_BU, strict=True)
        return self.constraints.impulses([gamma + dot(row, impulse) for gamma, row in pairs])

    def free_velocities(self, constrained: bool) -> list[SX]:
        """Compute the contact velocities (3n,) at the end of the step without contact impulses."""
        return self.to_contacts(self.row_velocities(constrained))

    def row_velocities(self, constrained: bool) -> list[SX]:
        """Compute the velocities of all rows without impulses, with or without constraints."""
        velocities = [dot(row, entries(self.u_free)) for row in self.rows]
        if self.constraints is not None and constrained:
            impulses = self.constraint_impulses([SX(0)] * len(self.rows))
            columns = zip(*self.G_BU, strict=True)
            pairs = zip(velocities, columns, strict=True)
            velocities = [v + dot(list(column), impulses) for v, column in pairs]
        return velocities

    def to_contacts(self, values: list[SX]) -> list[SX]:
        """Convert one value per row into three values per contact."""
        by_contact = []
        for contact in self.contacts:
            own = values[contact.first : contact.first + contact.size]
            by_contact += own if contact.arms is None else _product(contact.arms, ca.vertcat(*own))
        return by_contact

    def to_rows(self, impulse: list[SX], joints: SX | None = None) -> list[SX]:
        """Convert impulses of contacts (3n,) and of joint rows (m,) into one impulse per row."""
        by_row = [SX(0)] * self.first_joint_row
        by_row += [SX(0)] * self.joint_count if joints is None else entries(joints)
        for i, contact in enumerate(self.contacts):
            own = impulse[3 * i : 3 * i + 3]
            if contact.arms is not None:
                own = _product(contact.arms.T, ca.vertcat(*own))
            for k, value in enumerate(own, contact.first):
                by_row[k] = value if by_row[k].is_zero() else by_row[k] + value
        return by_row

    def vectors_per_contact(self, rows: list[list[SX]]) -> list[list[SX]]:
        """Convert one vector (nu,) per row into three vectors per contact."""
        columns = [self.to_contacts(list(column)) for column in zip(*rows, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]


def _product(A: SX, x: SX) -> list[SX]:
    return entries(ca.densify(ca.mtimes(A, x)))


def couple_without_contacts(
    scene: Scene,
    kin: Kinematics,
    free: FreeMotion,
    start: StepStart,
    locked: LockedJoints | None,
    moving: FastMotion,
    builder: Builder,
) -> Coupling:
    """Couple the robot and its constraints, with joints locked, before adding contacts."""
    # the robot: mass matrix, its factor, free velocity
    in_tree, M, inertia = locked and locked.tree_joints, free.M, SX(0, 1)
    u_start, push = moving.select(kin.u), start.dt * free.h
    if in_tree is not None:
        inertia = in_tree.inertia_factor * ca.diag(M)[in_tree.indices] + in_tree.added_inertia
        inertia = builder.store("locking_inertia", inertia)
        push = ca.if_else(moving.is_fast, 0, push)
        u_start, push = start_with_locked(scene.mechanism, in_tree, (M, inertia), (u_start, push))
        M += ca.diag(scatter(scene.mechanism.nu, in_tree.indices, inertia))
    solved = builder.stamp("M^-1", factorize_tree(lower_triangle(M), scene.mechanism.nu))
    factor = builder.store_all("L", solved)
    u_free = (kin.u if in_tree is None else u_start) + ca.vertcat(*solved.solve(entries(push)))
    u_free = moving.select(u_free) if in_tree is None else u_free
    u_free = builder.store("u_free", u_free)
    builder.stamp("u_E")
    if not scene.mechanism.constrained and (locked is None or not locked.dependent_directions):
        return Coupling(factor, u_free, [], [], None, [], locking_inertia=inertia)

    # the constraints: directions, Delassus matrix, velocities without their impulses
    directions = loop_constraints.directions(kin)
    closing, velocities = (
        len(directions),
        entries(loop_constraints.curvature_correction(kin, start.dt)),
    )
    if scene.stabilization:
        back = scene.stabilization / start.dt * loop_constraints.gaps(kin)
        velocities = [g - gap for g, gap in zip(velocities, entries(back), strict=True)]
    if locked is not None:
        directions += locked.dependent_directions
        velocities += entries(locked.velocity)[len(locked.indices) :]
    half_B = builder.store_all("half_B", [factor.backward(row) for row in directions])
    G_B = constraint_solve.delassus(factor, half_B, half_B)
    if locked is not None:
        factors = entries(locked.inertia_factor)[len(locked.indices) :]
        G_B = _with_locking_compliance(G_B, factors)
    G_B = builder.store_all("G_B", G_B)
    gamma = [dot(row, entries(u_free)) - g for row, g in zip(directions, velocities, strict=True)]
    gamma = entries(builder.store("gamma_B", ca.vertcat(*gamma)))
    factored = builder.store_all("L_B", constraint_solve.factorize(G_B, closing))
    constraints = Constraints(half_B, G_B, factored, gamma, closing)
    builder.stamp("G_B")
    return Coupling(factor, u_free, [], [], constraints, [], locking_inertia=inertia)


def _with_locking_compliance(G_B: list[list[SX]], factors: list[SX]) -> list[list[SX]]:
    """Make the rows of lockable dependent coordinates in G_B compliant.

    A locked one is as stiff as if `inertia_factor` times its own inertia were added to it; with
    factor 0 it carries no load.
    """
    first = len(G_B) - len(factors)
    for k, factor in enumerate(factors, first):
        compliance = ca.if_else(factor > 0, 1 / ca.fmax(factor, 1), FREE_COMPLIANCE)
        G_B[k] = [*G_B[k][:k], G_B[k][k] * (1 + compliance), *G_B[k][k + 1 :]]
    return G_B


def start_with_locked(
    mechanism: Mechanism, locked: LockedJoints, inertia: tuple[SX, SX], start: tuple[SX, SX]
) -> tuple[SX, SX]:
    """Compute the initial velocity (nu,) and the impulse (nu,) on it, with joints locked.

    Locked joints start from the rate at which they end the step, so that the impulse that locks
    them is not a difference of large numbers.

    Parameters
    ----------
    mechanism : Mechanism
        Bodies and joints.
    locked : LockedJoints
        Locked joints of the tree.
    inertia : tuple of SX
        Mass matrix (nu, nu), and inertia (m,) added to the locked joints.
    start : tuple of SX
        Velocity (nu,) and impulse (nu,) with no joint locked.
    """
    (M, added), (u, push) = inertia, start
    u_locked = u[:, :]
    for k, index in enumerate(locked.indices):
        u_locked[index] = ca.if_else(added[k] > 0, locked.velocity[k], u[index])
    pull = locked.friction + added * (locked.velocity - ca.vec(u_locked[locked.indices]))
    push = push + ca.mtimes(M, u - u_locked) + scatter(mechanism.nu, locked.indices, pull)
    return u_locked, push


def joint_impulses(
    coupling: Coupling, attempt: Attempt, u: SX, bilateral: SX, joints: SX | None
) -> SX | None:
    """Compute `StepOutputs.joints` for a step that ends with the velocity u (nu,).

    Parameters
    ----------
    coupling : Coupling
        How impulses move the robot.
    attempt : Attempt
        Locked or bounded joints.
    u : SX
        Velocity (nu,) at the end of the step.
    bilateral : SX
        Impulses of the constraints, those of locked dependent coordinates last.
    joints : SX or None
        Impulses of joint rows, if joints are bounded.
    """
    if attempt.bounded is not None and joints is not None:
        return attempt.bounded.limits_and_friction(joints)
    locked = attempt.locked
    if locked is None:
        return None
    closing = entries(bilateral)[bilateral.numel() - len(locked.dependent_directions) :]
    pairs = zip(entries(locked.at_limit)[len(locked.indices) :], closing, strict=True)
    loops = [ca.if_else(at_limit, impulse, 0) for at_limit, impulse in pairs]
    in_tree = locked.tree_joints
    if in_tree is None:
        return ca.vertcat(*loops)
    missing = in_tree.velocity - ca.vec(u[in_tree.indices])
    impulses = in_tree.friction + coupling.locking_inertia * missing
    friction = [ca.if_else(in_tree.at_limit[k], 0, impulses[k]) for k in in_tree.with_friction]
    limits = entries(impulses)
    for k, own in zip(in_tree.with_friction, friction, strict=True):
        limits[k] -= own
    return ca.vertcat(*limits, *loops, *friction)


def free_velocity_after(robot: Coupling, push: SX) -> SX:
    """Compute the velocity (nu,) at the end of a step without contacts and with a further push.

    Parameters
    ----------
    robot : Coupling
        Coupling without contacts.
    push : SX
        Impulse (nu,) in addition to those that give `u_free`, N s or N m s.
    """
    half = robot.factor.backward(entries(push))
    acting = [(half, SX(1))]
    if robot.constraints is not None:
        pushed = constraint_solve.delassus(robot.factor, robot.constraints.half, [half])
        gamma = [own + row[0] for own, row in zip(robot.constraints.gamma, pushed, strict=True)]
        impulses = robot.constraints.impulses(gamma)
        acting += zip(robot.constraints.half, impulses, strict=True)
    return robot.u_free + ca.vertcat(*velocity_change(robot.factor, acting))


def couple(
    robot: Coupling,
    attached: list[Attachment],
    builder: Builder,
    bounded: BoundedJoints | None = None,
) -> Coupling:
    """Add contacts, and joints solved together with them, to the coupling of a robot."""
    # rows of each contact, or of the body that several share; then those of joints
    groups, contacts, first, count = [], [], dict[int, int](), 0
    for contact in attached:
        row = count if contact.body < 0 else first.setdefault(contact.body, count)
        if row == count:
            groups.append(contact.rows)
            count += len(contact.rows)
        contacts.append(ContactRows(row, contact.arms))
    joints = [] if bounded is None else bounded.directions
    rows = [row for group in groups for row in group] + joints
    robot = replace(robot, joint_count=len(joints))

    # half-solved
    def half_solved(group: Matrix) -> Matrix:
        return [robot.factor.backward(row) for row in group]

    halves = builder.map_items("W_half", groups, half_solved)
    half = builder.store_all("W_half", [row for own in halves for row in own] + half_solved(joints))
    contacts = builder.store_all("contact_rows", contacts)
    if robot.constraints is None:
        return replace(robot, rows=rows, W_half=half, contacts=contacts)
    G_BU = builder.store_all(
        "G_BU", constraint_solve.delassus(robot.factor, robot.constraints.half, half)
    )
    return replace(robot, rows=rows, W_half=half, G_BU=G_BU, contacts=contacts)


def velocity_change(M: Factor, acting: list[tuple[list[SX], SX]]) -> list[SX]:
    """Compute M^-1 sum w L for half-solved directions w and impulses L."""
    y = [SX(0)] * M.size
    for row, impulse in acting:
        y = [a + b * impulse for a, b in zip(y, row, strict=True)]
    return M.forward([d * a for d, a in zip(M.inverse_pivots, y, strict=True)])
