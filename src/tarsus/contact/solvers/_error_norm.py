"""Impulses of a rigid floor that minimize the error of velocity and their own norm.

Sugihara 2006, section III-B. A contact that slips slower than v_0 sticks: its velocity shall become
zero (25). A faster one slides: its impulse is f_N (nu - mu_K sigma), sigma the direction of its
slip (26), and only its normal velocity is asked for (29). That makes A f = -c, Eqns. (30)-(32), and
f minimizes |A f + c|^2 + damping |f|^2 with no normal impulse below zero (33).

Each pass solves the normal equations for one guess of who presses, who sticks and which way the
others slide, by L D L^T, and corrects the guess by signs: a contact that pulls is let go, one that
is let go and would sink is taken back; static friction beyond mu_S f_N becomes kinetic in the same
direction (35)-(36); kinetic friction that would turn the slip about is static, for it cannot do
more than stop it. A guess that needs no correction is the exact solution. If that has not happened
after a few passes only one contact is corrected at a time.

Why this is not quite what the paper does stands in
docs/decisions/0012-macro-model-solved-until-consistent.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flat_matrix, triples
from tarsus.algebra.ldl import factorize_dense
from tarsus.algebra.products import Matrix, dot, times
from tarsus.algebra.projections import TINY, radial_return
from tarsus.contact.problem import ContactProblem
from tarsus.contact.solvers.base import share_without_gain
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder, Values

PASSES, TOGETHER = 40, 8  # passes at most; those in which all contacts are corrected at once
AGAIN = 2  # how often within a step a contact may be let go, or its kinetic friction become static
ROUND_OFF = 1e-9  # relative size below which a wrong sign is none
# the least relative trace on the diagonal: round-off must not decide who carries the load
SPREAD = 1e-11
NEAR = 10.0  # velocities that damping leaves, as a multiple of damping f / G_NN
FAR = 1e20  # on the diagonal of an unknown that is held at zero


@dataclass(frozen=True)
class ErrorNormProblem:
    """The inputs of Eqns. (30)-(36), n contacts together."""

    G: Matrix
    """Delassus matrix (3n, 3n), 1/kg."""
    free: list[SX]
    """Velocities (3n,) without impulses, m/s."""
    c: list[SX]
    """The part of them that is to vanish (3n,), m/s."""
    closed: list[SX]
    """1 for a contact that may press, else 0 (n,)."""
    mu: list[SX]
    """Friction coefficients of sticking (n,), [1]: mu_S, or mu_K if that is larger."""
    mu_K: list[SX]
    """Friction coefficients of sliding (n,), [1]."""
    damping: SX
    """The paper's lambda, 1/kg^2."""

    @property
    def n(self) -> int:
        """Number of contacts."""
        return len(self.closed)


@dataclass(frozen=True)
class Guess:
    """The guessed state of each contact: 1 or 0, a count, or a direction."""

    pressing: list[SX]
    """It has a normal impulse."""
    counted: list[SX]
    """Its normal velocity counts in the error."""
    sticking: list[SX]
    """Its friction is static."""
    lost: list[SX]
    """How often it was let go in this step."""
    held: list[SX]
    """How often its friction was made static in this step."""
    ways: list[SX]
    """Unit vector (2,) of its slip, if it slides."""

    def values(self) -> Values:
        """As registers of a loop."""
        return {name: ca.vertcat(*of) for name, of in vars(self).items()}

    @staticmethod
    def of(values: Values) -> Guess:
        """From the registers of a loop."""
        names = ("pressing", "counted", "sticking", "lost", "held")
        ways = [values["ways"][2 * i : 2 * i + 2] for i in range(values["pressing"].numel())]
        return Guess(ways=ways, **{name: entries(values[name]) for name in names})


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
    for contact, free in zip(problem.contacts, problem.free, strict=True):
        slip, normal = contact.velocity[1:], contact.velocity[0]
        speed = ca.sqrt(ca.dot(slip, slip) + TINY)
        ways.append(slip / speed)
        sticking.append(speed <= p.v_0)
        rebound = ca.if_else(normal < -p.v_0, p.e_N * normal, 0)
        c.append(free + ca.vertcat(rebound + ca.fmax(contact.gap, 0) / problem.dt, 0, 0))
    # all that the passes read is computed once
    closed = entries(builder.keep("closed", ca.vertcat(*problem.active)))
    G = flat_matrix(problem.G, n)
    ground = ca.vertcat(*(contact.friction for contact in problem.contacts))
    # friction that could stop a contact can hold it: mu_K may be above mu_S
    mu = entries(builder.keep("mu", ground * ca.fmax(p.mu, p.mu_K)))
    mu_K = entries(builder.keep("mu_K", ground * p.mu_K))
    kept = entries(builder.keep("c", ca.vertcat(*c)))
    free = entries(builder.keep("free", ca.vertcat(*problem.free)))
    known = ErrorNormProblem(G, free, kept, closed, mu, mu_K, p.damping)
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
    return Minimized(
        without_gain(known.G, known.free, cut), last["passes"], ca.logic_not(last["wrong"])
    )


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
        H[k][k] = H[k][k] + ca.if_else(used[k], known.damping + SPREAD * H[k][k], FAR)
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
    largest = SX(0)
    for impulse in impulses:
        largest = ca.fmax(largest, impulse[0])
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


