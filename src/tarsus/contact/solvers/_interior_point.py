"""All contacts at once by an interior-point method, for problems on which the others get stuck.

With xi~_N = xi_N + mu |xi_T| the inclusions (12)-(13) of Gehring 2014 say that L lies in the
friction cone, xi~ in its dual, and that both are orthogonal (De Saxcé and Feng 1998). In scaled
unknowns x = (mu L_N, L_T) and y = (xi~_N / mu, xi_T) both cones are that of x_N >= |x_T|, and

    y = D (G D x + c) + |y_T| e_N,    x o y = 0,    D = diag(1 / mu, 1, 1).

Newton steps follow the points x o y = sigma e_N inside both cones while sigma goes to zero, in the
scaling of Nesterov and Todd 1997. A load that many contacts share, on which the active-set method
cycles and the sweeps crawl, is shared evenly on the way: each contact gives by e, a hundred
millionth of its mobility, so that no two ways to share it are as good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flat, triples
from tarsus.algebra.projections import TINY
from tarsus.algebra.second_order_cone import approach, lorentz, reflected, squared_slide
from tarsus.contact.problem import Softened
from tarsus.contact.solvers._exact_blocks import Local, sweeps
from tarsus.contact.solvers._prox import projected
from tarsus.contact.solvers.base import (
    STAGES,
    HardProblem,
    Outcome,
    at_once,
    changes,
    into_cones,
    one_by_one,
    residual_velocity,
    step_sizes,
)
from tarsus.program.ir.loops import Values

STEPS = 100
BACK = 0.95  # part of the way to the cones' edge
SLIDING = 0.9  # part of the derivative of |y_T|: all of it need not lead down
FLAT = 1e-3  # the least coefficient of friction that a cone is drawn with
OUT = 1e20  # on the diagonal of an open contact
SPREAD = 1e-8  # of a contact's own mobility: added, so that one way to share a load is the best
FINEST = 1e-7  # relative: beyond it round-off would say where to stop

Refined = Callable[[list[SX], list[SX]], Outcome]  # from impulses and sliding roots


@dataclass(frozen=True)
class Metric:
    """How y of a contact follows its own x, linearized.

    H (3, 3): symmetric and positive definite; it maps the cone to itself and x to y, but for e on
        the diagonal
    along (2,): SLIDING times the direction of y_T
    """

    H: SX
    H_inverse: SX
    along: SX

    @staticmethod
    def of(x: SX, y: SX, e: SX) -> Metric:
        """At a point (3,), (3,) inside both cones."""
        # H = t (2 v v^T - J) in Nesterov and Todd's scaling point v, with v_N^2 - |v_T|^2 = 1
        size_x, size_y = ca.sqrt(lorentz(x)), ca.sqrt(lorentz(y))
        unit_x, unit_y, t = x / size_x, y / size_y, size_y / size_x
        v = (reflected(unit_x) + unit_y) / ca.sqrt(2 + 2 * ca.dot(unit_x, unit_y))
        H = t * (2 * ca.mtimes(v, v.T) - ca.diag(SX([1, -1, -1])))
        # its eigenvalues are t (v_N + |v_T|)^2, t / (v_N + |v_T|)^2 and t: no digits are lost
        length = ca.sqrt(squared_slide(v))
        d, stretch = v[1:] / ca.fmax(length, TINY), (v[0] + length) ** 2
        most, least = 1 / (t * stretch + e), 1 / (t / stretch + e)
        across, mean, mixed = 1 / (t + e), (most + least) / 2, (most - least) / 2 * d
        inside = across * SX.eye(2) + (mean - across) * ca.mtimes(d, d.T)
        inverse = ca.vertcat(ca.horzcat(mean, mixed.T), ca.horzcat(mixed, inside))
        along = SLIDING * y[1:] / ca.fmax(ca.sqrt(squared_slide(y)), TINY)
        return Metric(H + e * SX.eye(3), inverse, along)

    def tilted(self, v: SX) -> SX:
        """A v for v (3,) or (3, 3): the normal row less what y_N gains by sliding faster."""
        return ca.vertcat(v[0, :] - ca.mtimes(self.along.T, v[1:, :]), v[1:, :])

    def leveled(self, v: SX) -> SX:
        """The inverse of `tilted` for v (3,)."""
        return ca.vertcat(v[0] + ca.dot(self.along, v[1:]), v[1:])

    def block(self) -> SX:
        """A H."""
        return self.tilted(self.H)

    def inverse(self) -> SX:
        """(A H)^-1."""
        first = self.H_inverse[:, 0]
        return ca.horzcat(first, self.H_inverse[:, 1:] + ca.mtimes(first, self.along.T))


@dataclass(frozen=True)
class Cones:
    """The problem in scaled unknowns; D has one row (3,) for each contact."""

    hard: HardProblem
    D: list[SX]

    @staticmethod
    def of(hard: HardProblem) -> Cones:
        """Scaled by the coefficients of friction."""
        return Cones(hard, [ca.vertcat(1 / ca.fmax(mu, FLAT), 1, 1) for mu in hard.mu])

    @property
    def active(self) -> list[SX]:
        """1 for each contact that takes part, else 0."""
        return self.hard.problem.active

    def impulses(self, x: list[SX]) -> list[SX]:
        """L (3,) of each contact."""
        return [D * own for D, own in zip(self.D, x, strict=True)]

    def spread(self, i: int) -> SX:
        """A little of the contact's own largest mobility: e."""
        own = self.hard.problem.G[i, i]
        return SPREAD * ca.mmax(ca.vertcat(*(self.D[i][k] ** 2 * own[k, k] for k in range(3))))

    def velocities(self, x: list[SX]) -> list[SX]:
        """D (G D x + c) + e x, (3,) of each contact."""
        return [
            a + D * c + self.spread(i) * x[i]
            for i, (a, D, c) in enumerate(zip(self.answers(x), self.D, self.hard.c, strict=True))
        ]

    def answers(self, x: list[SX]) -> list[SX]:
        """D G D x, (3,) of each contact."""
        G, L, n = self.hard.problem.G, self.impulses(x), len(x)
        return [
            D * sum((ca.mtimes(G[i, j], L[j]) for j in range(n)), SX.zeros(3))
            for i, D in enumerate(self.D)
        ]

    def scales(self) -> tuple[SX, SX]:
        """The largest velocity without impulses, and the impulse that answers it."""
        G, fastest, lightest = self.hard.problem.G, SX(TINY), SX(TINY)
        for i, (D, active) in enumerate(zip(self.D, self.active, strict=True)):
            for k in range(3):
                velocity, mobility = ca.fabs(D[k] * self.hard.c[i][k]), D[k] ** 2 * G[i, i][k, k]
                fastest = ca.fmax(fastest, ca.if_else(active, velocity, 0))
                lightest = ca.fmax(lightest, ca.if_else(active, mobility, 0))
        return fastest, fastest / lightest

    def solve(self, metrics: list[Metric], rest: list[SX]) -> list[SX]:
        """d (3,) of each contact with D G D d + A H d = rest; 0 where it has no part."""
        problem, n = self.hard.problem, len(self.D)
        if problem.softened is not None and one_by_one(self.hard):
            return self._softened(problem.softened, metrics, rest)
        rows = [
            [self.D[i] * problem.G[i, j] * ca.repmat(self.D[j].T, 3, 1) for j in range(n)]
            for i in range(n)
        ]
        for i, (metric, active) in enumerate(zip(metrics, self.active, strict=True)):
            rows[i][i] = rows[i][i] + ca.if_else(active, metric.block(), OUT * SX.eye(3))
        K = ca.vertcat(*(ca.horzcat(*row) for row in rows))
        return triples(ca.vertcat(*at_once(self.hard, K, flat(rest))))

    def _softened(self, softened: Softened, metrics: list[Metric], rest: list[SX]) -> list[SX]:
        """The same through the bodies, twice, for what round-off left: near a solution
        nearly rigid contacts cost it all but a few digits.
        """
        give = [
            ca.if_else(active, D * metric.inverse() * ca.repmat(D.T, 3, 1), 0)
            for D, metric, active in zip(self.D, metrics, self.active, strict=True)
        ]
        solved = softened(give)

        def refined(values: Values) -> tuple[Values, SX]:
            d, left = triples(values["d"]), []
            for i, (D, answer) in enumerate(zip(self.D, self.answers(d), strict=True)):
                missing = rest[i] - answer - ca.mtimes(metrics[i].block(), d[i])
                left.append(ca.if_else(self.active[i], missing / D, 0))
            new = [a + L / D for a, L, D in zip(d, solved(left), self.D, strict=True)]
            return {"d": ca.vertcat(*new)}, SX(1)

        begin = {"d": SX.zeros(3 * len(self.D))}
        return triples(self.hard.builder.loop(begin, refined, 2)["d"])


