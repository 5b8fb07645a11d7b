"""Least squares over windows, with unknowns shared by all windows and a start for each.

The method is Gauss-Newton with Levenberg damping. The starts of windows are unknown too,
constrained by the noise of the log. They are eliminated window by window, so that the remaining
system has the size of the unknowns. Columns of the Jacobian are central differences, with one world
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tarsus.identification.normal_equations import (
    NormalEquations,
    damped_step,
    gram_matrices,
    robust_weights,
    window_costs,
)
from tarsus.identification.rollouts import ObserverStates, Rollouts

Array = NDArray[np.float64]
UNKNOWN_STEP = 1e-3  # difference step of an unknown, in units of its range
START_STEP = 0.3  # difference step of a start, in standard deviations of the noise
DAMPINGS = (0.01, 0.1, 1.0, 10.0, 100.0)  # tried at once, as multiples of the last damping
START_DAMPINGS = (0.0, 0.1, 1.0, 10.0)
MAX_ROUNDS, MAX_START_ROUNDS, MAX_RESTARTS = 25, 6, 4
REUSED_ROUNDS = 2  # rounds that reuse the Jacobian of a nearby fit
COST_TOLERANCE = 0.01  # of a window: it has converged if it costs no more than in a nearby fit
CONVERGED = 1e-5  # relative change of the cost, and of the shares
OUTLIER_RATIO = 1.5  # of the median cost: a more expensive window may be at a wrong minimum
RANDOM_WIDTHS, DRAWS = (0.1, 0.3, 1.0), 24  # deviations of random starts, and draws of each
MIN_DAMPING, MAX_DAMPING = 1e-9, 1e6


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of a search.

    Attributes
    ----------
    shares
        Positions in the ranges of the unknowns, 0 to 1, shape (p,).
    starts
        Shifts of the windows' starts, shape (W, s), in standard deviations of the noise.
    cost
        Half the sum of squares, with large residuals counted linearly.
    residuals
        Residuals, shape (W, samples, n), in deviations.
    normal
        J^T J with respect to the shares, with the starts eliminated, shape (p, p).
    scores
        Gradient of each window, shape (W, p).
    start_jacobian
        Jacobian with respect to the starts, shape (W, rows, s).
    rounds
        Number of rounds.
    converged
        Whether the search converged.
    """

    shares: Array
    starts: Array
    cost: float
    residuals: Array
    normal: Array
    scores: Array
    start_jacobian: Array
    rounds: int
    converged: bool

    @property
    def window_costs(self) -> Array:
        """Cost of each window, shape (W,)."""
        return window_costs(self.residuals[None], self.starts[None])[0]


