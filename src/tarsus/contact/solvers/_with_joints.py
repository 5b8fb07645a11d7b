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

from tarsus.algebra.blocks import flat, triples
from tarsus.algebra.products import dot
from tarsus.contact.problem import JointRows
from tarsus.contact.solvers._exact_blocks import prepared, solve_one
from tarsus.contact.solvers.base import (
    HardProblem,
    Outcome,
    changes,
    finite,
    velocity_from_others,
)
from tarsus.program.ir.symbolic import entries, in_double
from tarsus.program.ir.trace import Values

SWEEPS = 1000
FINE = 0.01  # of the tolerance: sweeps that crawl where there is no solution change little, too


def with_joints(hard: HardProblem, rows: JointRows) -> Outcome:
    """The impulses of contacts and joints, from none at all; solved once a sweep changes none by
    more than `FINE` of the tolerance, in float32 by no more than that.
    """
    n, m, local = len(hard.c), len(rows.free), prepared(hard)
    columns = [triples(ca.vertcat(*row)) for row in rows.coupling]
    part = ca.if_else(in_double(hard.problem.dt), FINE, 1)
    fine = SimpleNamespace(T_rel=part * hard.p.T_rel, T_abs=part * hard.p.T_abs)

    def sweep(now: Values) -> tuple[Values, SX]:
        impulses, roots, acting = triples(now["impulse"]), entries(now["root"]), now["joints"]
        joints = entries(acting)
        # contact by contact
        for i in range(n):
            b = velocity_from_others(hard, i, impulses)
            b += sum((columns[k][i] * joints[k] for k in range(m)), SX.zeros(3))
            own, roots[i] = solve_one(local[i], b, hard.mu[i], roots[i])
            impulses[i] = ca.if_else(hard.problem.active[i], own, 0)
        # joint by joint
        felt = flat(impulses)
        for k in range(m):
            others = dot(rows.G[k][:k] + rows.G[k][k + 1 :], joints[:k] + joints[k + 1 :])
            joints[k] = answer(rows, k, rows.free[k] + dot(rows.coupling[k], felt) + others)
        before = ca.vertcat(now["impulse"], acting)
        after = ca.vertcat(*impulses), ca.vertcat(*joints)
        moving = changes(before, ca.vertcat(*after), fine)
        new = {"impulse": after[0], "root": ca.vertcat(*roots), "joints": after[1]}
        return new | {"sweeps": now["sweeps"] + 1, "moving": moving}, moving

    begin = {"impulse": SX.zeros(3 * n), "root": SX.zeros(n), "joints": SX.zeros(m)}
    begin |= {"sweeps": SX(0), "moving": SX(1)}
    last = hard.builder.loop(begin, sweep, SWEEPS)
    good = ca.logic_and(ca.logic_not(last["moving"]), finite(entries(last["joints"])))
    found = triples(last["impulse"]), last["sweeps"], good
    return Outcome(*found, entries(last["root"]), joints=last["joints"])


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
