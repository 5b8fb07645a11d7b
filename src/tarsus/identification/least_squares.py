"""Least squares over windows: unknowns that all share, and each window's own start.

Gauss-Newton with Levenberg's damping. The starts of windows are unknowns too, held by the noise
of the log; they are eliminated window by window, so that what is solved is as small as the unknowns
are few. Columns of the Jacobian are central differences, each a world.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tarsus.identification.normal_equations import (
    NormalEquations,
    products,
    stepped,
    weights,
    window_costs,
)
from tarsus.identification.rollouts import Followed, Rollouts

Array = NDArray[np.float64]
WIDTH = 1e-3  # of a range: of differences by an unknown
START = 0.3  # deviations: of differences by a start
DAMPINGS = (0.01, 0.1, 1.0, 10.0, 100.0)  # tried at once, times the last one
SETTLE_DAMPED = (0.0, 0.1, 1.0, 10.0)
ROUNDS, SETTLING, AFRESH = 25, 6, 4
ALIKE = 2  # rounds in which the Jacobian of a fit that is near serves
NO_MORE = 0.01  # of half a squared deviation: a window that costs no more has settled
SETTLED = 1e-5  # of the cost, and of a range: less changes nothing
ODD = 1.5  # times the median: a window that costs more may have begun in the wrong valley
SHAKEN, DRAWN = (0.1, 0.3, 1.0), 24  # deviations of starts at random; as many draws of each
LEAST_DAMPED, MOST_DAMPED = 1e-9, 1e6


@dataclass(frozen=True, eq=False)
class Fitted:
    """Where the search ended.

    shares (p,): of the unknowns' ranges; starts (W, s): of the windows, deviations
    cost: half the sum of squares, large ones by their size
    residuals (W, samples, n): in deviations
    normal (p, p): J^T J by shares, starts eliminated; scores (W, p): how each window pulls at them
    by_starts (W, rows, s): Jacobian by the starts
    rounds: that it took; settled: whether it ended by itself
    """

    shares: Array
    starts: Array
    cost: float
    residuals: Array
    normal: Array
    scores: Array
    by_starts: Array
    rounds: int
    settled: bool

    @property
    def by_window(self) -> Array:
        """The cost of each window (W,)."""
        return window_costs(self.residuals[None], self.starts[None])[0]


class LeastSquares:
    """The search on some windows.

    fit_starts: whether the windows' starts are unknown too
    """

    def __init__(self, rollouts: Rollouts, fit_starts: bool = True) -> None:
        self.rollouts, self.fit_starts = rollouts, fit_starts
        self.unknowns = rollouts.candidates.unknowns

    def values(self, shares: Array) -> Array:
        """Values (c, p) of shares (c, p)."""
        return np.stack([one.range.at(shares[:, k]) for k, one in enumerate(self.unknowns)], 1)

    def prior(self, shares: Array) -> Array:
        """Residuals (c, p) of what is known beforehand, zero where nothing is."""
        values, found = self.values(shares), np.zeros_like(shares)
        for k, one in enumerate(self.unknowns):
            if one.prior is not None:
                found[:, k] = (values[:, k] - one.prior[0]) / one.prior[1]
        return found

    def costs(self, shares: Array) -> Array:
        """Of candidates (c, p), from where worlds that follow the log are."""
        values = self.values(shares)
        followed = self.rollouts.follow(values)
        starts = followed.starts if self.fit_starts else followed.starts[..., :0]
        found = self.rollouts.residuals(values, followed, self._begun(starts))
        return window_costs(found, starts).sum(1) + 0.5 * (self.prior(shares) ** 2).sum(1)

    def solve(self, shares: Array, starts: Array | None = None, rounds: int = ROUNDS) -> Fitted:
        """`search`, and again as long as some windows' starts do better from where a world that
        follows the log now is, or from random ones: a foot that was lifted by a wrong guess does
        not come down by small steps.
        """
        found = self.search(shares, starts, rounds)
        for _ in range(AFRESH):
            if not self.fit_starts:
                break
            other = self.settle(found.shares)
            better = other.by_window < found.by_window
            mixed = replace(
                found,
                starts=np.where(better[:, None], other.starts, found.starts),
                residuals=np.where(better[:, None, None], other.residuals, found.residuals),
            )
            # windows that stand out, from starts at random
            cost = mixed.by_window
            starts = self.shaken(mixed, np.flatnonzero(cost > ODD * np.median(cost)))
            gain = (found.by_window - other.by_window)[better].sum()
            if gain <= SETTLED * found.cost and starts is None:
                break
            again = self.search(found.shares, mixed.starts if starts is None else starts, rounds)
            if again.cost >= found.cost:
                break
            found = again
        return found

    def shaken(self, found: Fitted, odd: NDArray[np.int64]) -> Array | None:
        """Starts (W, s), those of some windows moved at random to where they cost less; None if
        there are no such.
        """
        if not len(odd):
            return None
        cost = found.by_window
        # one world for each window and move
        random = np.random.default_rng(0)
        widths = np.repeat(SHAKEN, DRAWN)[:, None, None]
        moves = widths * random.standard_normal((len(widths), *found.starts[odd].shape))
        some, values = self._on(odd), self.values(found.shares[None])
        same = some.rollouts.follow(values).of(np.zeros(len(moves), int))
        begun = found.starts[odd] + moves
        residuals = some.rollouts.residuals(np.repeat(values, len(moves), 0), same, begun)
        costs = window_costs(residuals, begun)
        self.rollouts.evaluations += some.rollouts.evaluations
        # each window its best
        best, each = costs.argmin(0), np.arange(len(odd))
        better = costs[best, each] < cost[odd]
        if not better.any():
            return None
        starts = found.starts.copy()
        starts[odd[better]] = begun[best, each][better]
        return starts

    def search(self, shares: Array, starts: Array | None = None, rounds: int = ROUNDS) -> Fitted:
        """From shares (p,), and starts (W, s), on."""
        # where it begins
        z, own = self._begin(shares, starts)
        damping, settled, made = 1e-3, False, 0
        cost, residuals = (part[0] for part in self.cost_at(z[None], own[None]))
        jacobian = self._differences(z, own)
        # round by round: linearized, several dampings tried at once
        while made < rounds and not settled:
            made += 1
            dampings = [damping * factor for factor in DAMPINGS]
            normal = self._normal(z, own, residuals, jacobian)
            tried = [stepped(normal, z, own, by) for by in dampings]
            costs, found = self.cost_at(*(np.stack(parts) for parts in zip(*tried, strict=True)))
            best = int(np.argmin(costs))
            if not costs[best] < cost:
                settled, damping = damping > MOST_DAMPED, damping * 1e3
                continue
            gain, way = cost - costs[best], np.abs(tried[best][0] - z).max(initial=0)
            (z, own), damping = tried[best], max(dampings[best], LEAST_DAMPED)
            cost, residuals = costs[best], found[best]
            jacobian = self._differences(z, own)
            settled = bool(gain <= SETTLED * cost and way < 10 * SETTLED)
        normal = self._normal(z, own, residuals, jacobian)
        S, scores = normal.eliminated()[0], normal.scores()
        return Fitted(z, own, float(cost), residuals, S, scores, jacobian[1], made, settled)

    def settle(self, shares: Array, near: Fitted | None = None, rounds: int = SETTLING) -> Fitted:
        """The unknowns held at shares (p,), each window's start searched by itself.

        near: a fit whose starts are tried too, and whose Jacobian by them serves twice; windows
            that then cost no more than there are not moved any further
        """
        # each window from the better start
        z, own = self._begin(shares, None)
        values, p = self.values(z[None]), len(z)
        followed = self.rollouts.follow(values)
        begun = np.stack([own] if near is None else [own, near.starts])
        same = followed.of(np.zeros(len(begun), int))
        several = np.repeat(values, len(begun), 0)
        residuals = self.rollouts.residuals(several, same, self._begun(begun))
        costs, made = window_costs(residuals, begun), 0
        moving = np.arange(len(own))
        at = costs.argmin(0), moving
        own, residuals, cost = begun[at], residuals[at], costs[at]
        while self.fit_starts and made < rounds and len(moving):
            made += 1
            # those that still move, linearized; several dampings tried at once
            some, held = self._on(moving), followed.on(moving)
            if near is None or made > ALIKE:
                B = some._by_starts(values, held, own[moving])
            else:
                B = near.by_starts[moving]
            jacobian = np.zeros((len(B), B.shape[1], p)), B
            normal = some._normal(z, own[moving], residuals[moving], jacobian)
            factors = [normal.eliminated(by)[2] for by in SETTLE_DAMPED]
            tried = np.stack([own[moving] + normal.moved(np.zeros(p), each) for each in factors])
            same = held.of(np.zeros(len(tried), int))
            found = some.rollouts.residuals(np.repeat(values, len(tried), 0), same, tried)
            self.rollouts.evaluations += some.rollouts.evaluations
            costs = window_costs(found, tried)
            # each window takes its own best
            best, each = costs.argmin(0), np.arange(len(moving))
            gain = cost[moving] - costs[best, each]
            better = moving[gain > 0]
            best, each = best[gain > 0], each[gain > 0]
            own[better], residuals[better] = tried[best, each], found[best, each]
            cost[better] = costs[best, each]
            if near is None or made > ALIKE:
                moving = moving[gain > SETTLED * cost[moving]]
            elif made == ALIKE:
                moving = moving[cost > near.by_window + NO_MORE]
        total = float(cost.sum() + 0.5 * (self.prior(z[None]) ** 2).sum())
        none, B = np.zeros((p, p)), np.zeros((0, 0, 0)) if near is None else near.by_starts
        return Fitted(z, own, total, residuals, none, none, B, made, True)

    def _on(self, which: NDArray[np.int64]) -> LeastSquares:
        """The same on some of the windows."""
        some = self.rollouts.on(self.rollouts.windows.some(which))
        return LeastSquares(some, self.fit_starts)

    def _begin(self, shares: Array, starts: Array | None) -> tuple[Array, Array]:
        z = np.clip(np.asarray(shares, float), 0, 1)
        if starts is not None:
            return z, starts
        own = self.rollouts.follow(self.values(z[None])).starts[0].copy()
        return z, own if self.fit_starts else own[:, :0]

    def _begun(self, starts: Array) -> Array | None:
        """Starts as rollouts take them."""
        return starts if self.fit_starts else None

    def cost_at(self, shares: Array, starts: Array) -> tuple[Array, Array]:
        """Costs (c,) and residuals at shares (c, p) and starts (c, W, s)."""
        values = self.values(shares)
        found = self.rollouts.residuals(values, self.rollouts.follow(values), self._begun(starts))
        known = 0.5 * (self.prior(shares) ** 2).sum(1)
        return window_costs(found, starts).sum(1) + known, found

    def _normal(
        self, z: Array, starts: Array, residuals: Array, jacobian: tuple[Array, Array]
    ) -> NormalEquations:
        """At a point, residuals weighted."""
        # all columns by window, and their products
        w, p = weights(residuals).reshape(len(residuals), -1, 1), len(z)
        r = residuals.reshape(len(residuals), -1, 1)
        of_all = products(np.concatenate([*jacobian, r], -1) * w)
        of_starts = slice(p, -1)
        # what is known beforehand, of the unknowns and of the starts
        slope = (self.prior(z[None] + WIDTH) - self.prior(z[None] - WIDTH))[0] / (2 * WIDTH)
        known = slope * self.prior(z[None])[0]
        return NormalEquations(
            of_all[:, :p, :p].sum(0) + np.diag(slope**2),
            of_all[:, of_starts, of_starts] + np.eye(of_all.shape[1] - p - 1),
            of_all[:, of_starts, :p],
            of_all[:, :p, -1],
            known,
            of_all[:, of_starts, -1] + starts,
        )

    def _differences(self, z: Array, starts: Array) -> tuple[Array, Array]:
        """Jacobians by shares (W, rows, p) and by starts (W, rows, s): central differences, inside
        the ranges.
        """
        # a pair of candidates for each unknown
        p, width = len(z), len(self.rollouts.windows)
        up, down = np.minimum(z + WIDTH, 1.0), np.maximum(z - WIDTH, 0.0)
        pairs = np.tile(z, (2 * p, 1))
        pairs[np.arange(p), np.arange(p)] = up
        pairs[p + np.arange(p), np.arange(p)] = down
        values = self.values(np.concatenate([z[None], pairs]))
        followed = self.rollouts.follow(values)
        begun = self._begun(np.tile(starts, (2 * p, 1, 1)))
        found = self.rollouts.residuals(values[1:], followed.of(slice(1, None)), begun)
        found = found.reshape(2 * p, width, -1)
        A = ((found[:p] - found[p:]) / (up - down)[:, None, None]).transpose(1, 2, 0)
        if not self.fit_starts:
            return A, np.zeros((*A.shape[:2], 0))
        return A, self._by_starts(values[:1], followed.of(slice(1)), starts)

    def _by_starts(self, values: Array, followed: Followed, starts: Array) -> Array:
        """Jacobian (W, rows, s) by the numbers of the starts."""
        size = starts.shape[1]
        moves = START * np.concatenate([np.eye(size), -np.eye(size)])
        begun = starts[None] + moves[:, None, :]
        same = followed.of(np.zeros(2 * size, int))
        found = self.rollouts.residuals(np.tile(values, (2 * size, 1)), same, begun)
        found = found.reshape(2 * size, len(starts), -1)
        return ((found[:size] - found[size:]) / (2 * START)).transpose(1, 2, 0)
