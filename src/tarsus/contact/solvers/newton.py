"""All contacts at once: an active-set Newton method on the sliding roots.

A solution of the inclusions (12)-(13) of Gehring 2014 is a linear system once it is known who
presses and who slides how fast: (G + S) L = -c over the pressing contacts, with S = s_i on both
tangents of contact i, because xi_T = -s L_T. Sticking is s = 0. What remains are n scalars, s_i >=
0 with |L_T| <= mu L_N, and the set of pressing contacts. Each iteration factors G + S (symmetric,
positive definite), then corrects every s_i by a Newton step on 1 / |L_T| with the contact's own
block as derivative (as for a trust region), and the set by signs: a contact that pulls opens if it
would fly off by itself, else it slides; one that closes by itself presses. While feet stick, one
factorization gives the exact answer. Where rigid bodies touch with several points the roots chase
one another: worlds that do not settle at once go on with Newton steps on the cones' edges
(`_cone_edges.py`), and at last with interior points; more contacts than are solved at once with
block Gauss-Seidel sweeps. Contacts that share few rigid bodies begin otherwise, through these: as
if all stick (`_standing.py`), then on the edges (`_shared_edges.py`); what that does not solve is
seldom. Robots that lie begin on the edges, at the last step's impulses: no roots settle a load that
many contacts share, and from step to step it hardly changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flat, lower_triangle, triples
from tarsus.algebra.ldl import HELD_AT_ZERO, factorize_dense
from tarsus.algebra.projections import TINY, radial_return
from tarsus.contact.solvers._cone_edges import ByBlocks, on_edges
from tarsus.contact.solvers._exact_blocks import Local, mobile, prepared
from tarsus.contact.solvers._interior_point import in_two_rounds, settled
from tarsus.contact.solvers._shared_edges import ByBodies
from tarsus.contact.solvers._standing import own_sizes, standing
from tarsus.contact.solvers.base import (
    DENSE,
    HardProblem,
    Outcome,
    Solver,
    into_cones,
    one_by_one,
    velocity_from_others,
    without_gain,
)
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries, in_double

# the least relative trace on the diagonal: round-off must not decide who carries the load
SPREAD = 1e-10
SLIGHT = 1e-12  # that where friction that holds joints decides it


@dataclass(frozen=True)
class Newton(Solver):
    """All contacts at once."""

    patience: int = 4
    """Steps on the roots before those on the edges; an even number, as roots that go to and fro are
    too large after it: loads start well inside the cones."""
    edges: int = 20
    """Steps on the cones' edges, before interior points and after them."""
    lying: int = 20
    """Steps on the edges of robots that lie, before those on the roots."""
    many: int = 12
    """Steps on the roots of more contacts than are solved at once, before sweeps."""

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        # begin with the contacts that pressed in the last step or would sink without impulse
        pressing = [
            ca.logic_and(active, ca.logic_or(last[0] > 0, c[0] < 0))
            for active, last, c in zip(hard.problem.active, start, hard.c, strict=True)
        ]
        restart = hard.problem.restart
        if restart is not None:
            pressing = [
                ca.logic_or(presses, ca.logic_and(active, restart))
                for presses, active in zip(pressing, hard.problem.active, strict=True)
            ]
            roots = [ca.if_else(restart, 0, root) for root in roots]
        shared, crowded = hard.problem.shared, len(start) > DENSE
        if hard.builder.brief and not one_by_one(hard) and (crowded or shared is None):
            lay = start if restart is None else [ca.if_else(restart, 0, L) for L in start]
            return self._lying(hard, lay, pressing, roots)
        if crowded or shared is None:
            return self._stepped(hard, pressing, roots, self.many if crowded else self.patience)

        def rest(values: Values) -> tuple[Values, SX]:
            outcome = self._stepped(hard, pressing, roots, self.patience)
            return added(outcome, values).reached(), SX(0)

        # soles that stand are soon done
        pressing = hard.builder.hold("pressing", pressing)
        own = hard.builder.hold("own", own_sizes(shared))
        found = standing(hard, shared, own, pressing)

        # those that slide by steps on the edges, through the same bodies
        def sliding(values: Values) -> tuple[Values, SX]:
            begin = start
            if restart is not None:
                stood = triples(values["impulse"])
                begin = [ca.if_else(restart, a, b) for a, b in zip(stood, start, strict=True)]
            begin = into_cones(hard, begin)
            near = on_edges(hard, ByBodies.of(hard, shared, own), begin, self.edges)
            near = added(trimmed(hard, near), values)
            astray = ca.logic_not(near.converged)
            return hard.builder.loop(near.reached(), rest, 1, astray, seldom=True), SX(0)

        # a body with a direction in which it cannot move has no inertia there
        movable = not any(row[k].is_zero() for k, row in enumerate(shared.mobility))
        onward, stood = sliding if movable else rest, found.reached()
        return Outcome.of(hard.builder.loop(stood, onward, 1, ca.logic_not(found.converged)))

    def _lying(
        self, hard: HardProblem, lay: list[SX], pressing: list[SX], roots: list[SX]
    ) -> Outcome:
        """A robot that lies, as it lay in the last step; what that does not solve from the roots
        on, where many touch from interior points.
        """
        crowded, steps = len(lay) > DENSE, ByBlocks(hard)
        near = on_edges(hard, steps, into_cones(hard, lay), self.lying)

        def rest(values: Values) -> tuple[Values, SX]:
            if crowded:
                found = in_two_rounds(
                    hard,
                    Outcome.of(values),
                    lambda L, _: on_edges(hard, steps, into_cones(hard, L), self.edges),
                )
                return without_gain(hard, trimmed(hard, found)).reached(), SX(0)
            found = self._stepped(hard, pressing, roots, self.patience)
            return added(found, values).reached(), SX(0)

        near = trimmed(hard, near)
        astray = ca.logic_not(near.converged)
        return Outcome.of(hard.builder.rarely(near.reached(), rest, 1, astray))

    def _stepped(
        self, hard: HardProblem, pressing: list[SX], roots: list[SX], steps: int
    ) -> Outcome:
        """Newton steps on the roots, and what follows them, from these contacts and roots."""
        n, local = len(pressing), prepared(hard)
        begin = {
            "impulse": SX.zeros(3 * n),
            "pressing": ca.vertcat(*pressing),
            "root": ca.vertcat(*roots),
            "sweeps": SX(0),
            "unsettled": SX(1),
        }
        last = hard.builder.loop(begin, lambda values: self._iterate(hard, local, values), steps)
        # worlds that did not settle go on
        moved, done = triples(last["impulse"]), ca.logic_not(last["unsettled"])
        near = Outcome(moved, last["sweeps"], done, entries(last["root"]))
        if one_by_one(hard):
            pairs = zip(into_cones(hard, moved), moved, strict=True)
            near = replace(near, impulses=[ca.if_else(done, b, a) for a, b in pairs])
            rest = settled(hard, local, near, self.maximum)
        else:
            rest = in_two_rounds(
                hard,
                near,
                lambda L, _: on_edges(hard, ByBlocks(hard), into_cones(hard, L), self.edges),
            )
        return without_gain(hard, trimmed(hard, rest))

    def _iterate(self, hard: HardProblem, local: list[Local], values: Values) -> tuple[Values, SX]:
        n = len(hard.c)
        pressing, roots = entries(values["pressing"]), entries(values["root"])
        solved = triples(linear_solution(hard, pressing, roots))
        impulses = [ca.if_else(pressing[i], solved[i], 0) for i in range(n)]
        unsettled = SX(0)
        for i in range(n):
            b = velocity_from_others(hard, i, impulses)
            state = State(pressing[i], roots[i], impulses[i])
            pressing[i], roots[i], wrong = corrected(hard, i, local[i], state, b)
            unsettled = ca.logic_or(unsettled, wrong)
        new = {
            "impulse": ca.vertcat(*impulses),
            "pressing": ca.vertcat(*pressing),
            "root": ca.vertcat(*roots),
            "sweeps": values["sweeps"] + 1,
            "unsettled": unsettled,
        }
        return new, unsettled


