"""Regularized convex contact by Newton's method on the smooth dual of a cone program.

Sought are impulses L_i in the cones |L_T| <= mu_i L_N that minimize 1/2 L^T (G + R) L + L^T c with
a diagonal R > 0. In z = sqrt(R) L the cones stay circular, with mu' = mu sqrt(R_T / R_N), and R
becomes 1. The problem

    minimize  phi(z) = 1/2 z^T A z + 1/2 |P(-c' - A z)|^2,    A = R^-1/2 G R^-1/2,  c' = R^-1/2 c,

with P the projection on the cones, has no constraint, is convex and once differentiable, and at its
minimum z = P(-c' - A z) solves the first one. With B B^T = P' at the current point, Newton's step
is z + r - B e, r = P - z, where (1 + B^T A B) e = B^T A r: symmetric and positive definite,
for any rank of G. The step is shortened where the slope along it has grown instead of fallen;
because phi is convex, that converges from anywhere. The result is P itself, which lies in the cones
exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra import blocks
from tarsus.algebra.blocks import flatten, list_triples, triples
from tarsus.algebra.ldl import factorize_dense
from tarsus.algebra.products import Matrix, multiply
from tarsus.algebra.projections import ConePoint
from tarsus.contact.solvers.base import HardProblem, Outcome, has_changed, is_finite
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

MAX_STEPS = 50  # of Newton's method
MAX_SHORTENINGS = 30  # per step
SLOPE_REDUCTION = 0.5  # fraction of a step's initial slope that may remain at its end


@dataclass(frozen=True)
class ScaledProblem:
    """Problem in z = sqrt(R) L.

    Attributes
    ----------
    A
        R^-1/2 G R^-1/2, rows of a matrix (3n, 3n).
    c
        R^-1/2 c (3n,).
    mu
        Friction coefficients mu' (n,) of the scaled cones.
    active
        1 for each active contact, else 0.
    unit
        1 / sqrt(R) (3n,): an impulse is unit * z.
    """

    A: Matrix
    c: list[SX]
    mu: list[SX]
    active: list[SX]
    unit: list[SX]


def minimize(hard: HardProblem, R: list[SX], start: list[SX]) -> Outcome:
    """Compute the impulses (3,) of each contact.

    Parameters
    ----------
    hard : HardProblem
        G, c and the friction cones.
    R : list of SX
        R_N and R_T (2,) of each contact, 1/kg.
    start : list of SX
        Impulses (3,) of the last step.
    """
    builder = hard.builder
    problem = scale_problem(hard, R)
    begin = {
        "z": ca.vertcat(*(s / u for s, u in zip(flatten(start), problem.unit, strict=True))),
        "projected": SX.zeros(3 * len(start)),
        "steps": SX(0),
        "moving": SX(1),
    }

    def step(values: Values) -> tuple[Values, SX]:
        # at the solution z is this projection
        z = entries(values["z"])
        p = [-c - a for c, a in zip(problem.c, multiply(problem.A, z), strict=True)]
        projected, B = project_all(problem, p)
        moving = has_changed(_impulses(problem, z), _impulses(problem, projected), hard.p)
        # one Newton step towards it, shortened where the slope would grow
        direction = newton_step(problem, [a - b for a, b in zip(projected, z, strict=True)], B)
        t = step_length(problem, builder, (z, p), direction)
        new = ca.vertcat(*z) + t * ca.vertcat(*direction)
        return {
            "z": new,
            "projected": ca.vertcat(*projected),
            "steps": values["steps"] + 1,
            "moving": moving,
        }, moving

    last = builder.loop(begin, step, MAX_STEPS)
    impulses = _impulses(problem, entries(last["projected"]))
    good = ca.logic_and(
        ca.logic_not(last["moving"]), is_finite(entries(impulses) + flatten(hard.c))
    )
    return Outcome(triples(impulses), last["steps"], good)


def scale_problem(hard: HardProblem, R: list[SX]) -> ScaledProblem:
    """Scale the problem to units in which R = 1, stored for the iterations."""
    n, G, builder = len(R), hard.problem.G, hard.builder
    roots = [ca.vertcat(1 / ca.sqrt(r[0]), 1 / ca.sqrt(r[1]), 1 / ca.sqrt(r[1])) for r in R]
    unit = entries(builder.store("unit", ca.vertcat(*roots)))
    lower = [unit[i] * blocks.entry(G, i, j) * unit[j] for i in range(3 * n) for j in range(i + 1)]
    stored = entries(builder.store("A", ca.vertcat(*lower)))
    A = [
        [stored[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(3 * n)]
        for i in range(3 * n)
    ]
    c = entries(
        builder.store(
            "scaled_c", ca.vertcat(*(u * v for u, v in zip(unit, flatten(hard.c), strict=True)))
        )
    )
    edges = [mu * ca.sqrt(r[1] / r[0]) for mu, r in zip(hard.mu, R, strict=True)]
    mu = entries(builder.store("scaled_mu", ca.vertcat(*edges)))
    return ScaledProblem(A, c, mu, hard.problem.active, unit)


def project_all(problem: ScaledProblem, p: list[SX]) -> tuple[list[SX], list[SX]]:
    """Compute P(p) (3n,), and B (3, 3) of each contact with B B^T = P'(p); 0 if inactive."""
    projected: list[SX] = []
    factors = []
    for x, mu, active in zip(list_triples(p), problem.mu, problem.active, strict=True):
        point = ConePoint.of(x, mu)
        projected += entries(ca.if_else(active, point.project_by_direction(), 0))
        factors.append(ca.if_else(active, point.derivative_factor(), 0))
    return projected, factors


