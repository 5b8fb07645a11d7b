"""Identification: from logs to estimates, intervals and errors on held-out windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from tarsus.errors import InvalidValue
from tarsus.identification import evolution, windows
from tarsus.identification.candidates import Candidates, ModelParts
from tarsus.identification.estimates import Estimate, make_estimates
from tarsus.identification.intervals import profile_intervals
from tarsus.identification.least_squares import Fit, LeastSquares
from tarsus.identification.model_parts import create_model_parts, load_robot
from tarsus.identification.recording import (
    MotionLog,
    find_matching_files,
    open_log,
    read_motion_log,
)
from tarsus.identification.rollouts import Rollouts
from tarsus.identification.spec import IdentificationSpec, parse_spec, read_spec
from tarsus.identification.unknowns import Unknown
from tarsus.identification.windows import Noise, Windows
from tarsus.parameters import name_of

Array = NDArray[np.float64]
ProgressCallback = Callable[[str], None]
SCATTER_WIDTHS = (0.1, 0.03, 0.01)  # of candidates about the best ones, in units of the ranges
FINAL_WIDTHS = (0.003, 0.001)  # of candidates about the result of least squares


@dataclass(frozen=True)
class WindowError:
    """Error of one window.

    Attributes
    ----------
    log
        Index of its log.
    start
        Its start within the used part of the log, in s.
    held_out
        Whether the window was held out of the fit.
    before, after
        Root mean square residual, in standard deviations of the noise, at the first guess (None
        for held-out windows) and at the estimates.
    """

    log: int
    start: float
    held_out: bool
    before: float | None
    after: float


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of an identification.

    Attributes
    ----------
    law
        Name of the contact law.
    estimates
        Estimates of the unknowns.
    derived
        Inertias that follow from them.
    correlated
        Strongly correlated pairs, with their correlation.
    remarks
        Remarks on the result.
    before, after, held_out
        Root mean square residuals by quantity, in standard deviations of the noise, at the first
        guess, at the estimates, and on held-out windows (empty without any). The initial state of
        each window is fitted.
    deviation
        Standard deviation of the residuals, in units of the noise.
    windows
        Number of used and of held-out windows.
    window_errors
        Error of each window, in the order of the logs.
    rounds
        Rounds of the search.
    converged
        Whether the identification converged.
    simulated
        Number of windows simulated in total.
    """

    law: str
    estimates: tuple[Estimate, ...]
    derived: tuple[Estimate, ...]
    correlated: tuple[tuple[str, str, float], ...]
    remarks: tuple[str, ...]
    before: dict[str, float]
    after: dict[str, float]
    held_out: dict[str, float]
    deviation: float
    windows: tuple[int, int]
    window_errors: tuple[WindowError, ...]
    rounds: int
    converged: bool
    simulated: int

    def __getitem__(self, name: str) -> Estimate:
        for one in (*self.estimates, *self.derived):
            if one.name == name:
                return one
        raise KeyError(name)


@dataclass(frozen=True, eq=False)
class PreparedData:
    """Logs, model, and the windows that are used for fitting and held out."""

    spec: IdentificationSpec
    logs: tuple[MotionLog, ...]
    parts: ModelParts
    noise: Noise
    train: Windows
    test: Windows