def trimmed(hard: HardProblem, found: Outcome) -> Outcome:
    """Without what the tolerance left outside the cones."""
    each = zip(found.impulses, hard.mu, found.roots, strict=True)
    return replace(found, impulses=[radial_return(L, mu, root > 0) for L, mu, root in each])


def added(found: Outcome, before: Values) -> Outcome:
    """With the steps done before it."""
    return replace(found, iterations=before["sweeps"] + found.iterations)


def linear_solution(hard: HardProblem, pressing: list[SX], roots: list[SX]) -> SX:
    """L = -(G + S)^-1 c by L D L^T, contacts that do not press held at zero.

    A trace of T_rel^1.5 on the diagonal shares the load of redundant contacts evenly.
    """
    n, G = len(hard.c), hard.problem.G
    trace = ca.fmax(hard.p.T_rel * ca.sqrt(hard.p.T_rel), SPREAD)
    if hard.problem.loads_determined:
        trace = ca.if_else(in_double(hard.problem.dt), SLIGHT, trace)
    spread = 1 + trace
    K = lower_triangle(G, n)
    for i in range(n):
        far = ca.if_else(pressing[i], 0, HELD_AT_ZERO)
        for at in range(3 * i, 3 * i + 3):
            own = mobile(G[i, i])[at - 3 * i] * spread
            K[at][at] = own + (far if at == 3 * i else far + roots[i])
    return ca.vertcat(*factorize_dense(K).solve([-c for c in flat(hard.c)]))


@dataclass(frozen=True)
class State:
    """What is believed of a contact: presses (1) or not (0), sliding root, and its impulse (3,)."""

    pressing: SX
    root: SX
    impulse: SX


def corrected(hard: HardProblem, i: int, local: Local, state: State, b: SX) -> tuple[SX, SX, SX]:
    """Whether contact i presses, its sliding root, and 1 if either was wrong; b: its velocity from
    all others.
    """
    p, mu, impulse = hard.p, hard.mu[i], state.impulse
    pulls = ca.logic_and(state.pressing, impulse[0] < -p.T_abs)
    opens = ca.logic_and(pulls, b[0] >= 0)
    free = ca.logic_and(hard.problem.active[i], ca.logic_not(state.pressing))
    closes = ca.logic_and(free, local.a * b[0] < -p.T_abs)

    length = ca.sqrt(ca.dot(impulse[1:], impulse[1:]) + TINY)
    beyond, allowed = length - mu * impulse[0], length * p.T_rel + p.T_abs
    astray = ca.logic_or(beyond > allowed, ca.logic_and(state.root > 0, beyond < -allowed))
    off = ca.logic_and(ca.logic_and(state.pressing, ca.logic_not(pulls)), astray)

    begin = ca.fmax(local.sliding_root(b, mu), 0)
    begin = ca.if_else(pulls, ca.fmax(2 * state.root, begin), begin)
    root = ca.if_else(off, local.improved_root(impulse, length, mu, state.root), state.root)
    root = ca.if_else(ca.logic_or(pulls, closes), begin, root)
    presses = ca.logic_or(ca.logic_and(state.pressing, ca.logic_not(opens)), closes)
    return presses, ca.if_else(presses, root, 0), ca.logic_or(ca.logic_or(pulls, closes), off)
