"""Impulses of a rigid floor that minimize the velocity error and their own norm.

Sugihara 2006, section III-B. A contact that slips slower than v_0 sticks: its velocity is to become
zero (25). A faster one slides: its impulse is f_N (nu - mu_K sigma), with sigma the direction of
its slip (26), and only its normal velocity is prescribed (29). That gives A f = -c, Eqns.
(30)-(32), and f minimizes |A f + c|^2 + damping |f|^2 with no normal impulse below zero (33).

Each pass solves the normal equations by L D L^T for one guess of which contacts press, which stick
and how the others slide, and corrects the guess by signs (`_error_norm_guess`). A guess that needs
no correction is the exact solution. If there is none after a few passes, only one contact is
corrected at a time. A guess in which a contact with friction sinks into the ground is not
a solution, although it may have a smaller error norm than one that lifts other contacts.

The differences from the paper are explained in
docs/decisions/0012-macro-model-solved-until-consistent.md and
docs/decisions/0027-jamming-in-the-macro-model.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flatten_blocks, triples
from tarsus.algebra.ldl import ZERO_IMPULSE_DIAGONAL, factorize_dense
from tarsus.algebra.products import Matrix, dot, multiply
from tarsus.algebra.projections import TINY, radial_return
from tarsus.contact.problem import ContactProblem
from tarsus.contact.solvers._error_norm_guess import (
    SIGN_TOLERANCE,
    ErrorNormProblem,
    Guess,
    GuessResult,
    correct_contact,
    largest_normal,
    sinks_through,
)
from tarsus.contact.solvers.base import workless_share
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

MAX_PASSES, JOINT_PASSES = 40, 8  # all passes; those in which all contacts are corrected at once
# least relative regularization of the diagonal, so that round-off does not decide how contacts
# share a load
REGULARIZATION = 1e-11


@dataclass(frozen=True)
class MinimizationResult:
    """Impulses (3,) in N s, number of passes, and 1 if the last guess was right."""

    impulses: list[SX]
    passes: SX
    converged: SX


def set_up(
    problem: ContactProblem, pressed: list[SX], p: Any, builder: Builder
) -> tuple[ErrorNormProblem, Guess]:
    """Set up the equations of the active contacts, and the first guess: slow contacts stick.

    A contact above the ground may first close its gap.

    Parameters
    ----------
    problem : ContactProblem
        The contacts.
    pressed : list of SX
        1 for each contact that pressed in the last step.
    p : namespace
        Parameters mu, mu_K, e_N, v_0 and damping.
    builder : Builder
        Stores what all passes read.
    """
    n, directions, sticking, c = problem.n, [], [], []
    closing_speed = [ca.fmax(contact.gap, 0) / problem.dt for contact in problem.contacts]
    for i, contact in enumerate(problem.contacts):
        slip, normal = contact.velocity[1:], contact.velocity[0]
        speed = ca.sqrt(ca.dot(slip, slip) + TINY)
        directions.append(slip / speed)
        sticking.append(speed <= p.v_0)
        rebound = ca.if_else(normal < -p.v_0, p.e_N * normal, 0)
        c.append(problem.free[i] + ca.vertcat(rebound + closing_speed[i], 0, 0))
    # computed once for all passes
    closed = entries(builder.store("closed", ca.vertcat(*problem.active)))
    G = flatten_blocks(problem.G, n)
    ground = ca.vertcat(*(contact.friction for contact in problem.contacts))
    # friction that could stop a contact can also hold it: mu_K may be larger than mu_S
    mu = entries(builder.store("mu", ground * ca.fmax(p.mu, p.mu_K)))
    mu_K = entries(builder.store("mu_K", ground * p.mu_K))
    stored_c = entries(builder.store("c", ca.vertcat(*c)))
    free = entries(builder.store("free", ca.vertcat(*problem.free)))
    closing_speed = entries(builder.store("closing_speed", ca.vertcat(*closing_speed)))
    equations = ErrorNormProblem(G, free, stored_c, closing_speed, closed, mu, mu_K, p.damping)
    pressing = [
        ca.logic_and(closed[i], ca.logic_or(pressed[i], stored_c[3 * i] < 0)) for i in range(n)
    ]
    return equations, Guess(pressing, pressing, sticking, [SX(0)] * n, [SX(0)] * n, directions)


def minimize(equations: ErrorNormProblem, guess: Guess, builder: Builder) -> MinimizationResult:
    """Repeat passes until the guess is right."""
    begin = guess.to_registers() | {
        "impulse": SX.zeros(3 * equations.n),
        "passes": SX(0),
        "wrong": SX(0),
    }

    def one_pass(values: Values) -> tuple[Values, SX]:
        now = Guess.from_registers(values)
        impulses, columns = contact_impulses(equations, now)
        single = values["passes"] >= JOINT_PASSES
        new, wrong = correct_guess(equations, now, impulses, columns, single)
        state = {"impulse": ca.vertcat(*impulses), "passes": values["passes"] + 1, "wrong": wrong}
        return new.to_registers() | state, wrong

    last = builder.loop(begin, one_pass, MAX_PASSES)
    impulses = triples(last["impulse"])
    # remove what round-off, or an unsettled guess, left outside the cone
    cut = [radial_return(L, mu) for L, mu in zip(impulses, equations.mu, strict=True)]
    impulses = without_energy_gain(equations.G, equations.free, cut)
    good = ca.logic_not(ca.logic_or(last["wrong"], sinks_through(equations, impulses)))
    return MinimizationResult(impulses, last["passes"], good)


def contact_impulses(equations: ErrorNormProblem, guess: Guess) -> tuple[list[SX], Matrix]:
    """Compute impulses (3,) for a guess, and A's columns of normal impulses (n, 3n), (30)-(31)."""
    size, G = range(3 * equations.n), equations.G
    # factors 0 and 1 rather than selections, which the tracer would move out of every product
    friction = [
        ca.logic_not(guess.sticking[i]) * equations.mu_K[i] * guess.directions[i]
        for i in range(equations.n)
    ]
    holds = [ca.logic_and(a, b) for a, b in zip(guess.pressing, guess.sticking, strict=True)]
    prescribed = [holds[k // 3] if k % 3 else guess.in_error[k // 3] for k in size]
    used = [holds[k // 3] if k % 3 else guess.pressing[k // 3] for k in size]
    A: Matrix = []  # by columns; rows without a prescribed velocity are zero
    for j in size:
        i, k = divmod(j, 3)
        column = list(G[j])
        if k == 0:
            sliding = entries(friction[i])
            column = [
                a - sliding[0] * b - sliding[1] * c for a, b, c in zip(*G[j : j + 3], strict=True)
            ]
        A.append([a * entry for a, entry in zip(prescribed, column, strict=True)])
    H = [[dot(A[i], A[j]) for j in range(i + 1)] for i in size]
    for k in size:
        H[k][k] = H[k][k] + ca.if_else(
            used[k], equations.damping + REGULARIZATION * H[k][k], ZERO_IMPULSE_DIAGONAL
        )
    f = factorize_dense(H).solve([-dot(column, equations.c) for column in A])
    impulses = []
    for i in range(equations.n):
        normal = guess.pressing[i] * f[3 * i]
        static = holds[i] * ca.vertcat(*f[3 * i + 1 : 3 * i + 3])
        impulses.append(ca.vertcat(normal, static - friction[i] * normal))
    return impulses, A[::3]


def correct_guess(
    equations: ErrorNormProblem, guess: Guess, impulses: list[SX], columns: Matrix, single: SX
) -> tuple[Guess, SX]:
    """Correct a guess; also return 1 if any contact was wrong.

    If `single`, only the last wrong contact is corrected.
    """
    flat = entries(ca.vertcat(*impulses))
    residual = [
        value + c for value, c in zip(multiply(equations.G, flat), equations.c, strict=True)
    ]
    largest = largest_normal(impulses)
    # the correction of each contact
    changes = [
        correct_contact(
            equations,
            guess,
            i,
            GuessResult(
                impulses[i], residual[3 * i : 3 * i + 3], dot(columns[i], residual), largest
            ),
        )
        for i in range(equations.n)
    ]
    # correct all contacts, or the last one alone
    last = SX(-1)
    for i, (_, wrong) in enumerate(changes):
        last = ca.if_else(wrong, i, last)
    new = []
    for i, (change, wrong) in enumerate(changes):
        applies = ca.logic_and(wrong, ca.logic_or(ca.logic_not(single), last == i))
        old = ca.vertcat(*(values[i] for values in vars(guess).values()))
        new.append(ca.if_else(applies, change, old))
    parts = {
        name: [column[k] for column in new]
        for k, name in enumerate(vars(guess))
        if name != "directions"
    }
    return Guess(directions=[column[-2:] for column in new], **parts), last >= 0


def without_energy_gain(G: Matrix, free: list[SX], impulses: list[SX]) -> list[SX]:
    """Scale impulses back until they do no positive work; only an unconverged guess needs this."""
    flat = entries(ca.vertcat(*impulses))
    linear, square = dot(flat, free), dot(flat, multiply(G, flat))
    share = workless_share(linear, square)
    scale = ca.if_else(2 * linear + square > SIGN_TOLERANCE * square, ca.fmin(share, 1), 1)
    return [scale * impulse for impulse in impulses]
