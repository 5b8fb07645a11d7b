"""Solve all contacts at once by Newton steps on the edges of the friction cones.

With z = L - r xi for any r > 0, the inclusions (12)-(13) of Gehring 2014 are the equations L_N =
max(z_N, 0) and L_T = z_T, shortened to the length mu z_N (Alart and Curnier 1991). A step reads the
status of each contact from z and solves one linear problem for all: a contact with z_N <= 0 is
open, one with |z_T| <= mu z_N sticks, xi = 0, and another slides along t = z_T / |z_T| on its
cone's edge,

    xi_N = 0,    t . L_T = mu L_N,    and across t    xi = -s L,    1 + r s = |z_T| / (mu z_N).

Unlike a root s for both directions, the edge follows a load that moves from contact to contact,
however rigid the body that they share. A load that no velocity determines is regularized towards
its previous value, so that it stays inside the cones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flatten, triples
from tarsus.algebra.ldl import ZERO_IMPULSE_DIAGONAL
from tarsus.algebra.projections import TINY
from tarsus.contact.solvers.base import (
    OVERFLOW,
    HardProblem,
    Outcome,
    is_finite,
    residual_velocity,
    solve_dense,
    step_sizes,
)
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries, is_float64

LOAD_REGULARIZATION = 1e-3  # of the diagonal: keeps loads that no velocity determines
EDGE_COMPLIANCE = 1e-4  # of the cone's edge in a step, relative to the contact's own mobility
MIN_SHARE = 1e-6  # least mu z_N / |z_T| with which the direction across is solved
FLOAT32_TOLERANCE = 0.25  # of the tolerance: float32 does not improve a better solution
UNSCALED_STEPS, SCALE = 3, 10.0  # steps with r itself; then r is scaled by 1, SCALE, 1 / SCALE


@dataclass(frozen=True)
class ContactStatus:
    """Status of one contact, read from z.

    Attributes
    ----------
    normal
        max(z_N, 0).
    presses, slides
        1 or 0.
    slip_direction
        Direction t (2,) of sliding.
    cone_ratio
        mu z_N / |z_T|.
    projected_tangent
        z_T (2,), shortened to the cone's edge where the contact slides.
    r
        r of the tangents, including `scale`.
    """

    normal: SX
    presses: SX
    slides: SX
    slip_direction: SX
    cone_ratio: SX
    projected_tangent: SX
    r: SX

    @staticmethod
    def of(
        hard: HardProblem,
        i: int,
        sizes: tuple[SX, SX],
        impulse: SX,
        xi: SX,
        scale: float | SX = 1.0,
    ) -> ContactStatus:
        """Determine the status of contact i from an impulse (3,) and its velocity (3,).

        `sizes` are r_N and r_T, which `scale` multiplies.
        """
        r_N, r_T = (scale * r for r in sizes)
        z_N, z_T = impulse[0] - r_N * xi[0], impulse[1:] - r_T * xi[1:]
        length, normal = ca.sqrt(ca.dot(z_T, z_T) + TINY), ca.fmax(z_N, 0)
        presses, inverse = ca.logic_and(hard.problem.active[i], z_N > 0), 1 / length
        along, reach = z_T * inverse, hard.mu[i] * normal
        cut = ca.if_else(length > reach, reach * along, z_T)
        slides = ca.logic_and(presses, length > reach)
        return ContactStatus(normal, presses, slides, along, reach * inverse, cut, r_T)

    def bounded_share(self, least: float = TINY) -> SX:
        """Bound the share from below by `least`; it is 1 where the contact does not slide."""
        return ca.if_else(self.slides, ca.fmax(self.cone_ratio, least), 1)

    def root(self, least: float = TINY) -> SX:
        """Compute s, 0 where the contact does not slide; the share is taken as at least `least`."""
        return root_of(self.bounded_share(least), self.r)


def root_of(share: SX, r: SX) -> SX:
    """Compute s of a contact with this share of z_T."""
    return (1 - share) / (r * share)


class EdgeSteps(Protocol):
    """Way of solving a step."""

    def sizes(self, i: int) -> tuple[SX, SX]:
        """Compute r_N and r_T of contact i (`step_sizes`)."""
        ...

    def velocities(self, impulses: list[SX]) -> list[SX]:
        """Compute xi (3,) of each contact."""
        ...

    def next_impulses(self, impulses: list[SX], xi: list[SX], scale: SX) -> SX:
        """Compute L (3n,) after a step from these impulses and velocities; `scale` multiplies r."""
        ...


def solve_on_edges(hard: HardProblem, steps: EdgeSteps, start: list[SX], maximum: int) -> Outcome:
    """Take Newton steps from impulses (3,) of each contact; return the best of all steps."""

    def evaluated(impulses: list[SX], xi: list[SX]) -> Values:
        statuses = [
            ContactStatus.of(hard, i, steps.sizes(i), L, xi[i]) for i, L in enumerate(impulses)
        ]
        return {
            "best": ca.vertcat(*impulses),
            "share": ca.vertcat(*(status.bounded_share() for status in statuses)),
            "miss": largest_residual(hard, impulses, statuses),
        }

    def step(values: Values) -> tuple[Values, SX]:
        L, xi = triples(values["impulse"]), triples(values["velocity"])
        impulses = triples(steps.next_impulses(L, xi, values["scale"]))
        after = steps.velocities(impulses)
        new = evaluated(impulses, after)
        better = new["miss"] < values["miss"]
        best = {name: ca.if_else(better, value, values[name]) for name, value in new.items()}
        moved = {"impulse": ca.vertcat(*impulses), "velocity": ca.vertcat(*after)}
        # change r from step to step, in case the steps cycle
        scale = ca.if_else(values["scale"] > 1, 1 / SCALE, SCALE * values["scale"])
        counted = {
            "scale": ca.if_else(values["sweeps"] < UNSCALED_STEPS, 1, scale),
            "sweeps": values["sweeps"] + 1,
        }
        # one step after the tolerance is met removes the error of the regularization
        twice = ca.logic_and(best["miss"] <= 1, values["miss"] <= 1)
        done = ca.logic_or(best["miss"] <= tolerance, twice)
        return best | moved | counted, ca.logic_not(done)

    tolerance = ca.if_else(is_float64(hard.problem.dt), 0, FLOAT32_TOLERANCE)
    before = steps.velocities(start)
    begin = evaluated(start, before)
    begin |= {"impulse": begin["best"], "velocity": ca.vertcat(*before)}
    begin |= {"scale": SX(1), "sweeps": SX(0)}
    last = hard.builder.loop(begin, step, maximum)
    shares = enumerate(entries(last["share"]))
    roots = [root_of(share, steps.sizes(i)[1]) for i, share in shares]
    return Outcome(triples(last["best"]), last["sweeps"], last["miss"] <= 1, roots)


@dataclass(frozen=True, eq=False)
class BlockSteps:
    """Steps solved by the Delassus matrix."""

    hard: HardProblem

    def sizes(self, i: int) -> tuple[SX, SX]:
        """Compute r_N and r_T of contact i (`step_sizes`)."""
        return step_sizes(self.hard.problem.G[i, i])

    def velocities(self, impulses: list[SX]) -> list[SX]:
        """Compute xi (3,) of each contact."""
        return [residual_velocity(self.hard, i, impulses) for i in range(len(impulses))]

    def next_impulses(self, impulses: list[SX], xi: list[SX], scale: SX) -> SX:
        """Compute L (3n,) after a step from these impulses and velocities; `scale` multiplies r."""
        hard, n, G = self.hard, len(impulses), self.hard.problem.G
        rows, right, presses = [[G[i, j] for j in range(n)] for i in range(n)], [], []
        for i, L in enumerate(impulses):
            status, mu = ContactStatus.of(hard, i, self.sizes(i), L, xi[i], scale), hard.mu[i]
            # where it slides: on the edge along t, by its root s across
            t, o = (
                status.slip_direction,
                ca.vertcat(-status.slip_direction[1], status.slip_direction[0]),
            )
            stiff, s = 1 / (EDGE_COMPLIANCE * self.sizes(i)[1]), status.root(MIN_SHARE)
            edge = ca.horzcat(-stiff * mu * t, stiff * ca.mtimes(t, t.T) + s * ca.mtimes(o, o.T))
            off = stiff * (ca.dot(t, L[1:]) - mu * L[0])
            slip = off * t + (ca.dot(o, xi[i][1:]) + s * ca.dot(o, L[1:])) * o
            slip = ca.if_else(status.slides, slip, xi[i][1:])
            # a huge diagonal keeps the impulse of an open contact at zero
            derivative = ca.vertcat(SX.zeros(1, 3), ca.if_else(status.slides, edge, 0))
            regularization = LOAD_REGULARIZATION * ca.diag(ca.diag(G[i, i]))
            derivative = ca.if_else(
                status.presses, derivative + regularization, ZERO_IMPULSE_DIAGONAL * SX.eye(3)
            )
            rows[i][i] = rows[i][i] + derivative
            velocity = ca.vertcat(xi[i][0], slip)
            right.append(-ca.if_else(status.presses, velocity, ZERO_IMPULSE_DIAGONAL * L))
            presses += 3 * [status.presses]
        K = ca.vertcat(*(ca.horzcat(*row) for row in rows))
        new_impulses = ca.vertcat(*impulses) + ca.vertcat(*solve_dense(hard, K, flatten(right)))
        return ca.if_else(ca.vertcat(*presses), new_impulses, 0)


def largest_residual(hard: HardProblem, impulses: list[SX], statuses: list[ContactStatus]) -> SX:
    """Find the largest residual of the equations, in tolerances |L| T_rel + T_abs.

    It is OVERFLOW where an impulse is not finite.
    """
    p, largest = hard.p, SX(0)
    for i, (L, status) in enumerate(zip(impulses, statuses, strict=True)):
        error = ca.fabs(L - ca.vertcat(status.normal, status.projected_tangent))
        length = ca.sqrt(ca.dot(L[1:], L[1:]) + TINY)
        tangential = ca.fmax(error[1], error[2]) / (p.T_abs + p.T_rel * length)
        residual = ca.fmax(error[0] / (p.T_abs + p.T_rel * ca.fabs(L[0])), tangential)
        largest = ca.fmax(largest, ca.if_else(hard.problem.active[i], residual, 0))
    return ca.if_else(is_finite(flatten(impulses)), ca.fmin(largest, OVERFLOW), OVERFLOW)
