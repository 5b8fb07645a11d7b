"""All contacts at once by an interior-point method, for problems on which the other methods stall.

With xi~_N = xi_N + mu |xi_T|, the inclusions (12)-(13) of Gehring 2014 say that L lies in the
friction cone, xi~ in its dual, and that both are orthogonal (De Saxcé and Feng 1998). In scaled
unknowns x = (mu L_N, L_T) and y = (xi~_N / mu, xi_T) both cones are x_N >= |x_T|, and

    y = D (G D x + c) + |y_T| e_N,    x o y = 0,    D = diag(1 / mu, 1, 1).

Newton steps follow the points x o y = sigma e_N inside both cones while sigma goes to zero, in the
scaling of Nesterov and Todd 1997. A load that many contacts share, on which the active-set method
cycles and the sweeps crawl, is shared evenly on the way: a compliance e of each contact, a hundred
millionth of its mobility, makes one way to share it the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flatten, triples
from tarsus.algebra.projections import TINY
from tarsus.algebra.second_order_cone import (
    inverse_edge_distance,
    lorentz_form,
    reflect,
    squared_slide,
)
from tarsus.contact.problem import RegularizedSolver
from tarsus.contact.solvers._exact_blocks import LocalBlock, gauss_seidel
from tarsus.contact.solvers._prox import project_contact
from tarsus.contact.solvers.base import (
    STAGES,
    HardProblem,
    Outcome,
    exceeds_dense,
    has_changed,
    project_into_cones,
    residual_velocity,
    solve_dense,
    step_sizes,
)
from tarsus.program.ir.loops import Values

MAX_STEPS = 100
STEP_TO_EDGE = 0.95  # fraction of the distance to the cones' edge
SLIDING = 0.9  # fraction of the derivative of |y_T|; all of it may not be a descent direction
MIN_FRICTION = 1e-3  # least coefficient of friction of a cone
OPEN_DIAGONAL = 1e20  # on the diagonal of an open contact
REGULARIZATION = 1e-8  # of a contact's own mobility: selects one way to share a load
MIN_TOLERANCE = 1e-7  # relative: beyond it round-off would decide where to stop

Refine = Callable[[list[SX], list[SX]], Outcome]  # from impulses and sliding roots


@dataclass(frozen=True)
class Metric:
    """Linear map from the change of a contact's x to that of its y.

    Attributes
    ----------
    H
        Symmetric positive definite matrix (3, 3) that maps the cone to itself and x to y, plus e on
        the diagonal.
    H_inverse
        Its inverse.
    along
        SLIDING times the direction (2,) of y_T.
    """

    H: SX
    H_inverse: SX
    along: SX

    @staticmethod
    def of(x: SX, y: SX, e: SX) -> Metric:
        """Compute the metric at a point x (3,), y (3,) inside both cones."""
        # H = t (2 v v^T - J) in Nesterov and Todd's scaling point v, with v_N^2 - |v_T|^2 = 1
        size_x, size_y = ca.sqrt(lorentz_form(x)), ca.sqrt(lorentz_form(y))
        unit_x, unit_y, t = x / size_x, y / size_y, size_y / size_x
        v = (reflect(unit_x) + unit_y) / ca.sqrt(2 + 2 * ca.dot(unit_x, unit_y))
        H = t * (2 * ca.mtimes(v, v.T) - ca.diag(SX([1, -1, -1])))
        # its eigenvalues are t (v_N + |v_T|)^2, t / (v_N + |v_T|)^2 and t: no digits are lost
        length = ca.sqrt(squared_slide(v))
        d, ratio = v[1:] / ca.fmax(length, TINY), (v[0] + length) ** 2
        largest, smallest = 1 / (t * ratio + e), 1 / (t / ratio + e)
        across = 1 / (t + e)
        mean, mixed = (largest + smallest) / 2, (largest - smallest) / 2 * d
        inside = across * SX.eye(2) + (mean - across) * ca.mtimes(d, d.T)
        inverse = ca.vertcat(ca.horzcat(mean, mixed.T), ca.horzcat(mixed, inside))
        along = SLIDING * y[1:] / ca.fmax(ca.sqrt(squared_slide(y)), TINY)
        return Metric(H + e * SX.eye(3), inverse, along)

    def tilt(self, v: SX) -> SX:
        """Compute A v, (3,) or (3, 3): the normal row minus y_N's gain from faster sliding."""
        return ca.vertcat(v[0, :] - ca.mtimes(self.along.T, v[1:, :]), v[1:, :])

    def level(self, v: SX) -> SX:
        """Apply the inverse of `tilt` to v (3,)."""
        return ca.vertcat(v[0] + ca.dot(self.along, v[1:]), v[1:])

    def block(self) -> SX:
        """Compute A H."""
        return self.tilt(self.H)

    def inverse(self) -> SX:
        """Compute (A H)^-1."""
        first = self.H_inverse[:, 0]
        return ca.horzcat(first, self.H_inverse[:, 1:] + ca.mtimes(first, self.along.T))