def identify(
    spec: IdentificationSpec | Mapping[str, Any] | str | Path,
    logs: Any = None,
    threads: int = 1,
    on_progress: ProgressCallback = lambda text: None,
) -> Identification:
    """Identify parameters of robot, contact and ground from logs.

    Equal seeds give equal bits for any number of threads.

    Parameters
    ----------
    spec : IdentificationSpec, dict, str or Path
        Specification, the tables of its TOML file, or the path of that file.
    logs : optional
        One log or several, instead of the files of the specification: Datasets, or mappings with
        arrays `time`, `q`, `u` and `action`.
    threads : int
        Number of threads.
    on_progress : callable
        Called with progress messages.

    Returns
    -------
    Identification
        Estimates with 95 % intervals, and residuals.

    Raises
    ------
    TarsusError
        For bad input.

    Examples
    --------
    >>> import tarsus
    >>> simulation = tarsus.Simulation("mini_cheetah", controller="trot")
    >>> log = simulation.run(0.4)
    >>> spec = {
    ...     "free": {"mass.base": {"low": 1.0, "high": 10.0}},
    ...     "search": {"windows": 4, "candidates": 4, "tries": 1, "scan": False},
    ... }
    >>> result = tarsus.identify(spec, logs=log)
    >>> result["mass.base"].unit
    'kg'
    """
    prepared = prepare_data(spec, logs)
    return identify_model(prepared, prepared.spec.unknowns, prepared.parts, threads, on_progress)


def prepare_data(
    spec: IdentificationSpec | Mapping[str, Any] | str | Path, logs: Any = None
) -> PreparedData:
    """Load logs and model of a specification, and cut windows."""
    checked = spec if isinstance(spec, IdentificationSpec) else None
    if checked is None:
        checked = parse_spec(spec) if isinstance(spec, Mapping) else read_spec(Path(spec))  # type: ignore[arg-type]
    # logs
    if logs is None:
        given = [
            open_log(path) for file in checked.files for path in find_matching_files(Path(file))
        ]
    else:
        given = list(logs) if isinstance(logs, list | tuple) else [logs]
    if not given:
        raise InvalidValue(
            'an identification needs a log: set files = ["run.nc"] under [log].', "log.files"
        )
    robot = load_robot(checked.model, given[0])
    motions = [
        read_motion_log(log, robot, checked.action).between(*checked.span).resample(checked.sample)
        for log in given
    ]
    parts = create_model_parts(checked.model, given[0], robot, motions[0].dt)
    parts = replace(parts, measured=checked.measured)
    # windows
    search = checked.search
    all_windows = windows.cut_windows(motions, search["window"], search["every"], search["windows"])
    train, test = windows.split_held_out(all_windows, search["hold_out"], search["seed"])
    noise = windows.read_noise(checked.compare, robot)
    return PreparedData(checked, tuple(motions), parts, noise, train, test)


def identify_model(
    prepared: PreparedData,
    unknowns: Sequence[Unknown],
    parts: ModelParts,
    threads: int = 1,
    on_progress: ProgressCallback = lambda text: None,
) -> Identification:
    """Identify the unknowns of one model."""
    search = prepared.spec.search
    on_progress(f"compiling {parts.robot.name} under {name_of(parts.law)}")
    candidates = Candidates(parts, unknowns)
    rollouts = Rollouts(candidates, prepared.train, prepared.noise, threads)
    problem = LeastSquares(rollouts, search["starts"])
    first = np.array([o.range.share(v) for o, v in zip(unknowns, candidates.start, strict=True)])
    # search
    before = problem.fit_window_starts(first)
    starting = initial_guesses(problem, first, search, on_progress)
    fit = solve_from(problem, starting, search, on_progress)
    ends = np.stack([fit.shares, fit.shares], 1)
    if search["scan"]:
        on_progress("intervals by profiles")
        fit, ends = profile_intervals(problem, fit)
    # estimates, and held-out windows
    result = make_estimates(candidates, fit, first, ends)
    held_out_errors: dict[str, float] = {}
    each, test_evaluations = _compute_window_errors(prepared.train, before, fit), 0
    if len(prepared.test):
        on_progress("held-out windows")
        test_problem = LeastSquares(rollouts.with_windows(prepared.test), search["starts"])
        test_fit = test_problem.fit_window_starts(fit.shares)
        held_out_errors = _compute_errors(test_problem.rollouts, test_fit)
        each += _compute_window_errors(prepared.test, None, test_fit)
        test_evaluations = test_problem.rollouts.evaluations
    return Identification(
        name_of(parts.law),
        result.estimates,
        result.derived,
        result.correlated,
        result.remarks,
        _compute_errors(rollouts, before),
        _compute_errors(rollouts, fit),
        held_out_errors,
        result.deviation,
        (len(prepared.train), len(prepared.test)),
        tuple(sorted(each, key=lambda one: (one.log, one.start))),
        fit.rounds,
        fit.converged,
        rollouts.evaluations + test_evaluations,
    )


