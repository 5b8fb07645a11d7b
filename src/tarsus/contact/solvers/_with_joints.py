"""Contacts, stops and dry friction of joints as rows of one problem: Gauss-Seidel over all of them.

A stop that is held as inertia leaves contacts only the mobility that others have, and which stops
are held is a guess that may go round in circles where contacts press and slide by it. Here both
are inclusions of one problem. One joint is solved exactly: without a stop friction brings it to
rest if it can and else brakes with all of itself, and a stop adds what the rate is beyond it.
It is slower than what it stands in for, and is asked where that has not found a solution.
"""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
from casadi import SX

from tarsus.algebra import projections
from tarsus.algebra.blocks import flat, triples
from tarsus.algebra.products import dot
from tarsus.contact.problem import JointRows
from tarsus.contact.solvers.base import (
    HardProblem,
    Outcome,
    changes,
    finite,
    step_sizes,
    velocity_from_others,
)
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries, is_float64

SWEEPS = 1000
PROJECTIONS = 4  # of a contact in a sweep
ENOUGH = 0.01  # of the tolerance: sweeps that crawl where there is no solution change little, too
FINE = 1e-4  # of it: sweeps go on until joints at rest do not creep much faster than held ones


def with_joints(hard: HardProblem, rows: JointRows) -> Outcome:
    """The impulses of contacts and joints, from none at all; solved once a sweep changes none by
    more than `ENOUGH` of the tolerance, in float32 by no more than that.
    """
    n, m = len(hard.c), len(rows.free)
    columns = [triples(ca.vertcat(*row)) for row in rows.coupling]
    double, p = is_float64(hard.problem.dt), hard.p
    parts = ca.if_else(double, ENOUGH, 1), ca.if_else(double, FINE, 1)
    enough, fine = (SimpleNamespace(T_rel=k * p.T_rel, T_abs=k * p.T_abs) for k in parts)

    def sweep(now: Values) -> tuple[Values, SX]:
        impulses, joints = triples(now["impulse"]), entries(now["joints"])
        # contact by contact
        for i in range(n):
            b = velocity_from_others(hard, i, impulses)
            b += sum((columns[k][i] * joints[k] for k in range(m)), SX.zeros(3))
            own = pressed(hard, i, impulses[i], b)
            impulses[i] = ca.if_else(hard.problem.active[i], own, 0)
        # joint by joint
        felt = flat(impulses)
        for k in range(m):
            others = dot(rows.G[k][:k] + rows.G[k][k + 1 :], joints[:k] + joints[k + 1 :])
            joints[k] = answer(rows, k, rows.free[k] + dot(rows.coupling[k], felt) + others)
        new = {"impulse": ca.vertcat(*impulses), "joints": ca.vertcat(*joints)}
        before, after = (ca.vertcat(at["impulse"], at["joints"]) for at in (now, new))
        new |= {"sweeps": now["sweeps"] + 1, "moving": changes(before, after, enough)}
        return new, changes(before, after, fine)

    begin = {"impulse": SX.zeros(3 * n), "joints": SX.zeros(m), "sweeps": SX(0), "moving": SX(1)}
    last = hard.builder.loop(begin, sweep, SWEEPS)
    good = ca.logic_and(ca.logic_not(last["moving"]), finite(entries(last["joints"])))
    found = triples(last["impulse"]), last["sweeps"], good
    return Outcome(*found, [SX(0)] * n, joints=last["joints"]).at_stage("joint rows")


def pressed(hard: HardProblem, i: int, impulse: SX, b: SX) -> SX:
    """The impulse (3,) of contact i, nearer to its solution by a few projections, Eqn. (16) of
    Gehring 2014, from `impulse` (3,); b (3,): its velocity without it.
    """
    G = hard.problem.G[i, i]
    r_N, r_T = step_sizes(G)
    normal, tangent = impulse[0], impulse[1:]
    for _ in range(PROJECTIONS):
        xi = b[0] + ca.mtimes(G[0, :], ca.vertcat(normal, tangent))
        normal = projections.half_line(normal - r_N * xi)
        xi = b[1:] + ca.mtimes(G[1:, :], ca.vertcat(normal, tangent))
        tangent = projections.disc(tangent - r_T * xi, hard.mu[i] * normal)
    return ca.vertcat(normal, tangent)


def answer(rows: JointRows, k: int, b: SX) -> SX:
    """The impulse of joint k, whose rate is b without it."""
    own, most = rows.G[k][k], rows.friction[k]
    rest = -b / own
    impulse = ca.fmin(ca.fmax(rest, -most), most)
    rate = b + own * impulse
    for sign, end in ((1, rows.lower[k]), (-1, rows.upper[k])):
        if end is not None:
            impulse = ca.if_else(sign * (rate - end) < 0, rest + end / own, impulse)
    return impulse
