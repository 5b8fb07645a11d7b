"""How far an estimate may be off: by the curvature of the cost, by how windows disagree, and by
what it costs to hold an unknown aside.

Contacts make steps in the cost: a foot that lands a sample later is another valley, which the
curvature at the bottom of one does not see. So each unknown is moved aside, the others as the
curvature says and the windows' starts searched anew, four times as far each time, until the cost
has risen beyond what chance explains (a profile of the likelihood). What is found lower on the way
is the new estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from scipy.stats import t as student

from tarsus.identification.least_squares import Fitted, LeastSquares
from tarsus.identification.normal_equations import weights

Array = NDArray[np.float64]
LEVEL = 0.95
NONE = 1e-10  # of the largest eigenvalue: a direction that moves nothing
NAMED = 0.3  # of a direction: who takes part in it
OPEN = 0.5  # of the range: half an interval; wider, and the data say nothing
FEW = 8  # windows beyond the unknowns, from which on how they disagree is told
FIRST, FARTHER, RUNGS = 2.0, 4.0, 7  # deviations; times; at most
LIKE = 3.0  # a rise within this factor of the curvature's is as it tells
NEARER = 2  # times the end is halved, in its logarithm
AFRESH = 4  # times at most, from what was found lower
LOWER = 0.05  # of what chance explains: a cost that is lower by more is another estimate


@dataclass(frozen=True, eq=False)
class Scatter:
    """How far estimates scatter, in shares of the ranges.

    deviation: of residuals, in the noise's
    covariance (p, p); loose (p,): which unknowns no residual moves
    chance (p,): by how much costs may rise by chance; half (p,): of an interval
    """

    deviation: float
    covariance: Array
    loose: NDArray[np.bool_]
    chance: Array
    half: Array

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which unknowns the motion leaves open (p,)."""
        return (self.half > OPEN) | self.loose


def spread(found: Fitted) -> Scatter:
    """By the curvature of the cost, and no narrower than by how windows disagree."""
    # by curvature and the residuals' variance
    p = len(found.shares)
    w = weights(found.residuals)
    free = max(found.residuals.size - p, 1)
    square = ((w * found.residuals) ** 2).sum() + (found.starts**2).sum()
    variance = max(float(square) / free, 1e-12)
    by_curvature, loose = _covariance(found.normal, variance)
    factor, freedom = np.ones(p), float(free)
    # by how windows disagree (the sandwich of robust statistics)
    more = len(found.scores) - p
    if more >= FEW:
        aside = found.scores - found.scores.mean(0)
        inverse = by_curvature / variance
        disagreed = inverse @ (aside.T @ aside * len(aside) / more) @ inverse
        ratio = np.diag(disagreed) / np.maximum(np.diag(by_curvature), 1e-300)
        factor = np.where(loose, 1.0, np.sqrt(np.maximum(ratio, 1.0)))
        freedom = float(more) if (factor > 1).any() else freedom
    covariance = by_curvature * np.outer(factor, factor)
    quantile = float(student.ppf(0.5 + LEVEL / 2, freedom))
    half = quantile * np.sqrt(np.diag(covariance))
    chance = 0.5 * float(chi2.ppf(LEVEL, 1)) * variance * factor**2
    return Scatter(float(np.sqrt(variance)), covariance, loose, chance, half)


def _covariance(normal: Array, variance: float) -> tuple[Array, NDArray[np.bool_]]:
    """Of the shares, and which of them no residual moves."""
    values, vectors = np.linalg.eigh(normal)
    most = max(float(values.max(initial=0)), 1e-300)
    nothing = values <= NONE * most
    # a direction that moves nothing is as open as the range is wide
    scatter = np.where(nothing, 1.0, variance / np.maximum(values, NONE * most))
    covariance = (vectors * scatter) @ vectors.T
    loose = (vectors[:, nothing] ** 2).sum(1) > NAMED**2
    return covariance, loose | (np.diag(normal) <= NONE * most)


