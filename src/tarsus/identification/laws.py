"""Ranking of contact laws by cross-validation on the windows of a log.

Each law gets the unknowns of the specification that do not belong to a law, and its own parameters:
those that the specification frees, else all that have a default range. The windows are split into
folds, and each fold is predicted with parameters identified from the others. All laws predict the
same windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.errors import TarsusError, UnmetCondition
from tarsus.identification import windows
from tarsus.identification.candidates import Candidates, ModelParts
from tarsus.identification.least_squares import Fit, LeastSquares
from tarsus.identification.ranges import default_ranges
from tarsus.identification.resampling import mean_interval
from tarsus.identification.rollouts import Rollouts
from tarsus.identification.run import (
    PreparedData,
    ProgressCallback,
    initial_guesses,
    prepare_data,
    solve_from,
)
from tarsus.identification.spec import IdentificationSpec
from tarsus.identification.unknowns import Unknown
from tarsus.identification.windows import Windows
from tarsus.parameters import declared_fields, name_of, names_with_role
from tarsus.simulation import resolve

Array = NDArray[np.float64]
LAWS = "tarsus.contact.laws"
MAX_SPRING_DT = 2.5e-4  # s: largest step size of a law with springs
RESAMPLES = 2000
FOLD_ROUNDS = 12  # of a fold, which starts from the fit of all windows


@dataclass(frozen=True)
class RankedLaw:
    """Contact law with its error on held-out windows.

    Attributes
    ----------
    law
        Name of the law.
    error
        Root mean square of held-out residuals, with large ones counted linearly, in deviations of
        the noise; mean over windows.
    low, high
        95 % interval of resampled windows.
    excess
        Excess over the best law, window by window: mean and 95 % interval.
    parameters
        Number of identified parameters.
    values
        Parameters fitted to all windows.
    dt
        Step size, in s.
    is_indistinguishable
        Whether the data cannot distinguish it from the best.
    """

    law: str
    error: float
    low: float
    high: float
    excess: tuple[float, float, float]
    parameters: int
    values: dict[str, float]
    dt: float
    is_indistinguishable: bool = False


@dataclass(frozen=True)
class LawRanking:
    """Contact laws in order of increasing error.

    Attributes
    ----------
    laws
        The laws.
    chosen
        Of the laws that the data cannot distinguish from the best, the one with the fewest
        parameters.
    failed
        Laws that could not be identified, and why.
    windows, folds
        Number of windows and folds of the cross-validation.
    """

    laws: tuple[RankedLaw, ...]
    chosen: str
    failed: tuple[str, ...]
    windows: int
    folds: int


def rank_laws(
    spec: IdentificationSpec | Mapping[str, Any] | str | Path,
    laws: str | Sequence[str] = "all",
    logs: Any = None,
    threads: int = 1,
    on_progress: ProgressCallback = lambda text: None,
) -> LawRanking:
    """Rank contact laws by how well they predict windows that were not used to identify them.

    Parameters
    ----------
    spec : IdentificationSpec, dict, str or Path
        Specification, as for `identify`; `hold_out` is not used.
    laws : str or sequence of str
        "all", or names of laws and paths of Python files.
    logs : optional
        Logs, as for `identify`.
    threads : int
        Number of threads; the result does not depend on it.
    on_progress : callable
        Called with progress messages.

    Returns
    -------
    LawRanking
        The laws in order of increasing error, and the recommended one.

    Raises
    ------
    UnmetCondition
        If there are fewer than two windows.
    TarsusError
        If no law can be identified.

    Examples
    --------
    >>> import tarsus
    >>> simulation = tarsus.Simulation("mini_cheetah", controller="trot")
    >>> log = simulation.run(0.4)
    >>> spec = {
    ...     "free": {"law.mu": {"low": 0.2, "high": 1.2}},
    ...     "search": {"windows": 4, "candidates": 4, "tries": 1, "folds": 2},
    ... }
    >>> ranking = tarsus.rank_laws(spec, ["moreau"], logs=log)
    >>> ranking.chosen
    'moreau'
    """
    names = registry.names(LAWS) if laws == "all" else [laws] if isinstance(laws, str) else laws
    prepared = prepare_data(spec, logs)
    both = (prepared.train, prepared.test)
    all_windows = replace(
        both[0],
        indices=np.concatenate([w.indices for w in both]),
        first=np.concatenate([w.first for w in both]),
    )
    order = np.lexsort((all_windows.first, all_windows.indices))
    all_windows = all_windows.subset(order)
    search = prepared.spec.search
    fold_count = min(search["folds"], len(all_windows))
    if fold_count < 2:
        raise UnmetCondition(
            "ranking laws by cross-validation needs at least two windows, not"
            f" {len(all_windows)}: choose a shorter search.window or give a longer log.",
            "search.window",
        )
    fold = windows.assign_folds(len(all_windows), fold_count, search["seed"])
    # each law on each fold
    ranked: list[tuple[RankedLaw, Array]] = []
    failed: list[TarsusError] = []
    for name in names:
        on_progress(f"{name}: {len(all_windows)} windows, {fold_count} folds")
        try:
            ranked.append(_cross_validate(name, prepared, all_windows, fold, threads))
        except TarsusError as error:
            failed.append(error.with_context(name))
    if not ranked:
        raise failed[0].with_context("no law could be identified")
    return LawRanking(
        *_rank(ranked, search["seed"]), tuple(map(str, failed)), len(all_windows), fold_count
    )


def configured_law(name: str, model: Mapping[str, Any]) -> tuple[Law, frozenset[str]]:
    """Configure a law with the parameters that [model] gives it; return it and their names."""
    law = resolve.resolve_law(name)
    given = {n.partition(".")[2]: v for n, v in model.items() if n.startswith("law.")}
    known = {n: v for n, v in given.items() if n in declared_fields(type(law))}
    return (replace(law, **known) if known else law), frozenset(known)


def law_unknowns(
    law: Law, requested: Sequence[Unknown], known: frozenset[str] = frozenset()
) -> tuple[Unknown, ...]:
    """List the unknowns of a law.

    They are those that the specification frees, the law's default ranges except for known
    parameters, and the unknowns that do not belong to a law.
    """
    others = [one for one in requested if one.part != "law"]
    freed = {
        one.parameter: one
        for one in requested
        if one.part == "law" and one.parameter in declared_fields(type(law))
    }
    defaults = []
    for name, within in default_ranges(name_of(law), law).items():
        if getattr(law, name) is not None and name not in {*freed, *known}:
            defaults.append(Unknown(f"law.{name}", within))
    return (*freed.values(), *defaults, *others)


def _cross_validate(
    name: str, prepared: PreparedData, all_windows: Windows, fold: NDArray[np.int64], threads: int
) -> tuple[RankedLaw, Array]:
    """Compute the error of each window, (W,), under a law identified without that window."""
    law, known = configured_law(name, prepared.spec.model)
    parts = _with_short_steps(replace(prepared.parts, law=law))
    unknowns = law_unknowns(law, prepared.spec.unknowns, known)
    candidates = Candidates(parts, unknowns)
    rollouts = Rollouts(candidates, all_windows, prepared.noise, threads)
    # fit all windows, then all but each fold
    search = prepared.spec.search
    problem = LeastSquares(rollouts, search["starts"])
    first = np.array([o.range.share(v) for o, v in zip(unknowns, candidates.start, strict=True)])
    starting = initial_guesses(problem, first, search, lambda text: None)
    best = solve_from(problem, starting, search, lambda text: None)
    error = np.empty(len(all_windows))
    for k in range(int(fold.max()) + 1):
        inside = LeastSquares(
            rollouts.with_windows(all_windows.subset(fold != k)), search["starts"]
        )
        fit = inside.search(best.shares, best.starts[fold != k], FOLD_ROUNDS)
        outside = LeastSquares(
            rollouts.with_windows(all_windows.subset(fold == k)), search["starts"]
        )
        error[fold == k] = _compute_window_errors(outside.fit_window_starts(fit.shares))
    values = {o.name: float(o.range.at(s)) for o, s in zip(unknowns, best.shares, strict=True)}
    unranked = (0.0, 0.0, 0.0)
    mean, low, high = mean_interval(error, RESAMPLES, search["seed"])
    return RankedLaw(name, mean, low, high, unranked, len(unknowns), values, parts.dt), error


def _compute_window_errors(fit: Fit) -> Array:
    """Compute the RMS of each window's residuals, including the shift of its start.

    Large residuals count linearly.
    """
    size = fit.residuals[0].size
    return np.sqrt(2 * fit.window_costs / size)


def _with_short_steps(parts: ModelParts) -> ModelParts:
    """Shorten the steps of the model as far as springs require."""
    law = parts.law
    springs = names_with_role(type(law), "stiffness") or (law.at_instants and not law.impulsive)
    if not springs or parts.dt <= MAX_SPRING_DT:
        return parts
    return replace(parts, dt=parts.dt / int(np.ceil(parts.dt / MAX_SPRING_DT - 1e-9)))


def _rank(
    results: Sequence[tuple[RankedLaw, Array]], seed: int
) -> tuple[tuple[RankedLaw, ...], str]:
    """Sort the laws by increasing error, and select the recommended one."""
    order = sorted(results, key=lambda pair: pair[0].error)
    best_errors = order[0][1]
    laws = []
    for law, error in order:
        behind = mean_interval(error - best_errors, RESAMPLES, seed)
        laws.append(replace(law, excess=behind, is_indistinguishable=bool(behind[1] <= 0)))
    good = [law for law in laws if law.is_indistinguishable]
    return tuple(laws), min(good, key=lambda law: (law.parameters, law.error)).law
