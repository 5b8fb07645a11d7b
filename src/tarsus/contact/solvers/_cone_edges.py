"""All contacts at once by Newton steps on the edges of the friction cones.

With z = L - r xi for any r > 0, the inclusions (12)-(13) of Gehring 2014 are the equations L_N =
max(z_N, 0) and L_T = z_T, cut off at the length mu z_N (Alart and Curnier 1991). A step takes from
z what each contact does and solves one linear problem for all: a contact with z_N <= 0 is open, one
with |z_T| <= mu z_N rests, xi = 0, another slides along t = z_T / |z_T| on its cone's edge,

    xi_N = 0,    t . L_T = mu L_N,    and across t    xi = -s L,    1 + r s = |z_T| / (mu z_N).

Unlike a root s for both directions, the edge follows a load that moves from contact to contact,
however rigid the body that they share. A load that no velocity tells of is held where it was, so
that it stays inside the cones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flat, triples
from tarsus.algebra.ldl import HELD_AT_ZERO
from tarsus.algebra.projections import TINY
from tarsus.contact.solvers.base import (
    HUGE,
    HardProblem,
    Outcome,
    at_once,
    finite,
    residual_velocity,
    step_sizes,
)
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries, is_float64

HELD = 1e-3  # of the diagonal: what holds a load that is not determined
EDGE = 1e-4  # how much the cone's edge gives way in a step, relative to the contact's own mobility
SLOWEST = 1e-6  # the least mu z_N / |z_T| that the direction across is solved with
ENOUGH = 0.25  # of the tolerance in float32: what is nearer to a solution is not made better
STRAIGHT, WIDE = 3, 10.0  # steps with r as it is, then r, WIDE r and r / WIDE in turn


@dataclass(frozen=True)
class Touch:
    """What z says of one contact.

    normal: max(z_N, 0)
    presses, slides: 1 or 0
    along (2,): t
    share: mu z_N / |z_T|
    cut (2,): z_T, cut off where it slides
    r: of the tangents, `scale` and all
    """

    normal: SX
    presses: SX
    slides: SX
    along: SX
    share: SX
    cut: SX
    r: SX

    @staticmethod
    def of(
        hard: HardProblem,
        i: int,
        sizes: tuple[SX, SX],
        impulse: SX,
        xi: SX,
        scale: float | SX = 1.0,
    ) -> Touch:
        """Contact i with an impulse (3,) and the velocity (3,) that goes with it; sizes: r_N and
        r_T, of which r are `scale`.
        """
        r_N, r_T = (scale * r for r in sizes)
        z_N, z_T = impulse[0] - r_N * xi[0], impulse[1:] - r_T * xi[1:]
        length, normal = ca.sqrt(ca.dot(z_T, z_T) + TINY), ca.fmax(z_N, 0)
        presses, inverse = ca.logic_and(hard.problem.active[i], z_N > 0), 1 / length
        along, reach = z_T * inverse, hard.mu[i] * normal
        cut = ca.if_else(length > reach, reach * along, z_T)
        slides = ca.logic_and(presses, length > reach)
        return Touch(normal, presses, slides, along, reach * inverse, cut, r_T)

    def kept_share(self, least: float = TINY) -> SX:
        """The share, `least` at least; 1 where it does not slide."""
        return ca.if_else(self.slides, ca.fmax(self.share, least), 1)

    def root(self, least: float = TINY) -> SX:
        """s, 0 where it does not slide; the share is taken as `least` at least."""
        return root_of(self.kept_share(least), self.r)


def root_of(share: SX, r: SX) -> SX:
    """s of a contact that keeps this share of z_T."""
    return (1 - share) / (r * share)


class EdgeSteps(Protocol):
    """How a step is solved."""

    def sizes(self, i: int) -> tuple[SX, SX]:
        """r_N and r_T of contact i (`step_sizes`)."""
        ...

    def velocities(self, impulses: list[SX]) -> list[SX]:
        """xi (3,) of each contact."""
        ...

    def next_impulses(self, impulses: list[SX], xi: list[SX], scale: SX) -> SX:
        """L (3n,) after a step from these impulses and their velocities; scale: of r."""
        ...


def on_edges(hard: HardProblem, steps: EdgeSteps, start: list[SX], maximum: int) -> Outcome:
    """Newton steps from impulses (3,) of each contact; of all tried the nearest to a solution."""

    def met(impulses: list[SX], xi: list[SX]) -> Values:
        touches = [Touch.of(hard, i, steps.sizes(i), L, xi[i]) for i, L in enumerate(impulses)]
        return {
            "best": ca.vertcat(*impulses),
            "share": ca.vertcat(*(touch.kept_share() for touch in touches)),
            "miss": largest_miss(hard, impulses, touches),
        }

    def step(values: Values) -> tuple[Values, SX]:
        L, xi = triples(values["impulse"]), triples(values["velocity"])
        impulses = triples(steps.next_impulses(L, xi, values["scale"]))
        after = steps.velocities(impulses)
        found = met(impulses, after)
        better = found["miss"] < values["miss"]
        kept = {name: ca.if_else(better, value, values[name]) for name, value in found.items()}
        moved = {"impulse": ca.vertcat(*impulses), "velocity": ca.vertcat(*after)}
        # another r than the last one's, where that led round in a circle
        again = ca.if_else(values["scale"] > 1, 1 / WIDE, WIDE * values["scale"])
        counted = {
            "scale": ca.if_else(values["sweeps"] < STRAIGHT, 1, again),
            "sweeps": values["sweeps"] + 1,
        }
        # one step more than the tolerance asks for takes off what HELD left
        near = ca.logic_and(kept["miss"] <= 1, values["miss"] <= 1)
        done = ca.logic_or(kept["miss"] <= enough, near)
        return kept | moved | counted, ca.logic_not(done)

    enough = ca.if_else(is_float64(hard.problem.dt), 0, ENOUGH)
    before = steps.velocities(start)
    begin = met(start, before)
    begin |= {"impulse": begin["best"], "velocity": ca.vertcat(*before)}
    begin |= {"scale": SX(1), "sweeps": SX(0)}
    last = hard.builder.loop(begin, step, maximum)
    shares = enumerate(entries(last["share"]))
    roots = [root_of(share, steps.sizes(i)[1]) for i, share in shares]
    return Outcome(triples(last["best"]), last["sweeps"], last["miss"] <= 1, roots)


@dataclass(frozen=True, eq=False)
class ByBlocks:
    """The steps by the Delassus matrix."""

    hard: HardProblem

    def sizes(self, i: int) -> tuple[SX, SX]:
        """r_N and r_T of contact i (`step_sizes`)."""
        return step_sizes(self.hard.problem.G[i, i])

    def velocities(self, impulses: list[SX]) -> list[SX]:
        """xi (3,) of each contact."""
        return [residual_velocity(self.hard, i, impulses) for i in range(len(impulses))]

    def next_impulses(self, impulses: list[SX], xi: list[SX], scale: SX) -> SX:
        """L (3n,) after a step from these impulses and their velocities; scale: of r."""
        hard, n, G = self.hard, len(impulses), self.hard.problem.G
        rows, rest, presses = [[G[i, j] for j in range(n)] for i in range(n)], [], []
        for i, L in enumerate(impulses):
            touch, mu = Touch.of(hard, i, self.sizes(i), L, xi[i], scale), hard.mu[i]
            # where it slides: on the edge along t, by its root s across
            t, o = touch.along, ca.vertcat(-touch.along[1], touch.along[0])
            stiff, s = 1 / (EDGE * self.sizes(i)[1]), touch.root(SLOWEST)
            edge = ca.horzcat(-stiff * mu * t, stiff * ca.mtimes(t, t.T) + s * ca.mtimes(o, o.T))
            off = stiff * (ca.dot(t, L[1:]) - mu * L[0])
            slip = off * t + (ca.dot(o, xi[i][1:]) + s * ca.dot(o, L[1:])) * o
            slip = ca.if_else(touch.slides, slip, xi[i][1:])
            # an open contact is far from all others
            own = ca.vertcat(SX.zeros(1, 3), ca.if_else(touch.slides, edge, 0))
            own = ca.if_else(
                touch.presses, own + HELD * ca.diag(ca.diag(G[i, i])), HELD_AT_ZERO * SX.eye(3)
            )
            rows[i][i] = rows[i][i] + own
            rest.append(-ca.if_else(touch.presses, ca.vertcat(xi[i][0], slip), HELD_AT_ZERO * L))
            presses += 3 * [touch.presses]
        K = ca.vertcat(*(ca.horzcat(*row) for row in rows))
        moved = ca.vertcat(*impulses) + ca.vertcat(*at_once(hard, K, flat(rest)))
        return ca.if_else(ca.vertcat(*presses), moved, 0)


def largest_miss(hard: HardProblem, impulses: list[SX], touches: list[Touch]) -> SX:
    """How far the equations are from being met, in tolerances |L| T_rel + T_abs; HUGE where an
    impulse is no number.
    """
    p, most = hard.p, SX(0)
    for i, (L, touch) in enumerate(zip(impulses, touches, strict=True)):
        missed = ca.fabs(L - ca.vertcat(touch.normal, touch.cut))
        length = ca.sqrt(ca.dot(L[1:], L[1:]) + TINY)
        sides = ca.fmax(missed[1], missed[2]) / (p.T_abs + p.T_rel * length)
        own = ca.fmax(missed[0] / (p.T_abs + p.T_rel * ca.fabs(L[0])), sides)
        most = ca.fmax(most, ca.if_else(hard.problem.active[i], own, 0))
    return ca.if_else(finite(flat(impulses)), ca.fmin(most, HUGE), HUGE)
