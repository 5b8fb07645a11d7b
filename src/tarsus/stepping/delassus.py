"""What couples contacts: the Delassus matrix, and the same problem in velocities."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import Blocks
from tarsus.algebra.ldl import Factor, factorize_tree, lower
from tarsus.algebra.products import Matrix, dot
from tarsus.contact.problem import JointRows, SharedBodies, VelocityForm
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import Attempt, Scene
from tarsus.stepping.coupling import Arm, Coupling, velocity_change
from tarsus.stepping.locked_joints import BoundedJoints


def mobility(coupling: Coupling, builder: Builder, *, held: bool) -> Matrix:
    """W^T M^-1 W of all rows of a coupling, or with the constraints acting less G_UB G_B^-1 G_BU;
    the rows of the symmetric matrix.
    """
    felt = [(coupling.factor, coupling.W_half)]
    if held and coupling.constraints is not None:
        inner = coupling.constraints.factor
        answers = [inner.backward(list(column)) for column in zip(*coupling.G_BU, strict=True)]
        felt.append((inner, answers))
    columns = [[scaled(M, row) for row in half] for M, half in felt]
    size = len(coupling.rows)
    rows = [[half[r] for _, half in felt] for r in range(size)]

    def entry(row: Matrix, c: int) -> SX:
        """What a row, half-solved, has in common with row c."""
        loose, *taken = (dot(own, other[c]) for own, other in zip(row, columns, strict=True))
        return loose - taken[0] if taken else loose

    places = [(r, c) for r in range(size) for c in range(r + 1)]
    ours = rows[: coupling.joints_first]
    if builder.loops_over(ours):
        columns = builder.store_all("columns", columns)
        whole = builder.map_items("G_rows", ours, lambda row: [entry(row, c) for c in range(size)])
        values = [whole[r][c] if r < len(ours) else entry(rows[r], c) for r, c in places]
    else:
        values = [entry(rows[r], c) for r, c in places]
    # apart, bodies' blocks are zero
    found = dict(zip(places, builder.store_all("G", values), strict=True))
    return [[found[max(r, c), min(r, c)] for c in range(size)] for r in range(size)]


def scaled(M: Factor, row: list[SX]) -> list[SX]:
    """A half-solved direction by the pivots."""
    return [d * a for d, a in zip(M.inverse_pivots, row, strict=True)]


def own_mobility(M: Factor, row: list[SX]) -> SX:
    """w^T M^-1 w of a half-solved direction."""
    return dot(row, scaled(M, row))


def delassus(coupling: Coupling, between: Matrix, builder: Builder) -> Blocks:
    """G = W^T M^-1 W of all contacts from that of the rows."""
    contacts = coupling.contacts

    def block(a: Arm, b: Arm) -> SX:
        rows = between[a.first : a.first + a.size]
        G = ca.vertcat(*(ca.horzcat(*row[b.first : b.first + b.size]) for row in rows))
        G = G if a.arms is None else ca.mtimes(a.arms, G)
        return G if b.arms is None else ca.mtimes(G, b.arms.T)

    n = len(contacts)
    if all(contact.arms is None for contact in contacts):
        return {(i, j): block(contacts[i], contacts[j]) for i in range(n) for j in range(n)}

    # of bodies' blocks one half is computed
    lower = {(i, j): block(contacts[i], contacts[j]) for i in range(n) for j in range(i + 1)}
    for i in range(n):
        own = lower[i, i]
        lower[i, i] = ca.tril(own) + ca.tril(own, False).T
    lower = builder.store_all("G_contacts", lower)
    return {(i, j): lower[i, j] if j <= i else lower[j, i].T for i in range(n) for j in range(n)}


def loose_mobilities(scene: Scene, attempt: Attempt, M: SX, coupling: Coupling) -> list[SX] | None:
    """n^T M^-1 n of each contact's normal, 1/kg, as `ContactProblem.loose` has it; M (nu, nu): the
    mass matrix with no joint held.
    """
    same = attempt.locked is None and not scene.mechanism.constrained
    if same or not scene.law.looks_loose:
        return None
    factor, rows = factorize_tree(lower(M), M.shape[0]), coupling.by_contact(coupling.rows)
    half = [factor.backward(row) for row in rows[::3]]
    return [own_mobility(factor, row) for row in half]


def shared(coupling: Coupling, between: Matrix) -> SharedBodies:
    """The same not multiplied out, of contacts that all lie on shared bodies."""
    firsts = sorted({contact.first for contact in coupling.contacts})
    return SharedBodies(
        [firsts.index(contact.first) for contact in coupling.contacts],
        [contact.arms for contact in coupling.contacts if contact.arms is not None],
        between,
    )


def joint_rows(
    coupling: Coupling, between: Matrix, bounded: BoundedJoints, builder: Builder
) -> JointRows:
    """The rows of joints that are solved for together with the contacts."""
    first = coupling.joints_first
    rows = between[first:]
    found = JointRows(
        coupling.row_velocities(held=True)[first:],
        [coupling.of_contacts(row[:first]) for row in rows],
        [row[first:] for row in rows],
        bounded.lower,
        bounded.upper,
        bounded.friction,
    )
    return builder.store_all("joint_rows", found)


def velocity_form(coupling: Coupling, builder: Builder) -> VelocityForm:
    """The same problem in velocities; with constraints, each direction brings their answer."""
    nu, columns = coupling.factor.size, []
    u_free, hold = coupling.u_free, coupling.constraints
    if hold is not None:
        answer = coupling.constraint_impulses([SX(0)] * len(coupling.rows))
        u_free = u_free + ca.vertcat(
            *velocity_change(coupling.factor, list(zip(hold.half, answer, strict=True)))
        )
    felt = coupling.by_contact([list(row) for row in zip(*coupling.G_BU, strict=True)])
    for k, row in enumerate(coupling.by_contact(coupling.W_half)):
        acting = [(row, SX(1))]
        if hold is not None:
            answer = hold.impulses(felt[k])
            acting += zip(hold.half, answer, strict=True)
        columns += velocity_change(coupling.factor, acting)
    rows = coupling.by_contact(coupling.rows)
    response = ca.reshape(ca.vertcat(*builder.store_all("response", columns)), nu, len(rows))
    W = builder.store_all("W", [entry for row in rows for entry in row])
    return VelocityForm(u_free, ca.reshape(ca.vertcat(*W), nu, len(rows)), response)
