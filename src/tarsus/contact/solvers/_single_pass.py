"""Procedure of Sugihara 2006 for a rigid floor, as printed: one error norm, one correction.

Contacts stick or slide according to their speed before the step (25); the latter slide against
their slip (26). The normal impulses of sliding contacts and all impulses of sticking ones minimize
|A df - v|^2 + damping |df|^2 with no normal impulse below zero (33), solved exactly. Static
friction beyond mu_S of the normal impulse becomes mu_K of it (35)-(36), and nothing is solved
again.

The cost is explained in docs/decisions/0012-macro-model-solved-until-consistent.md: sliding bodies
may gain energy, and the load of standing ones jumps from contact to contact.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flatten_blocks
from tarsus.algebra.pivoting import ComplementarityProblem, pivot
from tarsus.algebra.products import Matrix, dot
from tarsus.algebra.projections import TINY
from tarsus.contact.problem import Contact, ContactProblem
from tarsus.contact.solvers._error_norm import MinimizationResult
from tarsus.parameters import choice
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

Passes = Literal["consistent", "once"]
TOLERANCE, REGULARIZATION = 1e-12, 1e-10  # relative: of signs, and of the diagonal


def passes_choice() -> Any:
    """Declare the field `passes` of laws with a rigid floor."""
    return choice(
        "consistent",
        "how often the error norm is solved",
        consistent="until sticking, sliding and leaving agree",
        once="as the paper: Eqn. (33) solved, then Eqns. (35)-(36) applied",
    )


def with_kinetic(p: Any) -> Any:
    """Return the parameters with mu_K, which is mu_S by default."""
    return SimpleNamespace(**({"mu_K": p.mu} | vars(p)))


def single_pass(problem: ContactProblem, p: Any, builder: Builder) -> MinimizationResult:
    """Compute the impulses (3,) of Eqns. (25)-(36), with the number of pivots.

    `p` has the parameters mu, mu_K, e_N, v_0 and damping.
    """
    n = problem.n
    # sticking contacts, and slip directions of the others
    sticks = [_is_slow(contact, p.v_0) for contact in problem.contacts]
    directions = [_slip_direction(contact, p.v_0) for contact in problem.contacts]
    mu = [contact.friction * p.mu for contact in problem.contacts]
    mu_K = [contact.friction * p.mu_K for contact in problem.contacts]
    sliding = [ca.logic_not(sticks[i]) * mu_K[i] * directions[i] for i in range(n)]
    stored = entries(builder.store("sliding", ca.vertcat(*sliding)))
    sliding = [ca.vertcat(*stored[2 * i : 2 * i + 2]) for i in range(n)]
    rows = range(3 * n)
    used = [ca.logic_and(problem.active[k // 3], sticks[k // 3] if k % 3 else 1) for k in rows]
    used = entries(builder.store("used", ca.vertcat(*used)))
    # the error norm (33): its normal equations, and their solution without pull
    columns, wanted = _set_up_equations(problem, used, sliding, sticks, p)
    H = _products(columns, p.damping, used, builder)
    c = entries(builder.store("c", ca.vertcat(*(-dot(column, wanted) for column in columns))))
    free = tuple(k % 3 > 0 for k in range(3 * n))
    program = ComplementarityProblem(H, c, used, SX(TOLERANCE), SX(REGULARIZATION), free)
    pivoted = pivot(program, [SX(1)] * (3 * n), builder)
    # friction of sliding contacts, and of those that now begin to slide
    impulses = []
    for i in range(n):
        normal, tangent = pivoted.x[3 * i], ca.vertcat(*pivoted.x[3 * i + 1 : 3 * i + 3])
        length = ca.sqrt(ca.dot(tangent, tangent) + TINY)
        kinetic = ca.if_else(length > mu[i] * normal, mu_K[i] * normal / length, 1)
        impulses.append(ca.vertcat(normal, kinetic * tangent - normal * sliding[i]))
    return MinimizationResult(impulses, pivoted.iterations, pivoted.converged)


def _is_slow(contact: Contact, v_0: SX) -> SX:
    """Return 1 if the contact does not move, (25)."""
    return ca.dot(contact.velocity, contact.velocity) <= v_0 * v_0


def _slip_direction(contact: Contact, v_0: SX) -> SX:
    """Compute sigma (2,), (7); zero without slip."""
    slip = contact.velocity[1:]
    speed = ca.sqrt(ca.dot(slip, slip) + TINY)
    return ca.if_else(speed > v_0, slip / speed, 0)


def _set_up_equations(
    problem: ContactProblem, used: list[SX], sliding: list[SX], sticks: list[SX], p: Any
) -> tuple[Matrix, list[SX]]:
    """Set up A by columns and v of (30)-(32), zero in unused rows and columns."""
    G, v, columns = flatten_blocks(problem.G, problem.n), [], []
    for i, contact in enumerate(problem.contacts):
        rebound = ca.if_else(sticks[i], 0, p.e_N * ca.fmin(contact.velocity[0], 0))
        missing = -(problem.free[i] + ca.vertcat(rebound, 0, 0))
        v += [used[3 * i + k] * missing[k] for k in range(3)]
    for j in range(3 * problem.n):
        i, k = divmod(j, 3)
        column = list(G[j])
        if k == 0:
            first, second = entries(sliding[i])
            triple = zip(*G[j : j + 3], strict=True)
            column = [a - first * b - second * c for a, b, c in triple]
        columns.append([row * used[j] * entry for row, entry in zip(used, column, strict=True)])
    return columns, v


def _products(columns: Matrix, damping: SX, used: list[SX], builder: Builder) -> Matrix:
    """Compute A^T A + damping 1, stored, with 1 on the diagonal of unused entries."""
    size = range(len(columns))
    lower = [dot(columns[i], columns[j]) for i in size for j in range(i + 1)]
    stored = entries(builder.store("H", ca.vertcat(*lower)))
    H = [[stored[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in size] for i in size]
    for i in size:
        H[i][i] = H[i][i] + damping + ca.logic_not(used[i])
    return H
