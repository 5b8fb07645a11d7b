"""Contacts, joint limits and dry friction as rows of one problem: Gauss-Seidel over all of them.

A joint that is locked at a limit leaves contacts only the mobility of the other joints, and the
guess of which joints are locked may cycle where contacts press and slide next to them. Here both
are inclusions of one problem. One joint is solved exactly: without a limit, friction brings it to
rest if it can and otherwise brakes with its largest impulse, and a limit adds what stops the rate
beyond it. This is slower than locking joints, and is used where locking has not found a solution.
"""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
from casadi import SX

from tarsus.algebra import projections
from tarsus.algebra.blocks import flatten, triples
from tarsus.algebra.products import dot
from tarsus.contact.problem import JointRows
from tarsus.contact.solvers.base import (
    HardProblem,
    Outcome,
    has_changed,
    is_finite,
    step_sizes,
    velocity_from_others,
)
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries, is_float64

MAX_SWEEPS = 1000
PROJECTIONS = 4  # per contact and sweep
# fractions of the tolerance: a smaller change counts as converged, because sweeps that crawl where
# there is no solution change little, too; sweeps continue down to the other fraction, until joints
# at rest creep little faster than locked ones
CONVERGED_SHARE, FINAL_SHARE = 0.01, 1e-4


def solve_with_joints(hard: HardProblem, rows: JointRows) -> Outcome:
    """Solve for the impulses of contacts and joints, starting from zero.

    Converged once a sweep changes no impulse by more than CONVERGED_SHARE of the tolerance, in
    float32 by no more than the tolerance.
    """
    n, m = len(hard.c), len(rows.free)
    columns = [triples(ca.vertcat(*row)) for row in rows.coupling]
    double, p = is_float64(hard.problem.dt), hard.p
    shares = ca.if_else(double, CONVERGED_SHARE, 1), ca.if_else(double, FINAL_SHARE, 1)
    converged, final = (SimpleNamespace(T_rel=k * p.T_rel, T_abs=k * p.T_abs) for k in shares)

    def sweep(state: Values) -> tuple[Values, SX]:
        impulses, joints = triples(state["impulse"]), entries(state["joints"])
        # contact by contact
        for i in range(n):
            b = velocity_from_others(hard, i, impulses)
            b += sum((columns[k][i] * joints[k] for k in range(m)), SX.zeros(3))
            projected = project_contact(hard, i, impulses[i], b)
            impulses[i] = ca.if_else(hard.problem.active[i], projected, 0)
        # joint by joint
        contact_impulses = flatten(impulses)
        for k in range(m):
            others = dot(rows.G[k][:k] + rows.G[k][k + 1 :], joints[:k] + joints[k + 1 :])
            b = rows.free[k] + dot(rows.coupling[k], contact_impulses) + others
            joints[k] = joint_impulse(rows, k, b)
        new = {"impulse": ca.vertcat(*impulses), "joints": ca.vertcat(*joints)}
        before, after = (ca.vertcat(values["impulse"], values["joints"]) for values in (state, new))
        new |= {"sweeps": state["sweeps"] + 1, "moving": has_changed(before, after, converged)}
        return new, has_changed(before, after, final)

    begin = {"impulse": SX.zeros(3 * n), "joints": SX.zeros(m), "sweeps": SX(0), "moving": SX(1)}
    last = hard.builder.loop(begin, sweep, MAX_SWEEPS)
    good = ca.logic_and(ca.logic_not(last["moving"]), is_finite(entries(last["joints"])))
    solved = triples(last["impulse"]), last["sweeps"], good
    return Outcome(*solved, [SX(0)] * n, joints=last["joints"]).with_stage("joint rows")


def project_contact(hard: HardProblem, i: int, impulse: SX, b: SX) -> SX:
    """Compute the impulse (3,) of contact i after a few projections, Eqn. (16) of Gehring 2014.

    `impulse` (3,) is the old impulse, b (3,) the contact's velocity without it.
    """
    G = hard.problem.G[i, i]
    r_N, r_T = step_sizes(G)
    normal, tangent = impulse[0], impulse[1:]
    for _ in range(PROJECTIONS):
        xi = b[0] + ca.mtimes(G[0, :], ca.vertcat(normal, tangent))
        normal = projections.project_on_half_line(normal - r_N * xi)
        xi = b[1:] + ca.mtimes(G[1:, :], ca.vertcat(normal, tangent))
        tangent = projections.project_on_disc(tangent - r_T * xi, hard.mu[i] * normal)
    return ca.vertcat(normal, tangent)


def joint_impulse(rows: JointRows, k: int, b: SX) -> SX:
    """Compute the impulse of joint k, whose rate is b without it."""
    mobility, largest = rows.G[k][k], rows.friction[k]
    stopping = -b / mobility
    impulse = ca.fmin(ca.fmax(stopping, -largest), largest)
    rate = b + mobility * impulse
    for sign, limit in ((1, rows.lower[k]), (-1, rows.upper[k])):
        if limit is not None:
            at_limit = stopping + limit / mobility
            impulse = ca.if_else(sign * (rate - limit) < 0, at_limit, impulse)
    return impulse
