"""Impulses of a rigid floor that minimize the error of velocity and their own norm.

Sugihara 2006, section III-B. A contact that slips slower than v_0 sticks: its velocity shall become
zero (25). A faster one slides: its impulse is f_N (nu - mu_K sigma), sigma the direction of its
slip (26), and only its normal velocity is asked for (29). That makes A f = -c, Eqns. (30)-(32), and
f minimizes |A f + c|^2 + damping |f|^2 with no normal impulse below zero (33).

Each pass solves the normal equations for one guess of who presses, who sticks and which way the
others slide, by L D L^T, and corrects the guess by signs (`_error_norm_guess`). A guess that needs
no correction is the exact solution. If that has not happened after a few passes only one contact is
corrected at a time. It is no solution if a contact with friction comes into the ground all the
same: the error norm would rather let it than throw up others.

Why this is not quite what the paper does stands in
docs/decisions/0012-macro-model-solved-until-consistent.md and
docs/decisions/0027-macro-friction-that-jams.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flat_matrix, triples
from tarsus.algebra.ldl import HELD_AT_ZERO, factorize_dense
from tarsus.algebra.products import Matrix, dot, times
from tarsus.algebra.projections import TINY, radial_return
from tarsus.contact.problem import ContactProblem
from tarsus.contact.solvers._error_norm_guess import (
    ROUND_OFF,
    ErrorNormProblem,
    Guess,
    Tried,
    changed,
    largest_normal,
    passed_through,
)
from tarsus.contact.solvers.base import share_without_gain
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

PASSES, TOGETHER = 40, 8  # passes at most; those in which all contacts are corrected at once
# the least relative trace on the diagonal: round-off must not decide who carries the load
SPREAD = 1e-11


@dataclass(frozen=True)
class Minimized:
    """Impulses (3,) in N s, passes, and 1 if the last guess was right."""

    impulses: list[SX]
    passes: SX
    settled: SX


def set_up(
    problem: ContactProblem, pressed: list[SX], p: Any, builder: Builder
) -> tuple[ErrorNormProblem, Guess]:
    """The equations of the active contacts, and the first guess: who is slow sticks.

    Above the ground a contact may first close its gap.
    pressed: 1 for a contact that pressed in the last step.
    p: the parameters mu, mu_K, e_N, v_0, damping.
    """
    n, ways, sticking, c = problem.n, [], [], []
    room = [ca.fmax(contact.gap, 0) / problem.dt for contact in problem.contacts]
    for i, contact in enumerate(problem.contacts):
        slip, normal = contact.velocity[1:], contact.velocity[0]
        speed = ca.sqrt(ca.dot(slip, slip) + TINY)
        ways.append(slip / speed)
        sticking.append(speed <= p.v_0)
        rebound = ca.if_else(normal < -p.v_0, p.e_N * normal, 0)
        c.append(problem.free[i] + ca.vertcat(rebound + room[i], 0, 0))
    # all that the passes read is computed once
    closed = entries(builder.store("closed", ca.vertcat(*problem.active)))
    G = flat_matrix(problem.G, n)
    ground = ca.vertcat(*(contact.friction for contact in problem.contacts))
    # friction that could stop a contact can hold it: mu_K may be above mu_S
    mu = entries(builder.store("mu", ground * ca.fmax(p.mu, p.mu_K)))
    mu_K = entries(builder.store("mu_K", ground * p.mu_K))
    kept = entries(builder.store("c", ca.vertcat(*c)))
    free = entries(builder.store("free", ca.vertcat(*problem.free)))
    room = entries(builder.store("room", ca.vertcat(*room)))
    known = ErrorNormProblem(G, free, kept, room, closed, mu, mu_K, p.damping)
    pressing = [ca.logic_and(closed[i], ca.logic_or(pressed[i], kept[3 * i] < 0)) for i in range(n)]
    return known, Guess(pressing, pressing, sticking, [SX(0)] * n, [SX(0)] * n, ways)


def minimize(known: ErrorNormProblem, guess: Guess, builder: Builder) -> Minimized:
    """Passes until the guess is right."""
    begin = guess.values() | {"impulse": SX.zeros(3 * known.n), "passes": SX(0), "wrong": SX(0)}

    def one_pass(values: Values) -> tuple[Values, SX]:
        now = Guess.of(values)
        impulses, columns = contact_impulses(known, now)
        single = values["passes"] >= TOGETHER
        new, wrong = corrected(known, now, impulses, columns, single)
        state = {"impulse": ca.vertcat(*impulses), "passes": values["passes"] + 1, "wrong": wrong}
        return new.values() | state, wrong

    last = builder.loop(begin, one_pass, PASSES)
    impulses = triples(last["impulse"])
    # take off what round-off, or a guess that was not settled, left outside the cone
    cut = [radial_return(L, mu) for L, mu in zip(impulses, known.mu, strict=True)]
    found = without_gain(known.G, known.free, cut)
    good = ca.logic_not(ca.logic_or(last["wrong"], passed_through(known, found)))
    return Minimized(found, last["passes"], good)


def contact_impulses(known: ErrorNormProblem, guess: Guess) -> tuple[list[SX], Matrix]:
    """Impulses (3,) by a guess, and A's columns of normal impulses, (n, 3n), by (30)-(31)."""
    size, G = range(3 * known.n), known.G
    # 0 and 1 as factors: the tracer would move a selection out of every product and add what is
    # left
    friction = [
        ca.logic_not(guess.sticking[i]) * known.mu_K[i] * guess.ways[i] for i in range(known.n)
    ]
    holds = [ca.logic_and(a, b) for a, b in zip(guess.pressing, guess.sticking, strict=True)]
    asked = [holds[k // 3] if k % 3 else guess.counted[k // 3] for k in size]
    used = [holds[k // 3] if k % 3 else guess.pressing[k // 3] for k in size]
    A: Matrix = []  # by columns, rows that are not asked for being zero
    for j in size:
        i, k = divmod(j, 3)
        column = list(G[j])
        if k == 0:
            sliding = entries(friction[i])
            column = [
                a - sliding[0] * b - sliding[1] * c for a, b, c in zip(*G[j : j + 3], strict=True)
            ]
        A.append([a * entry for a, entry in zip(asked, column, strict=True)])
    H = [[dot(A[i], A[j]) for j in range(i + 1)] for i in size]
    for k in size:
        H[k][k] = H[k][k] + ca.if_else(used[k], known.damping + SPREAD * H[k][k], HELD_AT_ZERO)
    f = factorize_dense(H).solve([-dot(column, known.c) for column in A])
    found = []
    for i in range(known.n):
        normal, held = (
            guess.pressing[i] * f[3 * i],
            holds[i] * ca.vertcat(*f[3 * i + 1 : 3 * i + 3]),
        )
        found.append(ca.vertcat(normal, held - friction[i] * normal))
    return found, A[::3]


def corrected(
    known: ErrorNormProblem, guess: Guess, impulses: list[SX], columns: Matrix, single: SX
) -> tuple[Guess, SX]:
    """The guess with what the signs show to be wrong changed, of the last such contact alone if
    `single`; 1 if any.
    """
    flat = entries(ca.vertcat(*impulses))
    residual = [value + c for value, c in zip(times(known.G, flat), known.c, strict=True)]
    largest = largest_normal(impulses)
    # what each contact would change
    changes = [
        changed(
            known,
            guess,
            i,
            Tried(impulses[i], residual[3 * i : 3 * i + 3], dot(columns[i], residual), largest),
        )
        for i in range(known.n)
    ]
    # all change together, or the last one alone
    last = SX(-1)
    for i, (_, wrong) in enumerate(changes):
        last = ca.if_else(wrong, i, last)
    new = []
    for i, (change, wrong) in enumerate(changes):
        takes = ca.logic_and(wrong, ca.logic_or(ca.logic_not(single), last == i))
        old = ca.vertcat(*(values[i] for values in vars(guess).values()))
        new.append(ca.if_else(takes, change, old))
    parts = {
        name: [column[k] for column in new] for k, name in enumerate(vars(guess)) if name != "ways"
    }
    return Guess(ways=[column[-2:] for column in new], **parts), last >= 0


def without_gain(G: Matrix, free: list[SX], impulses: list[SX]) -> list[SX]:
    """Impulses scaled back until they do no work: only a guess not settled may be about to."""
    flat = entries(ca.vertcat(*impulses))
    linear, square = dot(flat, free), dot(flat, times(G, flat))
    most = share_without_gain(linear, square)
    scale = ca.if_else(2 * linear + square > ROUND_OFF * square, ca.fmin(most, 1), 1)
    return [scale * impulse for impulse in impulses]