class LeastSquares:
    """Least squares on some windows.

    Parameters
    ----------
    rollouts
        Residuals of candidates on these windows.
    fit_starts
        Whether the starts of the windows are unknown too.
    """

    def __init__(self, rollouts: Rollouts, fit_starts: bool = True) -> None:
        self.rollouts, self.fit_starts = rollouts, fit_starts
        self.unknowns = rollouts.candidates.unknowns

    def values(self, shares: Array) -> Array:
        """Compute the values of shares, both of shape (c, p)."""
        return np.stack([one.range.at(shares[:, k]) for k, one in enumerate(self.unknowns)], 1)

    def prior_residuals(self, shares: Array) -> Array:
        """Compute residuals of the prior knowledge, shape (c, p); zero where there is none."""
        values, residuals = self.values(shares), np.zeros_like(shares)
        for k, one in enumerate(self.unknowns):
            if one.prior is not None:
                residuals[:, k] = (values[:, k] - one.prior[0]) / one.prior[1]
        return residuals

    def costs(self, shares: Array) -> Array:
        """Compute the costs of candidates, shape (c, p), with starts from the observer."""
        values = self.values(shares)
        observer = self.rollouts.run_observer(values)
        starts = observer.starts if self.fit_starts else observer.starts[..., :0]
        residuals = self.rollouts.residuals(values, observer, self._select_starts(starts))
        return window_costs(residuals, starts).sum(1) + 0.5 * (
            self.prior_residuals(shares) ** 2
        ).sum(1)

    def solve(self, shares: Array, starts: Array | None = None, rounds: int = MAX_ROUNDS) -> Fit:
        """Search, and repeat while better starts are found for some windows.

        The candidates for better starts are those of an observer at the new estimate, and random
        ones. Small steps do not lower a foot that a wrong guess has lifted.

        Parameters
        ----------
        shares
            Initial shares, shape (p,).
        starts
            Initial starts, shape (W, s); None: from the observer.
        rounds
            Largest number of rounds of each search.
        """
        fit = self.search(shares, starts, rounds)
        for _ in range(MAX_RESTARTS):
            if not self.fit_starts:
                break
            other = self.fit_window_starts(fit.shares)
            better = other.window_costs < fit.window_costs
            mixed = replace(
                fit,
                starts=np.where(better[:, None], other.starts, fit.starts),
                residuals=np.where(better[:, None, None], other.residuals, fit.residuals),
            )
            # outliers, from random starts
            cost = mixed.window_costs
            starts = self.random_starts(
                mixed, np.flatnonzero(cost > OUTLIER_RATIO * np.median(cost))
            )
            gain = (fit.window_costs - other.window_costs)[better].sum()
            if gain <= CONVERGED * fit.cost and starts is None:
                break
            again = self.search(fit.shares, mixed.starts if starts is None else starts, rounds)
            if again.cost >= fit.cost:
                break
            fit = again
        return fit

    def random_starts(self, fit: Fit, outliers: NDArray[np.int64]) -> Array | None:
        """Draw random starts to replace worse ones of some windows, or return None."""
        if not len(outliers):
            return None
        cost = fit.window_costs
        # one world per window and random start
        random = np.random.default_rng(0)
        widths = np.repeat(RANDOM_WIDTHS, DRAWS)[:, None, None]
        moves = widths * random.standard_normal((len(widths), *fit.starts[outliers].shape))
        subset, values = self._restrict_to(outliers), self.values(fit.shares[None])
        observer = subset.rollouts.run_observer(values).select_candidates(np.zeros(len(moves), int))
        candidates = fit.starts[outliers] + moves
        residuals = subset.rollouts.residuals(
            np.repeat(values, len(moves), 0), observer, candidates
        )
        costs = window_costs(residuals, candidates)
        self.rollouts.evaluations += subset.rollouts.evaluations
        # the best of each window
        best, each = costs.argmin(0), np.arange(len(outliers))
        better = costs[best, each] < cost[outliers]
        if not better.any():
            return None
        starts = fit.starts.copy()
        starts[outliers[better]] = candidates[best, each][better]
        return starts

    def search(self, shares: Array, starts: Array | None = None, rounds: int = MAX_ROUNDS) -> Fit:
        """Search from shares, shape (p,), and starts, shape (W, s)."""
        # initial point
        z, window_starts = self._initial_point(shares, starts)
        damping, settled, count = 1e-3, False, 0
        cost, residuals = (part[0] for part in self.cost_at(z[None], window_starts[None]))
        jacobian = self._compute_jacobians(z, window_starts)
        # Gauss-Newton rounds, with several dampings tried at once
        while count < rounds and not settled:
            count += 1
            dampings = [damping * factor for factor in DAMPINGS]
            normal = self._compute_normal_equations(z, window_starts, residuals, jacobian)
            steps = [damped_step(normal, z, window_starts, by) for by in dampings]
            costs, new_residuals = self.cost_at(
                *(np.stack(parts) for parts in zip(*steps, strict=True))
            )
            best = int(np.argmin(costs))
            if not costs[best] < cost:
                settled, damping = damping > MAX_DAMPING, damping * 1e3
                continue
            gain, distance = cost - costs[best], np.abs(steps[best][0] - z).max(initial=0)
            (z, window_starts), damping = steps[best], max(dampings[best], MIN_DAMPING)
            cost, residuals = costs[best], new_residuals[best]
            jacobian = self._compute_jacobians(z, window_starts)
            settled = bool(gain <= CONVERGED * cost and distance < 10 * CONVERGED)
        normal = self._compute_normal_equations(z, window_starts, residuals, jacobian)
        S, scores = normal.eliminate_starts()[0], normal.scores()
        return Fit(z, window_starts, float(cost), residuals, S, scores, jacobian[1], count, settled)

    def fit_window_starts(
        self, shares: Array, start: Fit | None = None, rounds: int = MAX_START_ROUNDS
    ) -> Fit:
        """Search each window's start with the unknowns fixed.

        Parameters
        ----------
        shares
            Shares of the unknowns, shape (p,).
        start
            Fit whose starts are also tried, and whose Jacobian is reused twice. Windows that then
            cost no more than in this fit stop.
        rounds
            Largest number of rounds.
        """
        # the better initial start of each window
        z, window_starts = self._initial_point(shares, None)
        values, p = self.values(z[None]), len(z)
        observer = self.rollouts.run_observer(values)
        initial = np.stack([window_starts] if start is None else [window_starts, start.starts])
        repeated = observer.select_candidates(np.zeros(len(initial), int))
        repeated_values = np.repeat(values, len(initial), 0)
        residuals = self.rollouts.residuals(repeated_values, repeated, self._select_starts(initial))
        costs, count = window_costs(residuals, initial), 0
        moving = np.arange(len(window_starts))
        best_index = costs.argmin(0), moving
        window_starts, residuals, cost = (
            initial[best_index],
            residuals[best_index],
            costs[best_index],
        )
        while self.fit_starts and count < rounds and len(moving):
            count += 1
            # Gauss-Newton for the windows that still move, with several dampings at once
            subset, subset_observer = self._restrict_to(moving), observer.select_windows(moving)
            if start is None or count > REUSED_ROUNDS:
                B = subset._compute_start_jacobian(values, subset_observer, window_starts[moving])
            else:
                B = start.start_jacobian[moving]
            jacobian = np.zeros((len(B), B.shape[1], p)), B
            normal = subset._compute_normal_equations(
                z, window_starts[moving], residuals[moving], jacobian
            )
            factors = [normal.eliminate_starts(by)[2] for by in START_DAMPINGS]
            candidates = np.stack(
                [window_starts[moving] + normal.start_steps(np.zeros(p), each) for each in factors]
            )
            repeated = subset_observer.select_candidates(np.zeros(len(candidates), int))
            new_residuals = subset.rollouts.residuals(
                np.repeat(values, len(candidates), 0), repeated, candidates
            )
            self.rollouts.evaluations += subset.rollouts.evaluations
            costs = window_costs(new_residuals, candidates)
            # the best of each window
            best, each = costs.argmin(0), np.arange(len(moving))
            gain = cost[moving] - costs[best, each]
            better = moving[gain > 0]
            best, each = best[gain > 0], each[gain > 0]
            window_starts[better], residuals[better] = (
                candidates[best, each],
                new_residuals[best, each],
            )
            cost[better] = costs[best, each]
            if start is None or count > REUSED_ROUNDS:
                moving = moving[gain > CONVERGED * cost[moving]]
            elif count == REUSED_ROUNDS:
                moving = moving[cost > start.window_costs + COST_TOLERANCE]
        total = float(cost.sum() + 0.5 * (self.prior_residuals(z[None]) ** 2).sum())
        zeros, B = np.zeros((p, p)), np.zeros((0, 0, 0)) if start is None else start.start_jacobian
        return Fit(z, window_starts, total, residuals, zeros, zeros, B, count, True)

    def _restrict_to(self, indices: NDArray[np.int64]) -> LeastSquares:
        """Restrict the problem to some of the windows."""
        rollouts = self.rollouts.with_windows(self.rollouts.windows.subset(indices))
        return LeastSquares(rollouts, self.fit_starts)

    def _initial_point(self, shares: Array, starts: Array | None) -> tuple[Array, Array]:
        z = np.clip(np.asarray(shares, float), 0, 1)
        if starts is not None:
            return z, starts
        observed = self.rollouts.run_observer(self.values(z[None])).starts[0].copy()
        return z, observed if self.fit_starts else observed[:, :0]

    def _select_starts(self, starts: Array) -> Array | None:
        """Reshape the starts for `Rollouts.residuals`."""
        return starts if self.fit_starts else None

    def cost_at(self, shares: Array, starts: Array) -> tuple[Array, Array]:
        """Compute costs, shape (c,), and residuals at shares (c, p) and starts (c, W, s)."""
        values = self.values(shares)
        residuals = self.rollouts.residuals(
            values, self.rollouts.run_observer(values), self._select_starts(starts)
        )
        prior_cost = 0.5 * (self.prior_residuals(shares) ** 2).sum(1)
        return window_costs(residuals, starts).sum(1) + prior_cost, residuals

    def _compute_normal_equations(
        self, z: Array, starts: Array, residuals: Array, jacobian: tuple[Array, Array]
    ) -> NormalEquations:
        """Compute the normal equations at a point, with weighted residuals."""
        # products of all columns, window by window
        w, p = robust_weights(residuals).reshape(len(residuals), -1, 1), len(z)
        r = residuals.reshape(len(residuals), -1, 1)
        gram = gram_matrices(np.concatenate([*jacobian, r], -1) * w)
        start_columns = slice(p, -1)
        # prior knowledge of the unknowns and of the starts
        slope = (
            self.prior_residuals(z[None] + UNKNOWN_STEP)
            - self.prior_residuals(z[None] - UNKNOWN_STEP)
        )[0] / (2 * UNKNOWN_STEP)
        prior_gradient = slope * self.prior_residuals(z[None])[0]
        return NormalEquations(
            gram[:, :p, :p].sum(0) + np.diag(slope**2),
            gram[:, start_columns, start_columns] + np.eye(gram.shape[1] - p - 1),
            gram[:, start_columns, :p],
            gram[:, :p, -1],
            prior_gradient,
            gram[:, start_columns, -1] + starts,
        )

    def _compute_jacobians(self, z: Array, starts: Array) -> tuple[Array, Array]:
        """Compute Jacobians for shares (W, rows, p), starts (W, rows, s), by central differences.

        The differences stay inside the ranges.
        """
        # a pair of candidates per unknown
        p, width = len(z), len(self.rollouts.windows)
        up, down = np.minimum(z + UNKNOWN_STEP, 1.0), np.maximum(z - UNKNOWN_STEP, 0.0)
        if not self.fit_starts and (groups := self.rollouts.independent_unknowns):
            A = self._compute_grouped_jacobian(z, up, down, groups)
            return A, np.zeros((*A.shape[:2], 0))
        pairs = np.tile(z, (2 * p, 1))
        pairs[np.arange(p), np.arange(p)] = up
        pairs[p + np.arange(p), np.arange(p)] = down
        values = self.values(np.concatenate([z[None], pairs]))
        observer = self.rollouts.run_observer(values)
        repeated_starts = self._select_starts(np.tile(starts, (2 * p, 1, 1)))
        residuals = self.rollouts.residuals(
            values[1:], observer.select_candidates(slice(1, None)), repeated_starts
        )
        residuals = residuals.reshape(2 * p, width, -1)
        A = ((residuals[:p] - residuals[p:]) / (up - down)[:, None, None]).transpose(1, 2, 0)
        if not self.fit_starts:
            return A, np.zeros((*A.shape[:2], 0))
        return A, self._compute_start_jacobian(
            values[:1], observer.select_candidates(slice(1)), starts
        )

    def _compute_grouped_jacobian(
        self,
        z: Array,
        up: Array,
        down: Array,
        groups: Sequence[tuple[Sequence[int], Sequence[NDArray[np.bool_]]]],
    ) -> Array:
        """Compute the Jacobian of shares (W, rows, p) with one pair of worlds per group.

        The unknowns of a group affect different residuals, so they are moved at once (Curtis 1974).
        """
        pairs = np.tile(z, (2 * len(groups), 1))
        for k, (members, _) in enumerate(groups):
            pairs[k, members] = up[list(members)]
            pairs[len(groups) + k, members] = down[list(members)]
        values = self.values(pairs)
        residuals = self.rollouts.residuals(values, self.rollouts.run_observer(values))
        change = residuals[: len(groups)] - residuals[len(groups) :]
        A = np.zeros((*change.shape[1:], len(z)))
        for k, (members, masks) in enumerate(groups):
            for member, mask in zip(members, masks, strict=True):
                A[..., mask, member] = change[k][..., mask] / (up[member] - down[member])
        return A.reshape(len(A), -1, len(z))

    def _compute_start_jacobian(
        self, values: Array, observer: ObserverStates, starts: Array
    ) -> Array:
        """Compute the Jacobian by the starts, shape (W, rows, s)."""
        size = starts.shape[1]
        moves = START_STEP * np.concatenate([np.eye(size), -np.eye(size)])
        shifted = starts[None] + moves[:, None, :]
        repeated = observer.select_candidates(np.zeros(2 * size, int))
        residuals = self.rollouts.residuals(np.tile(values, (2 * size, 1)), repeated, shifted)
        residuals = residuals.reshape(2 * size, len(starts), -1)
        return ((residuals[:size] - residuals[size:]) / (2 * START_STEP)).transpose(1, 2, 0)
