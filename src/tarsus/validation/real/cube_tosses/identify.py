"""Parameters identified from tosses, judged on tosses that had no part in it.

Candidates are drawn over all ranges, then near the best ones; every candidate's error on every toss
is kept. Five folds: what is judged on a fold was drawn and chosen without it, also the candidates
near the best. Error bars are of resampled tosses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.identification import resampling
from tarsus.identification.ranges import SearchRange
from tarsus.validation.real.cube_tosses.candidates import around, sampled
from tarsus.validation.real.cube_tosses.data import Tosses
from tarsus.validation.real.cube_tosses.errors import TossErrors
from tarsus.validation.real.cube_tosses.law_tosses import Tosser

Array = NDArray[np.float64]
FOLDS = 5
RESAMPLED = 1000  # times


@dataclass(frozen=True, eq=False)
class Identified:
    """The parameters of one law, and how well it then repeats the tosses.

    values: chosen with all tosses
    intervals: of the choices of resampled tosses, name -> (low, high)
    given, best, held_out: errors by name, each (tosses,): at the parameters as given, at `values`,
        and of each toss at the parameters that the other folds chose
    least: the least corner distance (tosses,) of any candidate: what no choice of parameters beats
    tried, diverged: how many candidates; how many of them left the finite numbers on some toss
    """

    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    given: dict[str, Array]
    best: dict[str, Array]
    held_out: dict[str, Array]
    least: Array
    tried: int
    diverged: int


def identified(
    tosser: Tosser, tosses: Tosses, tried: Mapping[str, SearchRange], count: int, seed: int
) -> Identified:
    """With `count` candidates, half of them near the best."""
    # the parameters as given, and candidates over all ranges
    start = {name: tosser.given().get(name, 0.0) for name in tried}
    wide = sampled(tried, count // 2, seed)
    values = {name: np.append(start[name], wide[name]) for name in tried}
    found = tosser.errors(tosses, values)
    # near the best of each fold's other tosses, twice
    fold = folds(len(tosses), seed)
    owner = np.full(1 + count // 2, -1)
    for turn in range(2):
        choices = [_best(found.corners, fold != f, np.isin(owner, (-1, f))) for f in range(FOLDS)]
        centers = [{name: float(v[k]) for name, v in values.items()} for k in choices]
        each = max(count // (4 * FOLDS), 1)
        near = around(tried, centers, each, seed + 1 + turn)
        found = _joined(found, tosser.errors(tosses, near))
        values = {name: np.append(value, near[name]) for name, value in values.items()}
        owner = np.append(owner, np.repeat(np.arange(FOLDS), each))
    # each fold judged by the choice of the others; all together
    held = {name: np.empty(len(tosses)) for name in vars(found)}
    for f in range(FOLDS):
        k = _best(found.corners, fold != f, np.isin(owner, (-1, f)))
        for name, value in found.of(k).items():
            held[name][fold == f] = value[fold == f]
    everyone = np.ones(len(tosses), bool)
    best = _best(found.corners, everyone, np.ones(len(owner), bool))
    return Identified(
        {name: float(value[best]) for name, value in values.items()},
        _intervals(found.corners, values, seed),
        found.of(0),
        found.of(best),
        held,
        found.corners.min(0),
        len(owner),
        int((~np.isfinite(found.corners)).any(1).sum()),
    )


def folds(count: int, seed: int) -> NDArray[np.int64]:
    """The fold of each of `count` tosses, as many of one as of another."""
    return np.random.default_rng(seed).permutation(np.arange(count) % FOLDS)


def mean_interval(value: Array, seed: int) -> tuple[float, float, float]:
    """The mean over tosses, and the interval of means of resampled tosses."""
    return resampling.mean_interval(value, RESAMPLED, seed)


def difference_interval(one: Array, other: Array, seed: int) -> tuple[float, float, float]:
    """The same of a difference, toss by toss."""
    return mean_interval(one - other, seed)


def _best(corners: Array, tosses: NDArray[np.bool_], allowed: NDArray[np.bool_]) -> int:
    """The candidate among those allowed with the least mean over some tosses."""
    mean = np.where(allowed, corners[:, tosses].mean(1), np.inf)
    return int(np.argmin(mean))


def _joined(one: TossErrors, other: TossErrors) -> TossErrors:
    return TossErrors(
        *(np.concatenate([value, getattr(other, name)]) for name, value in vars(one).items())
    )


def _intervals(
    corners: Array, values: Mapping[str, Array], seed: int
) -> dict[str, tuple[float, float]]:
    """Of each parameter, over the choices of resampled tosses."""
    random, tosses = np.random.default_rng(seed), corners.shape[1]
    finite = np.where(np.isfinite(corners), corners, 1e6)
    weights = random.multinomial(tosses, np.full(tosses, 1 / tosses), RESAMPLED)
    chosen = np.argmin(finite @ weights.T, 0)
    return {
        name: (float(low), float(high))
        for name, value in values.items()
        for low, high in [np.percentile(value[chosen], resampling.ENDS)]
    }
