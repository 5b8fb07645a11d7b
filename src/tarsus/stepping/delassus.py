"""Delassus matrix of the contacts, and the same problem in velocities."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import Blocks
from tarsus.algebra.ldl import Factor, factorize_tree, lower_triangle
from tarsus.algebra.products import Matrix, dot
from tarsus.contact.problem import JointRows, SharedBodies, VelocityForm
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import Attempt, Scene
from tarsus.stepping.coupling import ContactRows, Coupling, velocity_change
from tarsus.stepping.locked_joints import BoundedJoints


def mobility(coupling: Coupling, builder: Builder, *, constrained: bool) -> Matrix:
    """Compute W^T M^-1 W of all rows of a coupling, as the rows of a symmetric matrix.

    If constrained, the constraints act: G_UB G_B^-1 G_BU is subtracted.
    """
    terms = [(coupling.factor, coupling.W_half)]
    if constrained and coupling.constraints is not None:
        inner = coupling.constraints.factor
        responses = [inner.backward(list(column)) for column in zip(*coupling.G_BU, strict=True)]
        terms.append((inner, responses))
    columns = [[scale_by_pivots(M, row) for row in half] for M, half in terms]
    size = len(coupling.rows)
    rows = [[half[r] for _, half in terms] for r in range(size)]

    def entry(row: Matrix, c: int) -> SX:
        """Compute the entry of a half-solved row and column c."""
        free, *reduction = (
            dot(coefficient, other[c]) for coefficient, other in zip(row, columns, strict=True)
        )
        return free - reduction[0] if reduction else free

    lower = [(r, c) for r in range(size) for c in range(r + 1)]
    contact_rows = rows[: coupling.first_joint_row]
    if builder.writes_loop(contact_rows):
        columns = builder.store_all("columns", columns)
        whole = builder.map_items(
            "G_rows", contact_rows, lambda row: [entry(row, c) for c in range(size)]
        )
        count = len(contact_rows)
        values = [whole[r][c] if r < count else entry(rows[r], c) for r, c in lower]
    else:
        values = [entry(rows[r], c) for r, c in lower]
    G = dict(zip(lower, builder.store_all("G", values), strict=True))
    return [[G[max(r, c), min(r, c)] for c in range(size)] for r in range(size)]


def scale_by_pivots(M: Factor, row: list[SX]) -> list[SX]:
    """Multiply a half-solved direction by the inverse pivots."""
    return [d * a for d, a in zip(M.inverse_pivots, row, strict=True)]


def half_solved_mobility(M: Factor, row: list[SX]) -> SX:
    """Compute w^T M^-1 w of a half-solved direction."""
    return dot(row, scale_by_pivots(M, row))


def delassus(coupling: Coupling, row_mobility: Matrix, builder: Builder) -> Blocks:
    """Assemble the blocks of G = W^T M^-1 W of all contacts from the mobility of the rows."""
    contacts = coupling.contacts

    def block(a: ContactRows, b: ContactRows) -> SX:
        rows = row_mobility[a.first : a.first + a.size]
        G = ca.vertcat(*(ca.horzcat(*row[b.first : b.first + b.size]) for row in rows))
        G = G if a.arms is None else ca.mtimes(a.arms, G)
        return G if b.arms is None else ca.mtimes(G, b.arms.T)

    n = len(contacts)
    if all(contact.arms is None for contact in contacts):
        return {(i, j): block(contacts[i], contacts[j]) for i in range(n) for j in range(n)}

    # of blocks of shared bodies only one half is computed
    lower = {(i, j): block(contacts[i], contacts[j]) for i in range(n) for j in range(i + 1)}
    for i in range(n):
        diagonal_block = lower[i, i]
        lower[i, i] = ca.tril(diagonal_block) + ca.tril(diagonal_block, False).T
    lower = builder.store_all("G_contacts", lower)
    return {(i, j): lower[i, j] if j <= i else lower[j, i].T for i in range(n) for j in range(n)}


def free_mobilities(scene: Scene, attempt: Attempt, M: SX, coupling: Coupling) -> list[SX] | None:
    """Compute n^T M^-1 n of each contact's normal with no joint locked, 1/kg.

    None unless the law asks for it and it differs from the diagonal of G
    (`ContactProblem.free_mobility`). M (nu, nu) is the mass matrix with no joint locked.
    """
    same_as_G = attempt.locked is None and not scene.mechanism.constrained
    if same_as_G or not scene.law.uses_free_mobility:
        return None
    factor, rows = (
        factorize_tree(lower_triangle(M), M.shape[0]),
        coupling.vectors_per_contact(coupling.rows),
    )
    half = [factor.backward(row) for row in rows[::3]]
    return [half_solved_mobility(factor, row) for row in half]


def shared_bodies(coupling: Coupling, row_mobility: Matrix) -> SharedBodies:
    """Factor the Delassus matrix, for contacts that all lie on shared bodies."""
    firsts = sorted({contact.first for contact in coupling.contacts})
    return SharedBodies(
        [firsts.index(contact.first) for contact in coupling.contacts],
        [contact.arms for contact in coupling.contacts if contact.arms is not None],
        row_mobility,
    )


def joint_rows(
    coupling: Coupling, row_mobility: Matrix, bounded: BoundedJoints, builder: Builder
) -> JointRows:
    """Build the rows of joints that are solved together with the contacts."""
    first = coupling.first_joint_row
    rows = row_mobility[first:]
    joints = JointRows(
        coupling.row_velocities(constrained=True)[first:],
        [coupling.to_contacts(row[:first]) for row in rows],
        [row[first:] for row in rows],
        bounded.lower,
        bounded.upper,
        bounded.friction,
    )
    return builder.store_all("joint_rows", joints)


def velocity_form(coupling: Coupling, builder: Builder) -> VelocityForm:
    """Set up the contact problem in velocities; constraints respond to each contact direction."""
    nu, columns = coupling.factor.size, []
    u_free, constraints = coupling.u_free, coupling.constraints
    if constraints is not None:
        impulses = coupling.constraint_impulses([SX(0)] * len(coupling.rows))
        u_free = u_free + ca.vertcat(
            *velocity_change(coupling.factor, list(zip(constraints.half, impulses, strict=True)))
        )
    G_UB = coupling.vectors_per_contact([list(row) for row in zip(*coupling.G_BU, strict=True)])
    for k, row in enumerate(coupling.vectors_per_contact(coupling.W_half)):
        acting = [(row, SX(1))]
        if constraints is not None:
            impulses = constraints.impulses(G_UB[k])
            acting += zip(constraints.half, impulses, strict=True)
        columns += velocity_change(coupling.factor, acting)
    rows = coupling.vectors_per_contact(coupling.rows)
    response = ca.reshape(ca.vertcat(*builder.store_all("response", columns)), nu, len(rows))
    W = builder.store_all("W", [entry for row in rows for entry in row])
    return VelocityForm(u_free, ca.reshape(ca.vertcat(*W), nu, len(rows)), response)