def newton_step(problem: ScaledProblem, r: list[SX], B: list[SX]) -> list[SX]:
    """Solve (1 + P' A) Delta = r for Delta (3n,)."""
    n, A = len(B), problem.A
    K = [[SX(0)] * (3 * n) for _ in range(3 * n)]
    for i in range(n):
        for j in range(i + 1):
            small = ca.mtimes(ca.mtimes(B[i].T, blocks.block(A, i, j)), B[j])
            for k in range(3):
                for m in range(3):
                    K[3 * i + k][3 * j + m] = small[k, m] + (1 if i == j and k == m else 0)
    Ar = list_triples(multiply(A, r))
    right = flatten(ca.mtimes(b.T, x) for b, x in zip(B, Ar, strict=True))
    e = list_triples(factorize_dense(K).solve(right))
    back = flatten(ca.mtimes(b, x) for b, x in zip(B, e, strict=True))
    return [a - b for a, b in zip(r, back, strict=True)]


def step_length(
    problem: ScaledProblem, builder: Builder, point: tuple[list[SX], list[SX]], direction: list[SX]
) -> SX:
    """Find t in (0, 1] that reduces the slope of phi enough, by safeguarded false position.

    Parameters
    ----------
    problem : ScaledProblem
        The problem.
    builder : Builder
        Traces the loop.
    point : tuple
        z, and -c' - A z.
    direction : list of SX
        Newton's step (3n,).
    """
    n = len(problem.mu)
    values = {"z": point[0], "p": point[1], "step": direction}
    values |= {"change": multiply(problem.A, direction)}
    z, p, delta, change = (
        entries(builder.store(name, ca.vertcat(*value))) for name, value in values.items()
    )

    def slope(t: SX) -> SX:
        projected, _ = project_all(problem, [a - t * b for a, b in zip(p, change, strict=True)])
        return sum(((z[k] + t * delta[k] - projected[k]) * change[k] for k in range(3 * n)), SX(0))

    # the whole step is taken unless the slope at its end is too steep
    first, last = slope(SX(0)), slope(SX(1))
    limit = SLOPE_REDUCTION * ca.fabs(first)
    steep = last > limit
    begin = {"t": SX(1), "low": SX(0), "high": SX(1), "below": first, "above": last, "limit": limit}

    # else the root of the slope is bracketed
    def shorten(v: Values) -> tuple[Values, SX]:
        share = v["below"] / (v["below"] - v["above"])
        t = v["low"] + (v["high"] - v["low"]) * ca.fmin(ca.fmax(share, 0.1), 0.9)
        here = slope(t)
        up = here > 0
        new = {
            "t": t,
            "low": ca.if_else(up, v["low"], t),
            "high": ca.if_else(up, t, v["high"]),
            "below": ca.if_else(up, v["below"], here),
            "above": ca.if_else(up, here, v["above"]),
            "limit": v["limit"],
        }
        return new, ca.fabs(here) > v["limit"]

    return builder.loop(begin, shorten, MAX_SHORTENINGS, steep)["t"]


def _impulses(problem: ScaledProblem, z: list[SX]) -> SX:
    """Compute L (3n,) from z."""
    return ca.vertcat(*(u * entry for u, entry in zip(problem.unit, z, strict=True)))