def settled(hard: HardProblem, local: list[Local], near: Outcome, maximum: int) -> Outcome:
    """Sweeps where `near` has not converged; where they crawl, interior points, then sweeps again.

    maximum: sweeps where there are no interior points, else a quarter of it before and after them
    """
    # without a way to solve for many contacts at once: sweeps alone
    if hard.problem.softened is None and one_by_one(hard):
        unsettled = ca.logic_not(near.converged)
        rest = sweeps(hard, local, near.impulses, near.roots, maximum, unsettled)
        stage = ca.if_else(unsettled, STAGES.index("refinement"), near.stage)
        return replace(rest, iterations=near.iterations + rest.iterations, stage=stage)
    return in_two_rounds(
        hard, near, lambda start, roots: sweeps(hard, local, start, roots, maximum // 4)
    )


def in_two_rounds(hard: HardProblem, near: Outcome, refined: Refined) -> Outcome:
    """`refined` from impulses and roots where `near` has not converged; where that does not
    converge either, again from interior points.
    """

    # the second round with interior points first: what they solved stands where `refined`, which
    # asks more of it, does not settle
    def again(values: Values) -> tuple[Values, SX]:
        last, second = Outcome.of(values), values["second"] > 0
        inner = interior_point(hard, second)
        begin = last.replaced(inner, second)
        rest = refined(begin.impulses, begin.roots)
        solved = ca.logic_and(ca.logic_and(second, inner.converged), ca.logic_not(rest.converged))
        done = last.iterations + inner.iterations + rest.iterations
        stage = ca.if_else(second, STAGES.index("interior points"), STAGES.index("refinement"))
        new = replace(rest.replaced(inner, solved), iterations=done, stage=stage)
        return new.reached() | {"second": SX(1)}, ca.logic_not(new.converged)

    begin = near.reached() | {"second": SX(0)}
    return Outcome.of(hard.builder.loop(begin, again, 2, ca.logic_not(near.converged)))


def interior_point(hard: HardProblem, first: SX) -> Outcome:
    """Newton steps inside the cones, in worlds where `first` is 1.

    Solved if Eqn. (16), with r of the contact's own mobility, would change the impulses by no more
    than the tolerance.
    """
    # begin on the axes of both cones
    cones = Cones.of(hard)
    scales = cones.scales()
    axis = [ca.if_else(active, ca.vertcat(1, 0, 0), 0) for active in cones.active]
    begin = {
        "x": ca.vertcat(*(scales[1] * e for e in axis)),
        "y": ca.vertcat(*(scales[0] * e for e in axis)),
        "length": SX(0.5),
        "steps": SX(0),
    }
    last = hard.builder.loop(begin, lambda values: _step(cones, values, scales), STEPS, first)
    # in the units of the problem; they only say where others begin
    impulses = cones.impulses(triples(last["x"]))
    roots = [
        ca.sqrt(squared_slide(y) / ca.fmax(squared_slide(L), TINY))
        for y, L in zip(triples(last["y"]), impulses, strict=True)
    ]
    impulses, roots = hard.builder.guess((into_cones(hard, impulses), roots))
    # whether that is a solution
    better = []
    for i, L in enumerate(impulses):
        r = step_sizes(hard.problem.G[i, i])
        better.append(projected(hard, i, L, residual_velocity(hard, i, impulses), r))
    moving = changes(ca.vertcat(*impulses), ca.vertcat(*better), hard.p)
    return Outcome(impulses, last["steps"], ca.logic_not(moving), roots)


def _step(cones: Cones, values: Values, scales: tuple[SX, SX]) -> tuple[Values, SX]:
    """One Newton step, and whether to go on; scales: a velocity and an impulse."""
    x, y, active = triples(values["x"]), triples(values["y"]), cones.active
    n, fine = len(x), ca.fmax(cones.hard.p.T_rel, FINEST)

    # how far from a solution, and where to aim: nearer to the axes after a short step
    product = sum((ca.dot(a, b) for a, b in zip(x, y, strict=True)), SX(0))
    product = product / ca.fmax(sum(active, SX(0)), 1)
    sigma = ca.fmin(ca.fmax(1 - values["length"], 0.05), 0.5) * product

    # the direction
    metrics, errors, rest, far = [], [], [], SX(0)
    for i, velocity in enumerate(cones.velocities(x)):
        metrics.append(Metric.of(x[i], y[i], cones.spread(i)))
        aim = sigma * reflected(x[i]) / lorentz(x[i]) - y[i]
        errors.append(velocity + ca.vertcat(ca.sqrt(squared_slide(y[i])), 0, 0) - y[i])
        rest.append(ca.if_else(active[i], metrics[i].tilted(aim) - errors[i], 0))
        far = ca.fmax(far, ca.if_else(active[i], ca.mmax(ca.fabs(errors[i])), 0))
    dx = cones.solve(metrics, rest)
    # from the velocities, not from H: where a contact opens H is large and dx all round-off
    answers = cones.answers(dx)
    dy = [metrics[i].leveled(errors[i] + answers[i]) + cones.spread(i) * dx[i] for i in range(n)]

    # as far as the cones' edges allow
    reach = SX(BACK)
    for i in range(n):
        nearest = ca.fmax(approach(x[i], dx[i]), approach(y[i], dy[i]))
        reach = ca.fmax(reach, ca.if_else(active[i], nearest, 0))
    length, inside = BACK / reach, SX(1)
    for i in range(n):
        x[i], y[i] = x[i] + length * dx[i], y[i] + length * dy[i]
        good = ca.logic_and(lorentz(x[i]) > 0, lorentz(y[i]) > 0)
        inside = ca.logic_and(inside, ca.logic_or(ca.logic_not(active[i]), good))

    # stop at a solution, or where round-off leads out of the cones
    unsolved = ca.logic_or(product > fine * fine * scales[0] * scales[1], far > fine * scales[0])
    moved = [ca.if_else(ca.logic_and(inside, take), 1, 0) for take in active for _ in range(3)]
    new = {
        "x": ca.if_else(ca.vertcat(*moved), ca.vertcat(*x), values["x"]),
        "y": ca.if_else(ca.vertcat(*moved), ca.vertcat(*y), values["y"]),
        "length": length,
        "steps": values["steps"] + 1,
    }
    return new, ca.logic_and(inside, unsolved)
