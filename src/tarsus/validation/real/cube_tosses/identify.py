"""Identification of parameters from tosses, judged on held-out tosses.

Candidates are drawn over all ranges, then near the best ones; the error of every candidate on every
toss is stored. With five folds, the parameters for a fold are drawn and chosen without it,
including the candidates near the best. Error bars are bootstrap intervals over tosses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.identification import resampling
from tarsus.identification.ranges import SearchRange
from tarsus.validation.real.cube_tosses.candidates import draw_candidates, draw_candidates_around
from tarsus.validation.real.cube_tosses.data import Tosses
from tarsus.validation.real.cube_tosses.errors import TossErrors
from tarsus.validation.real.cube_tosses.law_tosses import Tosser

Array = NDArray[np.float64]
FOLDS = 5
RESAMPLES = 1000  # of the bootstrap


@dataclass(frozen=True, eq=False)
class IdentifiedParameters:
    """Identified parameters of one law and their errors."""

    values: dict[str, float]
    """Parameters chosen with all tosses."""
    intervals: dict[str, tuple[float, float]]
    """Bootstrap interval (low, high) of each parameter."""
    given_errors: dict[str, Array]
    """Errors at the given parameters, each of shape (tosses,)."""
    best_errors: dict[str, Array]
    """Errors at `values`."""
    held_out_errors: dict[str, Array]
    """Errors of each toss at the parameters that the other folds chose."""
    min_errors: Array
    """Smallest corner distance of any candidate, shape (tosses,): a lower bound."""
    candidate_count: int
    """Number of candidates."""
    diverged: int
    """Number of candidates that diverged on at least one toss."""


def identify_parameters(
    tosser: Tosser, tosses: Tosses, tried: Mapping[str, SearchRange], count: int, seed: int
) -> IdentifiedParameters:
    """Identify parameters with `count` candidates, half of them near the best.

    Parameters
    ----------
    tosser
        Law, or MuJoCo.
    tosses
        Recorded tosses.
    candidate_count
        Search range of each parameter.
    count
        Number of candidates.
    seed
        Seed of the random candidates, folds and resamples.
    """
    # the given parameters, and candidates over all ranges
    start = {name: tosser.given_parameters().get(name, 0.0) for name in tried}
    wide = draw_candidates(tried, count // 2, seed)
    values = {name: np.append(start[name], wide[name]) for name in tried}
    errors = tosser.errors(tosses, values)
    # candidates near the best on each fold's training tosses, twice
    fold = folds(len(tosses), seed)
    owner = np.full(1 + count // 2, -1)
    for turn in range(2):
        choices = [
            _find_best(errors.corners, fold != f, np.isin(owner, (-1, f))) for f in range(FOLDS)
        ]
        centers = [{name: float(v[k]) for name, v in values.items()} for k in choices]
        each = max(count // (4 * FOLDS), 1)
        refined = draw_candidates_around(tried, centers, each, seed + 1 + turn)
        errors = _concatenate(errors, tosser.errors(tosses, refined))
        values = {name: np.append(value, refined[name]) for name, value in values.items()}
        owner = np.append(owner, np.repeat(np.arange(FOLDS), each))
    # held-out errors of each fold, then the choice with all tosses
    held_out = {name: np.empty(len(tosses)) for name in vars(errors)}
    for f in range(FOLDS):
        k = _find_best(errors.corners, fold != f, np.isin(owner, (-1, f)))
        for name, value in errors.of(k).items():
            held_out[name][fold == f] = value[fold == f]
    all_tosses = np.ones(len(tosses), bool)
    best = _find_best(errors.corners, all_tosses, np.ones(len(owner), bool))
    return IdentifiedParameters(
        {name: float(value[best]) for name, value in values.items()},
        _intervals(errors.corners, values, seed),
        errors.of(0),
        errors.of(best),
        held_out,
        errors.corners.min(0),
        len(owner),
        int((~np.isfinite(errors.corners)).any(1).sum()),
    )


def folds(count: int, seed: int) -> NDArray[np.int64]:
    """Assign each of `count` tosses to a fold; folds have equal sizes."""
    return np.random.default_rng(seed).permutation(np.arange(count) % FOLDS)


def mean_interval(value: Array, seed: int) -> tuple[float, float, float]:
    """Compute the mean over tosses and its bootstrap interval."""
    return resampling.mean_interval(value, RESAMPLES, seed)


def difference_interval(one: Array, other: Array, seed: int) -> tuple[float, float, float]:
    """Compute the mean difference of two errors over tosses and its bootstrap interval."""
    return mean_interval(one - other, seed)


def _find_best(corners: Array, tosses: NDArray[np.bool_], allowed: NDArray[np.bool_]) -> int:
    """Find the allowed candidate with the smallest mean error over some tosses."""
    mean = np.where(allowed, corners[:, tosses].mean(1), np.inf)
    return int(np.argmin(mean))


def _concatenate(one: TossErrors, other: TossErrors) -> TossErrors:
    return TossErrors(
        *(np.concatenate([value, getattr(other, name)]) for name, value in vars(one).items())
    )


def _intervals(
    corners: Array, values: Mapping[str, Array], seed: int
) -> dict[str, tuple[float, float]]:
    """Compute the bootstrap interval of each parameter."""
    random, tosses = np.random.default_rng(seed), corners.shape[1]
    finite = np.where(np.isfinite(corners), corners, 1e6)
    weights = random.multinomial(tosses, np.full(tosses, 1 / tosses), RESAMPLES)
    chosen = np.argmin(finite @ weights.T, 0)
    return {
        name: (float(low), float(high))
        for name, value in values.items()
        for low, high in [np.percentile(value[chosen], resampling.ENDS)]
    }