@dataclass(frozen=True)
class Tried:
    """Of one contact under a guess: impulse (3,), residual velocity (3,), derivative of half the
    error of (33) by its normal impulse, and the largest normal impulse of all contacts.
    """

    impulse: SX
    residual: list[SX]
    gradient: SX
    largest: SX


def changed(known: ErrorNormProblem, guess: Guess, i: int, tried: Tried) -> tuple[SX, SX]:
    """What to believe of contact i instead (ordered as `Guess`), and 1 if the guess was wrong."""
    pressing, counted, sticking, way = (
        guess.pressing[i],
        guess.counted[i],
        guess.sticking[i],
        guess.ways[i],
    )
    G_ii, small = known.G[3 * i][3 * i], ROUND_OFF * tried.largest
    slow = (
        small * G_ii + NEAR * known.damping / G_ii * tried.largest
    )  # what damping leaves of a velocity is no sign
    # who presses: one that pulls is let go, one that would sink is taken back
    normal, tangent = tried.impulse[0], tried.impulse[1:]
    pulls = ca.logic_and(pressing, normal < -small)
    towards = ca.if_else(counted, tried.gradient < -small * G_ii * G_ii, tried.residual[0] < -slow)
    sinks = ca.logic_and(ca.logic_and(known.closed[i], ca.logic_not(pressing)), towards)

    # who sticks: beyond mu_S f_N it slips; one that would slide backwards sticks
    length = ca.sqrt(ca.dot(tangent, tangent) + TINY)
    stays = ca.logic_and(pressing, ca.logic_not(pulls))
    slips = ca.logic_and(ca.logic_and(stays, sticking), length > known.mu[i] * normal + small)
    velocity = ca.vertcat(*tried.residual[1:])
    after = ca.dot(velocity, way)
    turns = ca.logic_and(ca.logic_and(stays, ca.logic_not(sticking)), after < -slow)
    holds = ca.logic_and(turns, guess.held[i] < AGAIN)

    # what to believe instead
    presses = ca.logic_or(stays, sinks)
    stands = ca.logic_or(
        presses, ca.logic_and(counted, ca.logic_or(ca.logic_not(pulls), guess.lost[i] >= AGAIN))
    )
    slides = ca.logic_and(
        sinks, guess.lost[i] > 0
    )  # sticking it would be pulled, left alone it sinks
    sticks = ca.logic_or(holds, ca.logic_and(sticking, ca.logic_not(ca.logic_or(slips, slides))))
    change = ca.vertcat(presses, stands, sticks, guess.lost[i] + pulls, guess.held[i] + turns)
    wrong = ca.logic_or(ca.logic_or(pulls, sinks), ca.logic_or(slips, turns))
    way = ca.if_else(slides, velocity / ca.sqrt(ca.dot(velocity, velocity) + TINY), way)
    return ca.vertcat(change, ca.if_else(slips, -tangent / length, way)), wrong


def without_gain(G: Matrix, free: list[SX], impulses: list[SX]) -> list[SX]:
    """Impulses scaled back until they do no work: only a guess not settled may be about to."""
    flat = entries(ca.vertcat(*impulses))
    linear, square = dot(flat, free), dot(flat, times(G, flat))
    most = share_without_gain(linear, square)
    scale = ca.if_else(2 * linear + square > ROUND_OFF * square, ca.fmin(most, 1), 1)
    return [scale * impulse for impulse in impulses]
