"""One Newton step more from a solution: it changes nothing but the solution's derivative.

A method that begins near the solution is soon done, and its tangent is not: what it began with has
none, and each of its steps takes off only a part of what is missing. A full Newton step from a
solution L of F(L, x) = 0 is exact in it: of L - K^-1 F(L, x), with K the slope of F by L, the
derivative by x is -K^-1 dF/dx, whatever those of L and K are taken for, as F is zero. So L and K
are held without tangents (`Builder.guess`), and no step of the method needs any.

F: a contact that presses has xi_N = 0; one that sticks xi_T = 0, one that slides along t, across
which o points, t . L_T = mu L_N and o . (xi_T + s L_T) = 0. An impulse that slides has two
unknowns, z: dL = e_N z_N + t (mu z_N - what is missing of the edge) + o z_o.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.algebra.elimination import eliminated
from tarsus.contact.solvers._cone_edges import ByBlocks, Touch
from tarsus.contact.solvers._exact_blocks import FIXED
from tarsus.contact.solvers.base import DENSE, HardProblem, Outcome
from tarsus.program.ir.symbolic import entries

SPREAD = 1e-10  # of the diagonal: added, so that loads are told that no velocity tells of


def with_slope(hard: HardProblem, found: Outcome) -> Outcome:
    """The outcome, its impulses' derivatives exact; as it is in programs that nobody differentiates
    and of more than `DENSE` contacts.
    """
    n, G = len(hard.c), hard.problem.G
    if not hard.builder.smooth or n > DENSE:
        return found
    # what each contact does, and the directions z of its impulse
    begin = hard.builder.guess(ca.vertcat(*found.impulses))
    L, ways, edges, roots = triples(begin), list[SX](), list[SX](), list[SX]()
    steps = ByBlocks(hard)
    xi = steps.velocities(L)
    for i in range(n):
        touch = Touch.of(hard, i, steps.sizes(i), L[i], xi[i])
        t, mu = L[i][1:] / ca.fmax(ca.norm_2(L[i][1:]), SPREAD), hard.mu[i]
        slipping = ca.horzcat(ca.vertcat(1, mu * t), ca.vertcat(0, -t[1], t[0]), SX.zeros(3))
        way = ca.if_else(touch.slides, slipping, SX.eye(3))
        ways.append(ca.if_else(touch.presses, way, 0))
        short = ca.if_else(touch.slides, mu * L[i][0] - ca.dot(t, L[i][1:]), 0)
        edges.append(ca.vertcat(0, short * t))
        roots.append(touch.root())
    # K: each row is the velocity along what z moves, for a sliding contact normal and across
    rows = [[SX(0)] * n for _ in range(n)]
    for i in range(n):
        along = tested(ways[i])
        for j in range(n):
            rows[i][j] = ca.mtimes([along.T, G[i, j], ways[j]])
        own, least = rows[i][i], FIXED * G[i, i][0, 0]
        own[1, 1] = ca.fmax(own[1, 1], least) + roots[i]
        own[2, 2] = ca.fmax(own[2, 2], least)
        rows[i][i] = own * (1 + SPREAD * SX.eye(3)) + ca.diag(idle(ways[i]))
    K, kept = hard.builder.guess((ca.vertcat(*(ca.horzcat(*row) for row in rows)), ways))
    # F, and the step
    onto = [L_i + edge for L_i, edge in zip(L, edges, strict=True)]
    after = steps.velocities(onto)
    missed = [-ca.mtimes(tested(way).T, xi_i) for way, xi_i in zip(kept, after, strict=True)]
    z = triples(solution(K, ca.vertcat(*missed)))
    moved = [a + ca.mtimes(way, b) for a, way, b in zip(onto, kept, z, strict=True)]
    return replace(found, impulses=moved)


def solution(K: SX, rest: SX) -> SX:
    """z (3n,) with K z = rest, once more for what SPREAD leaves where loads are determined."""
    factors = eliminated([ca.horzsplit(row) for row in ca.vertsplit(K)])
    first = ca.vertcat(*factors.solve(entries(rest)))
    own = SPREAD / (1 + SPREAD) * ca.diag(K) * first
    return first + ca.vertcat(*factors.solve(entries(rest - ca.mtimes(K, first) + own)))


def tested(way: SX) -> SX:
    """The directions (3, 3) along which velocities vanish: those of z, but e_N in place of the
    cone's edge.
    """
    return ca.horzcat(ca.vertcat(way[0, 0], 0, 0), way[:, 1:])


def idle(way: SX) -> SX:
    """1 for each number (3,) of z that moves nothing."""
    return ca.vertcat(*(ca.sumsqr(way[:, k]) == 0 for k in range(3)))
