"""Contacts that all stick, solved through the few rigid bodies that share them.

For contacts on one body the wrench on the body is determined, but not how the contacts share it. So
the wrench is computed first: with the contacts' velocities c_i = A_i t of rigid motions t, M F = -t
has as many equations as the bodies have degrees of freedom, rather than as the contacts have
impulses. Then it is shared, L_i = D_i^-1 A_i y with F = sum A_i^T L_i: the least sum of D L^2, with
D the contacts' own mobilities, as the solver's regularization of the diagonal does. Where the
velocities are not those of a rigid motion, t is nearest to them.

The result is checked: the impulses are a solution if the velocities that follow from them satisfy
the inclusions (12)-(13) of Gehring 2014 to the tolerance. If not, because a contact slides, a load
would pull, or fewer than three contacts press on a body, other methods start from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.ldl import ZERO_IMPULSE_DIAGONAL, factorize_dense
from tarsus.algebra.products import Matrix, dot
from tarsus.contact.problem import SharedBodies
from tarsus.contact.solvers.base import HardProblem, Outcome
from tarsus.program.ir.symbolic import entries, value_or_zero

TWIST_SIZE = 6


def solve_sticking(
    hard: HardProblem, shared: SharedBodies, sizes: list[SX], pressing: list[SX]
) -> Outcome:
    """Solve for the impulses if the pressing contacts (1, else 0) stick and no other one closes.

    `sizes` are those of `inverse_diagonals`.
    """
    bodies = range(len(shared.mobility) // TWIST_SIZE)
    supported = [SupportedBody.of(hard, shared, b, pressing, sizes) for b in bodies]

    # wrenches of the ground on the bodies
    M, size = shared.mobility, range(TWIST_SIZE * len(supported))
    K = [[M[r][c] for c in range(r + 1)] for r in size]
    for r in size:
        K[r][r] = K[r][r] + ca.if_else(supported[r // TWIST_SIZE].loaded, 0, ZERO_IMPULSE_DIAGONAL)
    wrenches = factorize_dense(K).solve([-v for body in supported for v in body.motion])

    # impulses of the contacts, and their velocities
    impulses: list[SX] = [SX(3, 1)] * len(pressing)
    for b, body in enumerate(supported):
        y = ca.vertcat(*body.solve(wrenches[TWIST_SIZE * b : TWIST_SIZE * b + TWIST_SIZE]))
        for i in body.contacts:
            impulse = ca.mtimes(shared.arms[i], y) * sizes[i]
            impulses[i] = ca.if_else(pressing[i], impulse, 0)
    xi = velocities(hard, shared, impulses)
    good = SX(1)
    for i, L in enumerate(impulses):
        good = ca.logic_and(good, is_at_rest(hard, i, sizes[i], L, xi[i]))
    return Outcome(impulses, SX(1), good, [SX(0)] * len(pressing))


def inverse_diagonals(shared: SharedBodies) -> list[SX]:
    """Compute r (3,) of each contact, the inverse diagonal of its Delassus block."""

    def inverse_diagonal(first: int, arms: SX) -> SX:
        rows = [entries(arms[k, :]) for k in range(3)]
        block = [
            row[first : first + TWIST_SIZE] for row in shared.mobility[first : first + TWIST_SIZE]
        ]
        return ca.vertcat(*(1 / dot(row, [dot(column, row) for column in block]) for row in rows))

    pairs = zip(shared.body, shared.arms, strict=True)
    return [inverse_diagonal(TWIST_SIZE * body, arms) for body, arms in pairs]


@dataclass(frozen=True, eq=False)
class SupportedBody:
    """Body that contacts support.

    Attributes
    ----------
    contacts
        Indices of its contacts.
    loaded
        1 if one of them presses.
    motion
        Rigid motion (6,) nearest to the velocities of the contacts that press.
    solve
        Solves with the sum of A^T r A over the contacts that press.
    """

    contacts: list[int]
    loaded: SX
    motion: list[SX]
    solve: Callable[[list[SX]], list[SX]]

    @staticmethod
    def of(
        hard: HardProblem, shared: SharedBodies, body: int, pressing: list[SX], sizes: list[SX]
    ) -> SupportedBody:
        """Gather the contacts of a body; `sizes` are those of `inverse_diagonals`."""
        contacts = [i for i, b in enumerate(shared.body) if b == body]
        gram: Matrix = [[SX(0)] * (r + 1) for r in range(TWIST_SIZE)]
        right, loaded = [SX(0)] * TWIST_SIZE, SX(0)
        for i in contacts:
            weight = value_or_zero(pressing[i], sizes[i])
            loaded = ca.logic_or(loaded, pressing[i])
            for k in range(3):
                row = entries(shared.arms[i][k, :])
                for r in range(TWIST_SIZE):
                    if row[r].is_zero():
                        continue
                    scaled = weight[k] * row[r]
                    right[r] += scaled * hard.c[i][k]
                    for c in range(r + 1):
                        gram[r][c] += 0 if row[c].is_zero() else scaled * row[c]
        for r in range(TWIST_SIZE):
            gram[r][r] += ca.if_else(loaded, 0, 1)
        factor = factorize_dense(gram)
        return SupportedBody(contacts, loaded, factor.solve(right), factor.solve)


def velocities(hard: HardProblem, shared: SharedBodies, impulses: list[SX]) -> list[SX]:
    """Compute xi (3,) of each contact, computed through the twists of the bodies."""
    wrenches = [SX.zeros(TWIST_SIZE) for _ in range(len(shared.mobility) // TWIST_SIZE)]
    for i, L in enumerate(impulses):
        wrenches[shared.body[i]] += ca.mtimes(shared.arms[i].T, L)
    stacked = entries(ca.vertcat(*wrenches))
    twist = [dot(row, stacked) for row in shared.mobility]
    return [
        hard.c[i]
        + ca.mtimes(arms, ca.vertcat(*twist[TWIST_SIZE * b : TWIST_SIZE * b + TWIST_SIZE]))
        for i, (b, arms) in enumerate(zip(shared.body, shared.arms, strict=True))
    ]


def is_at_rest(hard: HardProblem, i: int, r: SX, L: SX, xi: SX) -> SX:
    """Return 1 if contact i sticks or stays open to the tolerance.

    That is so if the projection of Eqn. (16), with these r (3,), changes L by no more than |L|
    T_rel + T_abs.
    """
    p, mu = hard.p, hard.mu[i]
    r_T = ca.fmin(r[1], r[2])
    change = xi * ca.vertcat(r[0], r_T, r_T)
    z = L - change
    # inside its cone the projection leaves z as it is
    sticks = ca.logic_and(is_within_cone(L, mu), is_within_cone(z, mu))
    sizes = ca.fabs(L)
    tangent = ca.fmax(sizes[1], sizes[2])
    for k, size in enumerate((sizes[0], tangent, tangent)):
        sticks = ca.logic_and(sticks, ca.fabs(change[k]) <= p.T_abs + p.T_rel * size)
    opens = ca.logic_and(L[0] == 0, ca.fmax(mu, 1) * z[0] <= p.T_abs)
    return ca.if_else(hard.problem.active[i], ca.logic_or(sticks, opens), 1)


def is_within_cone(L: SX, mu: SX) -> SX:
    """Return 1 if |L_T| <= mu L_N, else 0."""
    edge = mu * L[0]
    return ca.logic_and(edge >= 0, ca.dot(L[1:], L[1:]) <= edge * edge)
