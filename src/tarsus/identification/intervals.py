"""Confidence intervals: curvature of the cost, disagreement of windows, and profile likelihood.

Contacts make steps in the cost: a foot that lands a sample later is another minimum, which the
curvature at one minimum does not see. So each unknown is moved aside, with the others following the
curvature and the windows' starts searched again, each time four times as far, until the cost has
risen by more than chance explains (a profile likelihood). If a lower cost is found on the way, it
becomes the new estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from scipy.stats import t as student

from tarsus.identification.least_squares import Fit, LeastSquares
from tarsus.identification.normal_equations import robust_weights

Array = NDArray[np.float64]
LEVEL = 0.95  # confidence level
NULL_EIGENVALUE = 1e-10  # of the largest: a direction without effect on the motion
MIN_COMPONENT = 0.3  # of a unit direction: an unknown that takes part in it
UNDETERMINED_HALF_WIDTH = 0.5  # of the range: a wider half interval means that the data say nothing
MIN_EXTRA_WINDOWS = 8  # windows beyond the unknowns, from which their disagreement is used
FIRST_DISTANCE, GROWTH, MAX_POINTS = 2.0, 4.0, 7  # of a profile: deviations, factor, number
AGREEMENT = 3.0  # a rise within this factor of the curvature's agrees with it
BISECTIONS = 2  # of the end of an interval, in its logarithm
MAX_RESTARTS = 12  # from a lower cost
COST_INCREASE = 0.5  # of a window: a larger one may mean a wrong minimum
RUGGED_DISTANCE = 4.0  # deviations: twice as far as the curvature's interval reaches
MIN_DECREASE = 0.05  # of what chance explains: a larger decrease is a new estimate


@dataclass(frozen=True, eq=False)
class Scatter:
    """Scatter of estimates, as fractions of the ranges.

    Attributes
    ----------
    deviation
        Standard deviation of the residuals, in units of the noise.
    covariance
        Covariance, shape (p, p).
    without_effect
        Mask of unknowns that do not affect the residuals, shape (p,).
    chance_increase
        Increase of the cost that can be due to chance, shape (p,).
    half_widths
        Half widths of the intervals, shape (p,).
    """

    deviation: float
    covariance: Array
    without_effect: NDArray[np.bool_]
    chance_increase: Array
    half_widths: Array

    @property
    def undetermined(self) -> NDArray[np.bool_]:
        """Mask of unknowns that the motion does not determine, shape (p,)."""
        return (self.half_widths > UNDETERMINED_HALF_WIDTH) | self.without_effect


def estimate_scatter(fit: Fit) -> Scatter:
    """Estimate the scatter from the curvature of the cost, at least the spread of windows."""
    # from curvature and the variance of the residuals
    p = len(fit.shares)
    w = robust_weights(fit.residuals)
    degrees = max(fit.residuals.size - p, 1)
    square = ((w * fit.residuals) ** 2).sum() + (fit.starts**2).sum()
    variance = max(float(square) / degrees, 1e-12)
    by_curvature, without_effect = _compute_covariance(fit.normal, variance)
    factor, degrees_used = np.ones(p), float(degrees)
    # from the disagreement of windows (the sandwich estimator of robust statistics)
    extra = len(fit.scores) - p
    if extra >= MIN_EXTRA_WINDOWS:
        centered = fit.scores - fit.scores.mean(0)
        inverse = by_curvature / variance
        sandwich = inverse @ (centered.T @ centered * len(centered) / extra) @ inverse
        ratio = np.diag(sandwich) / np.maximum(np.diag(by_curvature), 1e-300)
        factor = np.where(without_effect, 1.0, np.sqrt(np.maximum(ratio, 1.0)))
        degrees_used = float(extra) if (factor > 1).any() else degrees_used
    covariance = by_curvature * np.outer(factor, factor)
    quantile = float(student.ppf(0.5 + LEVEL / 2, degrees_used))
    half = quantile * np.sqrt(np.diag(covariance))
    chance = 0.5 * float(chi2.ppf(LEVEL, 1)) * variance * factor**2
    return Scatter(float(np.sqrt(variance)), covariance, without_effect, chance, half)


def _compute_covariance(normal: Array, variance: float) -> tuple[Array, NDArray[np.bool_]]:
    """Compute the covariance of the shares, and a mask of those without effect on residuals."""
    values, vectors = np.linalg.eigh(normal)
    largest = max(float(values.max(initial=0)), 1e-300)
    null = values <= NULL_EIGENVALUE * largest
    # a direction without effect is as uncertain as the range is wide
    scatter = np.where(null, 1.0, variance / np.maximum(values, NULL_EIGENVALUE * largest))
    covariance = (vectors * scatter) @ vectors.T
    without_effect = (vectors[:, null] ** 2).sum(1) > MIN_COMPONENT**2
    return covariance, without_effect | (np.diag(normal) <= NULL_EIGENVALUE * largest)


@dataclass(frozen=True, eq=False)
class ProfilePoint:
    """Fit with one unknown displaced by a number of deviations."""

    distance: float
    fit: Fit


@dataclass(frozen=True, eq=False)
class ProfileSide:
    """Profile of unknown k to one side (-1 or 1) of the fit `center`."""

    center: Fit
    k: int
    side: int
    points: Sequence[ProfilePoint]


@dataclass(frozen=True, eq=False)
class Profile:
    """Profile likelihood of each unknown about the fit `base`."""

    base: Fit
    scatter: Scatter
    sides: Sequence[ProfileSide]

    @property
    def cheapest_fit(self) -> Fit:
        """Fit of least cost in the profile."""
        fits = [point.fit for profile in self.sides for point in profile.points]
        return min([self.base, *fits], key=lambda fit: fit.cost)

    @property
    def chance_increase(self) -> float:
        """Increase of the cost that chance explains."""
        return float(self.scatter.chance_increase.min(initial=np.inf))


def profile_intervals(problem: LeastSquares, fit: Fit) -> tuple[Fit, Array]:
    """Compute the estimate, improved if possible, and its confidence intervals by profiles.

    Returns
    -------
    tuple
        The fit, and the ends of the shares that chance explains, shape (p, 2).
    """
    # restart from costs lower by more than chance, until the profile is that of the result
    best, profile = _select_better(problem, _compute_profile(problem, fit))
    for _ in range(MAX_RESTARTS):
        if profile.base.cost - best.cost <= profile.chance_increase:
            break
        best, profile = _select_better(problem, _compute_profile(problem, best))
    # ends of what chance explains, rounded outwards
    settled = profile.base.cost - best.cost <= profile.chance_increase
    lowest = min(profile.cheapest_fit.cost, best.cost) if settled else profile.cheapest_fit.cost
    ends = np.stack([best.shares, best.shares], 1)
    for one in profile.sides:
        end, k = _find_interval_end(problem, profile.scatter, one, lowest), one.k
        ends[k] = np.fmin(ends[k, 0], end), np.fmax(ends[k, 1], end)
    return (best if settled else replace(best, converged=False)), ends


def _compute_profile(problem: LeastSquares, base: Fit) -> Profile:
    """Compute the profile about a fit; undetermined unknowns have none.

    If chance explains a displacement far beyond the curvature's interval, the correlation with the
    other unknowns is not that of the curvature either: they are then displaced from there as well.
    """
    scatter = estimate_scatter(base)
    directions = [(int(k), side) for k in np.flatnonzero(~scatter.undetermined) for side in (-1, 1)]
    first = [_profile_side(problem, base, scatter, *direction) for direction in directions]
    lowest, sides = Profile(base, scatter, first).cheapest_fit.cost, list(first)
    for one in first:
        far = [
            point
            for point in one.points
            if point.fit.cost - lowest <= scatter.chance_increase[one.k]
            and point.distance > RUGGED_DISTANCE
        ]
        if far:
            others = [direction for direction in directions if direction[0] != one.k]
            sides += [_profile_side(problem, far[-1].fit, scatter, *other) for other in others]
    return Profile(base, scatter, sides)


def _select_better(problem: LeastSquares, profile: Profile) -> tuple[Fit, Profile]:
    """Select the cheapest fit of the base and the profile's points, with its profile."""
    best, least = profile.base, profile.cheapest_fit
    if least.cost < best.cost - MIN_DECREASE * profile.chance_increase:
        best = min(problem.solve(least.shares, least.starts), best, key=lambda fit: fit.cost)
    return best, profile


