"""Contacts that all stick, solved through the few rigid bodies that share them.

Of contacts on one body the wrench on it is determined, not who bears it. So it is found first: with
the contacts' velocities c_i = A_i t of rigid motions t, M F = -t are as many equations as the
bodies have freedoms, not as the contacts have impulses; then it is shared, L_i = D_i^-1 A_i y with
F = sum A_i^T L_i: the least sum of D L^2 with D the contacts' own mobilities, as that of the
method's trace on the diagonal. Where the velocities are those of no rigid motion, t is nearest to
them.

Nothing is taken on trust: the impulses are a solution if the velocities that follow from them
fulfill the inclusions (12)-(13) of Gehring 2014 to the tolerance. Else, where a contact slides, a
load would pull, or less than three contacts press on a body, other methods begin from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.ldl import HELD_AT_ZERO, factorize_dense
from tarsus.algebra.products import Matrix, dot
from tarsus.contact.problem import SharedBodies
from tarsus.contact.solvers.base import HardProblem, Outcome
from tarsus.program.ir.symbolic import entries, masked

SIX = 6


def standing(
    hard: HardProblem, shared: SharedBodies, sizes: list[SX], pressing: list[SX]
) -> Outcome:
    """The impulses if those contacts that are pressing (1, else 0) stick and no other closes; with
    `own_sizes`.
    """
    bodies = range(len(shared.mobility) // SIX)
    parts = [Carrier.of(hard, shared, b, pressing, sizes) for b in bodies]

    # what the ground does to the bodies
    M, size = shared.mobility, range(SIX * len(parts))
    K = [[M[r][c] for c in range(r + 1)] for r in size]
    for r in size:
        K[r][r] = K[r][r] + ca.if_else(parts[r // SIX].loaded, 0, HELD_AT_ZERO)
    wrenches = factorize_dense(K).solve([-v for part in parts for v in part.motion])

    # who bears it, and how the contacts then move
    impulses: list[SX] = [SX(3, 1)] * len(pressing)
    for b, part in enumerate(parts):
        y = ca.vertcat(*part.solve(wrenches[SIX * b : SIX * b + SIX]))
        for i in part.contacts:
            sharing = ca.mtimes(shared.arms[i], y) * sizes[i]
            impulses[i] = ca.if_else(pressing[i], sharing, 0)
    xi = velocities(hard, shared, impulses)
    good = SX(1)
    for i, L in enumerate(impulses):
        good = ca.logic_and(good, rests(hard, i, sizes[i], L, xi[i]))
    return Outcome(impulses, SX(1), good, [SX(0)] * len(pressing))


def own_sizes(shared: SharedBodies) -> list[SX]:
    """r (3,) of each contact: one over the diagonal of its own block of the Delassus matrix."""

    def of(at: int, arms: SX) -> SX:
        rows = [entries(arms[k, :]) for k in range(3)]
        block = [row[at : at + SIX] for row in shared.mobility[at : at + SIX]]
        return ca.vertcat(*(1 / dot(row, [dot(column, row) for column in block]) for row in rows))

    places = zip(shared.body, shared.arms, strict=True)
    return [of(SIX * body, arms) for body, arms in places]


@dataclass(frozen=True, eq=False)
class Carrier:
    """A body: its contacts, by number, whether one presses, the motion (6,) that they would make,
    and the sum of A^T r A over those that press, factored.
    """

    contacts: list[int]
    loaded: SX
    motion: list[SX]
    solve: Callable[[list[SX]], list[SX]]

    @staticmethod
    def of(
        hard: HardProblem, shared: SharedBodies, body: int, pressing: list[SX], sizes: list[SX]
    ) -> Carrier:
        """With `own_sizes`."""
        contacts = [i for i, b in enumerate(shared.body) if b == body]
        gram: Matrix = [[SX(0)] * (r + 1) for r in range(SIX)]
        asked, loaded = [SX(0)] * SIX, SX(0)
        for i in contacts:
            weight = masked(pressing[i], sizes[i])
            loaded = ca.logic_or(loaded, pressing[i])
            for k in range(3):
                row = entries(shared.arms[i][k, :])
                for r in range(SIX):
                    if row[r].is_zero():
                        continue
                    scaled = weight[k] * row[r]
                    asked[r] += scaled * hard.c[i][k]
                    for c in range(r + 1):
                        gram[r][c] += 0 if row[c].is_zero() else scaled * row[c]
        for r in range(SIX):
            gram[r][r] += ca.if_else(loaded, 0, 1)
        factor = factorize_dense(gram)
        return Carrier(contacts, loaded, factor.solve(asked), factor.solve)


def velocities(hard: HardProblem, shared: SharedBodies, impulses: list[SX]) -> list[SX]:
    """xi (3,) of each contact, through the bodies' twists."""
    wrenches = [SX.zeros(SIX) for _ in range(len(shared.mobility) // SIX)]
    for i, L in enumerate(impulses):
        wrenches[shared.body[i]] += ca.mtimes(shared.arms[i].T, L)
    felt = entries(ca.vertcat(*wrenches))
    twist = [dot(row, felt) for row in shared.mobility]
    return [
        hard.c[i] + ca.mtimes(arms, ca.vertcat(*twist[SIX * b : SIX * b + SIX]))
        for i, (b, arms) in enumerate(zip(shared.body, shared.arms, strict=True))
    ]


def rests(hard: HardProblem, i: int, r: SX, L: SX, xi: SX) -> SX:
    """1 if contact i sticks or stays open to the tolerance: the projection of Eqn. (16), with these
    r (3,), changes L by no more than |L| T_rel + T_abs.
    """
    p, mu = hard.p, hard.mu[i]
    across = ca.fmin(r[1], r[2])
    off = xi * ca.vertcat(r[0], across, across)
    z = L - off
    # inside its cone the projection leaves z as it is
    sticks = ca.logic_and(within_cone(L, mu), within_cone(z, mu))
    sizes = ca.fabs(L)
    tangent = ca.fmax(sizes[1], sizes[2])
    for k, size in enumerate((sizes[0], tangent, tangent)):
        sticks = ca.logic_and(sticks, ca.fabs(off[k]) <= p.T_abs + p.T_rel * size)
    opens = ca.logic_and(L[0] == 0, ca.fmax(mu, 1) * z[0] <= p.T_abs)
    return ca.if_else(hard.problem.active[i], ca.logic_or(sticks, opens), 1)


def within_cone(L: SX, mu: SX) -> SX:
    """1 if |L_T| <= mu L_N, else 0."""
    edge = mu * L[0]
    return ca.logic_and(edge >= 0, ca.dot(L[1:], L[1:]) <= edge * edge)