@dataclass(frozen=True)
class Cones:
    """Problem in scaled unknowns; D has one diagonal (3,) per contact."""

    hard: HardProblem
    D: list[SX]

    @staticmethod
    def of(hard: HardProblem) -> Cones:
        """Scale a problem by its coefficients of friction."""
        return Cones(hard, [ca.vertcat(1 / ca.fmax(mu, MIN_FRICTION), 1, 1) for mu in hard.mu])

    @property
    def active(self) -> list[SX]:
        """1 for each active contact, else 0."""
        return self.hard.problem.active

    def impulses(self, x: list[SX]) -> list[SX]:
        """Compute L (3,) of each contact."""
        return [D * value for D, value in zip(self.D, x, strict=True)]

    def regularization(self, i: int) -> SX:
        """Compute e of contact i, a small fraction of its own largest mobility."""
        block = self.hard.problem.G[i, i]
        scaled = ca.vertcat(*(self.D[i][k] ** 2 * block[k, k] for k in range(3)))
        return REGULARIZATION * ca.mmax(scaled)

    def velocities(self, x: list[SX]) -> list[SX]:
        """Compute D (G D x + c) + e x, (3,) of each contact."""
        return [
            a + D * c + self.regularization(i) * x[i]
            for i, (a, D, c) in enumerate(zip(self.responses(x), self.D, self.hard.c, strict=True))
        ]

    def responses(self, x: list[SX]) -> list[SX]:
        """Compute D G D x, (3,) of each contact."""
        G, L, n = self.hard.problem.G, self.impulses(x), len(x)
        return [
            D * sum((ca.mtimes(G[i, j], L[j]) for j in range(n)), SX.zeros(3))
            for i, D in enumerate(self.D)
        ]

    def scales(self) -> tuple[SX, SX]:
        """Compute the largest velocity without impulses, and the impulse that balances it."""
        G, fastest, lightest = self.hard.problem.G, SX(TINY), SX(TINY)
        for i, (D, active) in enumerate(zip(self.D, self.active, strict=True)):
            for k in range(3):
                velocity, mobility = ca.fabs(D[k] * self.hard.c[i][k]), D[k] ** 2 * G[i, i][k, k]
                fastest = ca.fmax(fastest, ca.if_else(active, velocity, 0))
                lightest = ca.fmax(lightest, ca.if_else(active, mobility, 0))
        return fastest, fastest / lightest

    def solve(self, metrics: list[Metric], rest: list[SX]) -> list[SX]:
        """Solve G D d + A H d = rest, scaled by D, for d (3,) of each contact; 0 if inactive."""
        problem, n = self.hard.problem, len(self.D)
        if problem.regularized_solver is not None and exceeds_dense(self.hard):
            return self._solve_regularized(problem.regularized_solver, metrics, rest)
        rows = [
            [self.D[i] * problem.G[i, j] * ca.repmat(self.D[j].T, 3, 1) for j in range(n)]
            for i in range(n)
        ]
        for i, (metric, active) in enumerate(zip(metrics, self.active, strict=True)):
            rows[i][i] = rows[i][i] + ca.if_else(active, metric.block(), OPEN_DIAGONAL * SX.eye(3))
        K = ca.vertcat(*(ca.horzcat(*row) for row in rows))
        return triples(ca.vertcat(*solve_dense(self.hard, K, flatten(rest))))

    def _solve_regularized(
        self, regularized_solver: RegularizedSolver, metrics: list[Metric], rest: list[SX]
    ) -> list[SX]:
        """Solve the same system through the bodies, with one refinement.

        Near a solution nearly rigid contacts leave only a few digits to a single solve.
        """
        blocks = [
            ca.if_else(active, D * metric.inverse() * ca.repmat(D.T, 3, 1), 0)
            for D, metric, active in zip(self.D, metrics, self.active, strict=True)
        ]
        solve = regularized_solver(blocks)

        def refine(values: Values) -> tuple[Values, SX]:
            d, residual = triples(values["d"]), []
            for i, (D, response) in enumerate(zip(self.D, self.responses(d), strict=True)):
                missing = rest[i] - response - ca.mtimes(metrics[i].block(), d[i])
                residual.append(ca.if_else(self.active[i], missing / D, 0))
            new = [a + L / D for a, L, D in zip(d, solve(residual), self.D, strict=True)]
            return {"d": ca.vertcat(*new)}, SX(1)

        begin = {"d": SX.zeros(3 * len(self.D))}
        return triples(self.hard.builder.loop(begin, refine, 2)["d"])