def _fit_starts_robustly(problem: LeastSquares, shares: Array, start: Fit) -> Fit:
    """Fit the windows' starts at given shares, shape (p,).

    Starts of windows that cost more than in `start` are searched again from random ones: they may
    be at a wrong minimum, and a profile that costs too much makes intervals too narrow.
    """
    fit = problem.fit_window_starts(shares, start)
    outliers = np.flatnonzero(fit.window_costs > start.window_costs + COST_INCREASE)
    starts = problem.random_starts(fit, outliers)
    if starts is None:
        return fit
    again = problem.fit_window_starts(shares, replace(start, starts=starts))
    better = again.window_costs < fit.window_costs
    cost = fit.cost - float((fit.window_costs - again.window_costs)[better].sum())
    return replace(
        fit,
        starts=np.where(better[:, None], again.starts, fit.starts),
        residuals=np.where(better[:, None, None], again.residuals, fit.residuals),
        cost=cost,
    )


def _profile_side(
    problem: LeastSquares, fit: Fit, scatter: Scatter, k: int, side: int
) -> ProfileSide:
    """Displace unknown k step by step to one side.

    It ends when the cost has risen by more than chance explains twice in a row, or once if the rise
    agrees with the curvature.
    """
    points: list[ProfilePoint] = []
    last, lowest, failures = fit, fit.cost, 0
    for distance in FIRST_DISTANCE * GROWTH ** np.arange(MAX_POINTS):
        shares = _displace(problem, (fit, scatter), (k, side * distance), last)
        moved = _fit_starts_robustly(problem, shares, last)
        points.append(ProfilePoint(float(distance), moved))
        lowest = min(lowest, moved.cost)
        rise = moved.cost - lowest
        expected = distance**2 * scatter.chance_increase[k] / float(chi2.ppf(LEVEL, 1))
        at_limit = not 0 < moved.shares[k] < 1
        if rise <= scatter.chance_increase[k]:
            last, failures = moved, 0
            if at_limit:
                break
            continue
        failures += 1
        agrees = expected / AGREEMENT < rise < expected * AGREEMENT
        if failures == 2 or agrees or at_limit:
            break
    return ProfileSide(fit, k, side, points)