@dataclass(frozen=True, eq=False)
class Aside:
    """What it costs to hold one unknown aside: `by` deviations, where `fit` is."""

    by: float
    fit: Fitted


def scanned(problem: LeastSquares, found: Fitted) -> tuple[Fitted, Array]:
    """The estimate, better if something better was met, and the ends (p, 2) of the shares that
    chance explains.
    """
    best, ends = found, np.stack([found.shares, found.shares], 1)
    for _ in range(AFRESH):
        told = spread(best)
        closed = np.flatnonzero(~told.open)
        sides = [(int(k), side) for k in closed for side in (-1, 1)]
        ladders = {where: _ladder(problem, best, told, *where) for where in sides}
        # from what is lower, once more
        met = [aside.fit for ladder in ladders.values() for aside in ladder]
        least = min([best, *met], key=lambda fit: fit.cost)
        again = best
        if least.cost < best.cost - LOWER * told.chance.min(initial=np.inf):
            again = min(problem.solve(least.shares, least.starts), best, key=lambda f: f.cost)
        # what is no dearer than chance explains, and a little farther
        lowest = min(again.cost, least.cost)
        ends = np.stack([again.shares, again.shares], 1)
        for (k, side), ladder in ladders.items():
            end = _end(problem, best, told, (k, side), ladder, lowest)
            ends[k] = np.fmin(ends[k, 0], end), np.fmax(ends[k, 1], end)
        far = best.cost - again.cost > told.chance.min(initial=np.inf)
        best = again
        if not far:
            break
    return best, ends


def _ladder(problem: LeastSquares, found: Fitted, told: Scatter, k: int, side: int) -> list[Aside]:
    """Farther and farther, until twice in a row the cost has risen by more than chance explains, or
    once as the curvature tells.
    """
    ladder: list[Aside] = []
    near, lowest, dearer = found, found.cost, 0
    for by in FIRST * FARTHER ** np.arange(RUNGS):
        fit = problem.settle(_aside(found, told, k, side * by), near)
        ladder.append(Aside(float(by), fit))
        lowest = min(lowest, fit.cost)
        rise, expected = fit.cost - lowest, by**2 * told.chance[k] / float(chi2.ppf(LEVEL, 1))
        if rise <= told.chance[k]:
            near, dearer = fit, 0
            if not 0 < fit.shares[k] < 1:
                break
            continue
        dearer += 1
        if dearer == 2 or (expected / LIKE < rise < expected * LIKE) or not 0 < fit.shares[k] < 1:
            break
    return ladder


def _end(
    problem: LeastSquares,
    found: Fitted,
    told: Scatter,
    where: tuple[int, int],
    ladder: list[Aside],
    lowest: float,
) -> float:
    """The share between the farthest that chance explains and the next, rather too far than too
    near; the estimate's own where it explains none.
    """
    # the last that chance explains
    k, side = where
    inside = [a for a in ladder if a.fit.cost - lowest <= told.chance[k]]
    if not inside:
        return float(found.shares[k] if found.cost - lowest <= told.chance[k] else np.nan)
    last = max(inside, key=lambda aside: aside.by)
    beyond = min((a.by for a in ladder if a.by > last.by), default=None)
    if beyond is None:
        return float(last.fit.shares[k])
    # nearer to where it ends
    for _ in range(NEARER):
        by = float(np.sqrt(last.by * beyond))
        fit = problem.settle(_aside(found, told, k, side * by), last.fit)
        if fit.cost - lowest <= told.chance[k]:
            last = Aside(by, fit)
        else:
            beyond = by
    return float(_aside(found, told, k, side * beyond)[k])


def _aside(found: Fitted, told: Scatter, k: int, by: float) -> Array:
    """Shares with unknown k so many deviations aside, the others where the curvature leads them."""
    way = told.covariance[:, k] / np.sqrt(told.covariance[k, k])
    return np.clip(found.shares + by * way, 0, 1)