def solve_from(
    problem: LeastSquares,
    guesses: Sequence[Array],
    search: Mapping[str, Any],
    on_progress: ProgressCallback,
) -> Fit:
    """Solve least squares from several initial guesses; return the best result.

    It is improved once more from the best of random candidates about it: contacts make steps in the
    cost that a small step does not cross.
    """
    fits: list[Fit] = []
    for k, begin in enumerate(guesses):
        on_progress(f"least squares, {k + 1} of {len(guesses)}")
        fits.append(problem.solve(begin))
    best = min(fits, key=lambda one: one.cost)
    random, each = np.random.default_rng(search["seed"]), max(search["candidates"] // 2, 1)
    samples = [best.shares[None]]
    for width in FINAL_WIDTHS:
        samples.append(best.shares + width * random.standard_normal((each, len(best.shares))))
    candidates = np.clip(np.concatenate(samples), 0, 1)
    best_index = int(np.argmin(problem.costs(candidates)))
    if not best_index:
        return best
    on_progress("least squares, once more")
    again = problem.solve(candidates[best_index])
    return again if again.cost < best.cost else best


def initial_guesses(
    problem: LeastSquares, first: Array, search: Mapping[str, Any], on_progress: ProgressCallback
) -> list[Array]:
    """Choose the shares from which least squares start: first guess and best candidates."""
    seed, count = search["seed"], search["candidates"]
    if search["method"] == "cma":
        on_progress("CMA-ES")
        return [evolution.minimize(problem.costs, first, seed, count)]
    # over all ranges, then about the best, closer each time
    random = np.random.default_rng(seed)
    power = max(int(np.ceil(np.log2(max(count, 2)))), 1)
    samples = qmc.Sobol(len(first), rng=random).random_base2(power)[:count]
    tried, costs = np.zeros((0, len(first))), np.zeros(0)
    for width in (0.0, *SCATTER_WIDTHS):
        if width:
            best = tried[np.argsort(costs, kind="stable")[: search["tries"]]]
            centers = np.repeat(best, -(-count // (2 * len(best))), 0)
            samples = np.clip(centers + width * random.standard_normal(centers.shape), 0, 1)
        else:
            samples = np.concatenate([first[None], samples])
        on_progress(f"{len(samples)} candidates")
        tried, costs = np.concatenate([tried, samples]), np.append(costs, problem.costs(samples))
    return list(tried[np.argsort(costs, kind="stable")[: search["tries"]]])


def _compute_errors(rollouts: Rollouts, fit: Fit) -> dict[str, float]:
    """Compute root mean square residuals, in deviations, by quantity and in all."""
    errors = {
        name: float(np.sqrt(np.mean(fit.residuals[..., columns] ** 2)))
        for name, columns in rollouts.quantities.items()
    }
    return errors | {"all": float(np.sqrt(np.mean(fit.residuals**2)))}


def _compute_window_errors(windows: Windows, before: Fit | None, after: Fit) -> list[WindowError]:
    """Compute the errors of used windows, or of held-out ones, which have no `before`."""
    first, last = (
        None if fit is None else np.sqrt((fit.residuals**2).mean((1, 2))) for fit in (before, after)
    )
    assert last is not None
    return [
        WindowError(
            int(log),
            float(start * windows.logs[log].dt),
            first is None,
            None if first is None else float(first[k]),
            float(last[k]),
        )
        for k, (log, start) in enumerate(zip(windows.indices, windows.first, strict=True))
    ]