def _find_interval_end(
    problem: LeastSquares, scatter: Scatter, profile: ProfileSide, lowest: float
) -> float:
    """Find the share at which the cost exceeds what chance explains, rounded outwards.

    It is that of the profile's fit if chance explains none but this, and NaN if not even this.
    """
    # the farthest point that chance explains
    k, side, fit = profile.k, profile.side, profile.center
    inside = [
        point for point in profile.points if point.fit.cost - lowest <= scatter.chance_increase[k]
    ]
    if not inside:
        return float(fit.shares[k] if fit.cost - lowest <= scatter.chance_increase[k] else np.nan)
    last = max(inside, key=lambda point: point.distance)
    beyond = min((p.distance for p in profile.points if p.distance > last.distance), default=None)
    if beyond is None:
        return float(last.fit.shares[k])
    # bisection between it and the next point
    for _ in range(BISECTIONS):
        distance = float(np.sqrt(last.distance * beyond))
        shares = _displace(problem, (fit, scatter), (k, side * distance), last.fit)
        moved = _fit_starts_robustly(problem, shares, last.fit)
        if moved.cost - lowest <= scatter.chance_increase[k]:
            last = ProfilePoint(distance, moved)
        else:
            beyond = distance
    shift = side * beyond * np.sqrt(scatter.covariance[k, k])
    return float(np.clip(fit.shares[k] + shift, 0, 1))


def _displace(
    problem: LeastSquares, about: tuple[Fit, Scatter], displacement: tuple[int, float], start: Fit
) -> Array:
    """Displace unknown k of shares by a number of deviations.

    The others follow the curvature or stay, whichever costs less with the windows' starts of the
    fit `start`. A discontinuity of the cost can make its curvature, and so the shift of the others,
    a hundred times too large.
    """
    (fit, scatter), (k, distance) = about, displacement
    together = distance * scatter.covariance[:, k] / np.sqrt(scatter.covariance[k, k])
    alone = np.where(np.arange(len(together)) == k, together, 0.0)
    shares = np.clip(fit.shares + np.stack([together, alone]), 0, 1)
    costs, _ = problem.cost_at(shares, np.stack([start.starts, start.starts]))
    return shares[int(np.argmin(costs))]