def sweep_or_interior(
    hard: HardProblem, local: list[LocalBlock], before: Outcome, maximum: int
) -> Outcome:
    """Continue with sweeps where `before` has not converged.

    Where sweeps crawl, interior points follow, then sweeps again.

    `maximum` is the number of sweeps without interior points; with them, a quarter of it is used
    before and after.
    """
    # sweeps alone, if many contacts cannot be solved at once
    if hard.problem.regularized_solver is None and exceeds_dense(hard):
        unsettled = ca.logic_not(before.converged)
        rest = gauss_seidel(hard, local, before.impulses, before.roots, maximum, unsettled)
        stage = ca.if_else(unsettled, STAGES.index("refinement"), before.stage)
        return replace(rest, iterations=before.iterations + rest.iterations, stage=stage)
    return refine_twice(
        hard, before, lambda start, roots: gauss_seidel(hard, local, start, roots, maximum // 4)
    )


def refine_twice(hard: HardProblem, before: Outcome, refine: Refine) -> Outcome:
    """Apply `refine` to impulses and roots where `before` has not converged.

    Where that does not converge either, apply it again, starting from interior points.
    """

    # the second round starts with interior points; their solution is used where `refine`, whose
    # tolerance is tighter, does not converge
    def one_round(values: Values) -> tuple[Values, SX]:
        last, second = Outcome.from_registers(values), values["second"] > 0
        inner = interior_point(hard, second)
        begin = last.select(inner, second)
        rest = refine(begin.impulses, begin.roots)
        solved = ca.logic_and(ca.logic_and(second, inner.converged), ca.logic_not(rest.converged))
        done = last.iterations + inner.iterations + rest.iterations
        stage = ca.if_else(second, STAGES.index("interior points"), STAGES.index("refinement"))
        new = replace(rest.select(inner, solved), iterations=done, stage=stage)
        return new.to_registers() | {"second": SX(1)}, ca.logic_not(new.converged)

    begin = before.to_registers() | {"second": SX(0)}
    return Outcome.from_registers(
        hard.builder.loop(begin, one_round, 2, ca.logic_not(before.converged))
    )


def interior_point(hard: HardProblem, first: SX) -> Outcome:
    """Take Newton steps inside the cones, in worlds where `first` is 1.

    Solved if Eqn. (16), with r of the contact's own mobility, would change the impulses by no more
    than the tolerance.
    """
    # start on the axes of both cones
    cones = Cones.of(hard)
    scales = cones.scales()
    axis = [ca.if_else(active, ca.vertcat(1, 0, 0), 0) for active in cones.active]
    begin = {
        "x": ca.vertcat(*(scales[1] * e for e in axis)),
        "y": ca.vertcat(*(scales[0] * e for e in axis)),
        "length": SX(0.5),
        "steps": SX(0),
    }
    last = hard.builder.loop(begin, lambda values: _step(cones, values, scales), MAX_STEPS, first)
    # in the units of the problem; other methods only start from them
    impulses = cones.impulses(triples(last["x"]))
    roots = [
        ca.sqrt(squared_slide(y) / ca.fmax(squared_slide(L), TINY))
        for y, L in zip(triples(last["y"]), impulses, strict=True)
    ]
    impulses, roots = hard.builder.guess((project_into_cones(hard, impulses), roots))
    # whether that is a solution
    projections = []
    for i, L in enumerate(impulses):
        r = step_sizes(hard.problem.G[i, i])
        projections.append(project_contact(hard, i, L, residual_velocity(hard, i, impulses), r))
    moving = has_changed(ca.vertcat(*impulses), ca.vertcat(*projections), hard.p)
    return Outcome(impulses, last["steps"], ca.logic_not(moving), roots)


def _step(cones: Cones, values: Values, scales: tuple[SX, SX]) -> tuple[Values, SX]:
    """Take one Newton step; also return whether to continue.

    `scales` are a velocity and an impulse.
    """
    x, y, active = triples(values["x"]), triples(values["y"]), cones.active
    n, tolerance = len(x), ca.fmax(cones.hard.p.T_rel, MIN_TOLERANCE)

    # distance from a solution, and the target: closer to the axes after a short step
    product = sum((ca.dot(a, b) for a, b in zip(x, y, strict=True)), SX(0))
    product = product / ca.fmax(sum(active, SX(0)), 1)
    sigma = ca.fmin(ca.fmax(1 - values["length"], 0.05), 0.5) * product

    # the direction
    metrics, errors, rest, largest_error = [], [], [], SX(0)
    for i, velocity in enumerate(cones.velocities(x)):
        metrics.append(Metric.of(x[i], y[i], cones.regularization(i)))
        target = sigma * reflect(x[i]) / lorentz_form(x[i]) - y[i]
        errors.append(velocity + ca.vertcat(ca.sqrt(squared_slide(y[i])), 0, 0) - y[i])
        rest.append(ca.if_else(active[i], metrics[i].tilt(target) - errors[i], 0))
        error = ca.mmax(ca.fabs(errors[i]))
        largest_error = ca.fmax(largest_error, ca.if_else(active[i], error, 0))
    dx = cones.solve(metrics, rest)
    # from the velocities, not from H: where a contact opens, H is large and dx is round-off
    responses = cones.responses(dx)
    dy = [
        metrics[i].level(errors[i] + responses[i]) + cones.regularization(i) * dx[i]
        for i in range(n)
    ]

    # a step that stays inside the cones
    reach = SX(STEP_TO_EDGE)
    for i in range(n):
        nearest = ca.fmax(inverse_edge_distance(x[i], dx[i]), inverse_edge_distance(y[i], dy[i]))
        reach = ca.fmax(reach, ca.if_else(active[i], nearest, 0))
    length, inside = STEP_TO_EDGE / reach, SX(1)
    for i in range(n):
        x[i], y[i] = x[i] + length * dx[i], y[i] + length * dy[i]
        good = ca.logic_and(lorentz_form(x[i]) > 0, lorentz_form(y[i]) > 0)
        inside = ca.logic_and(inside, ca.logic_or(ca.logic_not(active[i]), good))

    # stop at a solution, or where round-off leads out of the cones
    too_large = product > tolerance * tolerance * scales[0] * scales[1]
    unsolved = ca.logic_or(too_large, largest_error > tolerance * scales[0])
    moved = [ca.if_else(ca.logic_and(inside, take), 1, 0) for take in active for _ in range(3)]
    new = {
        "x": ca.if_else(ca.vertcat(*moved), ca.vertcat(*x), values["x"]),
        "y": ca.if_else(ca.vertcat(*moved), ca.vertcat(*y), values["y"]),
        "length": length,
        "steps": values["steps"] + 1,
    }
    return new, ca.logic_and(inside, unsolved)
