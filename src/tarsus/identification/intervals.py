"""How far an estimate may be off: by the curvature of the cost, by how windows disagree, and by
what it costs to hold an unknown aside.

Contacts make steps in the cost: a foot that lands a sample later is another valley, which the
curvature at the bottom of one does not see. So each unknown is moved aside, the others as the
curvature says and the windows' starts searched anew, four times as far each time, until the cost
has risen beyond what chance explains (a profile of the likelihood). What is found lower on the way
is the new estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
AFRESH = 12  # times at most, from what was found lower
DEARER = 0.5  # of half a squared deviation: a window may be in the wrong valley
RUGGED = 4.0  # deviations: farther than the curvature's interval reaches by as much again
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


@dataclass(frozen=True, eq=False)
class Ladder:
    """Unknown k farther and farther aside of `about`, to a side (-1 or 1)."""

    about: Fitted
    k: int
    side: int
    asides: Sequence[Aside]


@dataclass(frozen=True, eq=False)
class Profile:
    """What it costs to hold each unknown aside of `base`."""

    base: Fitted
    told: Scatter
    ladders: Sequence[Ladder]

    @property
    def least(self) -> Fitted:
        """The cheapest of all that was met."""
        met = [aside.fit for ladder in self.ladders for aside in ladder.asides]
        return min([self.base, *met], key=lambda fit: fit.cost)

    @property
    def chance(self) -> float:
        """By how much the cost may rise by chance."""
        return float(self.told.chance.min(initial=np.inf))


def scanned(problem: LeastSquares, found: Fitted) -> tuple[Fitted, Array]:
    """The estimate, better if something better was met, and the ends (p, 2) of the shares that
    chance explains.
    """
    # again from what is lower by more than chance, until the profile is of what is returned
    best, profile = _better(problem, _profile(problem, found))
    for _ in range(AFRESH):
        if profile.base.cost - best.cost <= profile.chance:
            break
        best, profile = _better(problem, _profile(problem, best))
    # what is no dearer than chance explains, and a little farther
    settled = profile.base.cost - best.cost <= profile.chance
    lowest = min(profile.least.cost, best.cost) if settled else profile.least.cost
    ends = np.stack([best.shares, best.shares], 1)
    for ladder in profile.ladders:
        end, k = _end(problem, profile.told, ladder, lowest), ladder.k
        ends[k] = np.fmin(ends[k, 0], end), np.fmax(ends[k, 1], end)
    return (best if settled else replace(best, settled=False)), ends


def _profile(problem: LeastSquares, base: Fitted) -> Profile:
    """About a fit; of unknowns that are open there is none. Where chance explains far more of one
    than the curvature says, how others go with it is not the curvature's either: they are moved
    aside from there as well.
    """
    told = spread(base)
    sides = [(int(k), side) for k in np.flatnonzero(~told.open) for side in (-1, 1)]
    first = [_ladder(problem, base, told, *where) for where in sides]
    lowest, ladders = Profile(base, told, first).least.cost, list(first)
    for one in first:
        far = [a for a in one.asides if a.fit.cost - lowest <= told.chance[one.k] and a.by > RUGGED]
        if far:
            others = [where for where in sides if where[0] != one.k]
            ladders += [_ladder(problem, far[-1].fit, told, *where) for where in others]
    return Profile(base, told, ladders)


def _better(problem: LeastSquares, profile: Profile) -> tuple[Fitted, Profile]:
    """The fit from the cheapest that was met, if that is cheaper than the profile's base."""
    best, least = profile.base, profile.least
    if least.cost < best.cost - LOWER * profile.chance:
        best = min(problem.solve(least.shares, least.starts), best, key=lambda fit: fit.cost)
    return best, profile


def _settled(problem: LeastSquares, shares: Array, near: Fitted) -> Fitted:
    """Each window's start searched at shares (p,), and again from starts at random where a window
    costs more than near by: it may have been left in another valley, and a profile that is too
    dear makes intervals too narrow.
    """
    fit = problem.settle(shares, near)
    odd = np.flatnonzero(fit.by_window > near.by_window + DEARER)
    starts = problem.shaken(fit, odd)
    if starts is None:
        return fit
    again = problem.settle(shares, replace(near, starts=starts))
    better = again.by_window < fit.by_window
    cost = fit.cost - float((fit.by_window - again.by_window)[better].sum())
    return replace(
        fit,
        starts=np.where(better[:, None], again.starts, fit.starts),
        residuals=np.where(better[:, None, None], again.residuals, fit.residuals),
        cost=cost,
    )


def _ladder(problem: LeastSquares, found: Fitted, told: Scatter, k: int, side: int) -> Ladder:
    """Farther and farther, until twice in a row the cost has risen by more than chance explains, or
    once as the curvature tells.
    """
    ladder: list[Aside] = []
    near, lowest, dearer = found, found.cost, 0
    for by in FIRST * FARTHER ** np.arange(RUNGS):
        fit = _settled(problem, _aside(problem, (found, told), (k, side * by), near), near)
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
    return Ladder(found, k, side, ladder)


def _end(problem: LeastSquares, told: Scatter, ladder: Ladder, lowest: float) -> float:
    """The share between the farthest that chance explains and the next, rather too far than too
    near; where the ladder stands if it explains none but that, else NaN.
    """
    # the last that chance explains
    k, side, found = ladder.k, ladder.side, ladder.about
    inside = [a for a in ladder.asides if a.fit.cost - lowest <= told.chance[k]]
    if not inside:
        return float(found.shares[k] if found.cost - lowest <= told.chance[k] else np.nan)
    last = max(inside, key=lambda aside: aside.by)
    beyond = min((a.by for a in ladder.asides if a.by > last.by), default=None)
    if beyond is None:
        return float(last.fit.shares[k])
    # nearer to where it ends
    for _ in range(NEARER):
        by = float(np.sqrt(last.by * beyond))
        shares = _aside(problem, (found, told), (k, side * by), last.fit)
        fit = _settled(problem, shares, last.fit)
        if fit.cost - lowest <= told.chance[k]:
            last = Aside(by, fit)
        else:
            beyond = by
    way = side * beyond * np.sqrt(told.covariance[k, k])
    return float(np.clip(found.shares[k] + way, 0, 1))


def _aside(
    problem: LeastSquares, about: tuple[Fitted, Scatter], where: tuple[int, float], near: Fitted
) -> Array:
    """Shares with unknown k so many deviations aside, the others where the curvature leads them, or
    as they were: whichever costs less with the starts of `near`. A step in the cost makes its
    curvature, and how far it leads others, a hundred times too large.
    """
    (found, told), (k, by) = about, where
    led = by * told.covariance[:, k] / np.sqrt(told.covariance[k, k])
    alone = np.where(np.arange(len(led)) == k, led, 0.0)
    shares = np.clip(found.shares + np.stack([led, alone]), 0, 1)
    costs, _ = problem.cost_at(shares, np.stack([near.starts, near.starts]))
    return shares[int(np.argmin(costs))]
