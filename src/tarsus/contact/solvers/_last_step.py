"""One more Newton step from a solution, which changes nothing but the solution's derivative.

A method that starts near the solution is soon done, but its tangent is not: its starting point has
none, and each of its steps removes only a part of the error. A full Newton step from a solution L
of F(L, x) = 0 has the exact derivative: for L - K^-1 F(L, x), with K the derivative of F with
respect to L, the derivative with respect to x is -K^-1 dF/dx whatever derivatives L and K are
given, because F is zero. So L and K are stored without tangents (`Builder.guess`), and no step of
the method needs any.

F: a contact that presses has xi_N = 0; one that sticks has xi_T = 0; one that slides along t, with
o across, has t . L_T = mu L_N and o . (xi_T + s L_T) = 0. A sliding impulse has two unknowns z: dL
= e_N z_N + t (mu z_N - missing part of the edge) + o z_o.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.algebra.elimination import eliminate
from tarsus.contact.solvers._cone_edges import BlockSteps, ContactStatus
from tarsus.contact.solvers._exact_blocks import MIN_TANGENT_MOBILITY
from tarsus.contact.solvers.base import MAX_DENSE, HardProblem, Outcome
from tarsus.program.ir.symbolic import entries

REGULARIZATION = 1e-10  # of the diagonal: determines loads that no velocity determines


def with_derivative(hard: HardProblem, outcome: Outcome) -> Outcome:
    """Add the exact derivative of the impulses to the outcome.

    The outcome is returned unchanged in programs that are not differentiated, and with more than
    MAX_DENSE contacts.
    """
    n, G = len(hard.c), hard.problem.G
    if not hard.builder.smooth or n > MAX_DENSE:
        return outcome
    # status of each contact, and the directions z of its impulse
    begin = hard.builder.guess(ca.vertcat(*outcome.impulses))
    L, directions, edges, roots = triples(begin), list[SX](), list[SX](), list[SX]()
    steps = BlockSteps(hard)
    xi = steps.velocities(L)
    for i in range(n):
        status = ContactStatus.of(hard, i, steps.sizes(i), L[i], xi[i])
        t, mu = L[i][1:] / ca.fmax(ca.norm_2(L[i][1:]), REGULARIZATION), hard.mu[i]
        sliding = ca.horzcat(ca.vertcat(1, mu * t), ca.vertcat(0, -t[1], t[0]), SX.zeros(3))
        direction = ca.if_else(status.slides, sliding, SX.eye(3))
        directions.append(ca.if_else(status.presses, direction, 0))
        missing = ca.if_else(status.slides, mu * L[i][0] - ca.dot(t, L[i][1:]), 0)
        edges.append(ca.vertcat(0, missing * t))
        roots.append(status.root())
    # K: each row is a velocity along a direction of z; a sliding contact has normal and across
    rows = [[SX(0)] * n for _ in range(n)]
    for i in range(n):
        test = test_directions(directions[i])
        for j in range(n):
            rows[i][j] = ca.mtimes([test.T, G[i, j], directions[j]])
        diagonal, least = rows[i][i], MIN_TANGENT_MOBILITY * G[i, i][0, 0]
        diagonal[1, 1] = ca.fmax(diagonal[1, 1], least) + roots[i]
        diagonal[2, 2] = ca.fmax(diagonal[2, 2], least)
        rows[i][i] = diagonal * (1 + REGULARIZATION * SX.eye(3)) + ca.diag(
            unused_entries(directions[i])
        )
    matrix = ca.vertcat(*(ca.horzcat(*row) for row in rows))
    K, directions = hard.builder.guess((matrix, directions))
    # F, and the step
    on_edge = [L_i + edge for L_i, edge in zip(L, edges, strict=True)]
    after = steps.velocities(on_edge)
    residual = [
        -ca.mtimes(test_directions(direction).T, xi_i)
        for direction, xi_i in zip(directions, after, strict=True)
    ]
    z = triples(solution(K, ca.vertcat(*residual)))
    moved = [a + ca.mtimes(d, b) for a, d, b in zip(on_edge, directions, z, strict=True)]
    return replace(outcome, impulses=moved)


def solution(K: SX, rest: SX) -> SX:
    """Solve K z = rest for z (3n,), refined once to remove the regularization where possible."""
    factors = eliminate([ca.horzsplit(row) for row in ca.vertsplit(K)])
    first = ca.vertcat(*factors.solve(entries(rest)))
    regularization = REGULARIZATION / (1 + REGULARIZATION) * ca.diag(K) * first
    return first + ca.vertcat(*factors.solve(entries(rest - ca.mtimes(K, first) + regularization)))


def test_directions(direction: SX) -> SX:
    """Compute the directions (3, 3) along which velocities vanish.

    They are those of z, but with e_N instead of the direction along the cone's edge.
    """
    return ca.horzcat(ca.vertcat(direction[0, 0], 0, 0), direction[:, 1:])


def unused_entries(direction: SX) -> SX:
    """Return 1 for each entry (3,) of z that has no effect."""
    return ca.vertcat(*(ca.sumsqr(direction[:, k]) == 0 for k in range(3)))
