"""`tarsus identify`: from logs to estimates, their intervals, and errors on what was held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from tarsus.errors import InvalidValue
from tarsus.identification import evolution, windows
from tarsus.identification.candidates import Candidates, ModelParts
from tarsus.identification.intervals import scanned
from tarsus.identification.least_squares import Fitted, LeastSquares
from tarsus.identification.model_parts import model_parts, robot_in
from tarsus.identification.recording import MotionLog, matching, motion, opened_log
from tarsus.identification.rollouts import Rollouts
from tarsus.identification.spec import IdentificationSpec, read_spec, spec_of
from tarsus.identification.unknowns import Unknown
from tarsus.identification.verdict import Estimate, verdict
from tarsus.identification.windows import Noise, Windows
from tarsus.parameters import name_of

Array = NDArray[np.float64]
Tell = Callable[[str], None]
NEAR = (0.1, 0.03, 0.01)  # of the ranges: how far candidates scatter about the best ones
AFTER = (0.003, 0.001)  # about where least squares ended


@dataclass(frozen=True)
class WindowError:
    """How well a window is repeated.

    log: which one; start: s, from the start of the log's part; held_out: whether it had no part
    before, after: root of the mean squared residual, in deviations, at the first guess (None of
        what was held out) and at the estimates
    """

    log: int
    start: float
    held_out: bool
    before: float | None
    after: float


@dataclass(frozen=True, eq=False)
class Identification:
    """What was identified, and how well the model then repeats the logs.

    derived: inertias that the unknowns make; correlated: pairs with their correlation
    sentences: what a reader must know
    before, after, held_out: root of the mean squared residual by quantity, in deviations of the
        noise, windows' starts fitted: at the first guess, at the estimates, and of windows that had
        no part in it; held_out is empty without any
    windows: how many, not held out and held out; each: all of them, in the order of the logs
    simulated: windows simulated in all
    """

    law: str
    estimates: tuple[Estimate, ...]
    derived: tuple[Estimate, ...]
    correlated: tuple[tuple[str, str, float], ...]
    sentences: tuple[str, ...]
    before: dict[str, float]
    after: dict[str, float]
    held_out: dict[str, float]
    deviation: float
    windows: tuple[int, int]
    each: tuple[WindowError, ...]
    rounds: int
    settled: bool
    simulated: int

    def __getitem__(self, name: str) -> Estimate:
        for one in (*self.estimates, *self.derived):
            if one.name == name:
                return one
        raise KeyError(name)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Logs, model, and windows to identify with and held out."""

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
    tell: Tell = lambda text: None,
) -> Identification:
    """Identify the parameters that a spec frees.

    spec: the path of a TOML file, tables as it has them, or an `IdentificationSpec`
    logs: one or several in place of the spec's files: Datasets, or arrays `time`, `q`, `u`,
        `action` by name
    The same bits for one seed, whatever the threads. TarsusError for bad input.
    """
    prepared = prepare(spec, logs)
    return identified(prepared, prepared.spec.unknowns, prepared.parts, threads, tell)


def prepare(
    spec: IdentificationSpec | Mapping[str, Any] | str | Path, logs: Any = None
) -> Prepared:
    """The logs, the model and the windows."""
    asked = spec if isinstance(spec, IdentificationSpec) else None
    if asked is None:
        asked = spec_of(spec) if isinstance(spec, Mapping) else read_spec(Path(spec))  # type: ignore[arg-type]
    # the logs
    if logs is None:
        given = [opened_log(path) for file in asked.files for path in matching(Path(file))]
    else:
        given = list(logs) if isinstance(logs, list | tuple) else [logs]
    if not given:
        raise InvalidValue(
            'an identification needs a log: set files = ["run.nc"] under [log].', "log.files"
        )
    robot = robot_in(asked.model, given[0])
    moved = [
        motion(log, robot, asked.action).between(*asked.span).sampled(asked.sample) for log in given
    ]
    parts = model_parts(asked.model, given[0], robot, moved[0].dt)
    # the windows
    search = asked.search
    whole = windows.cut(moved, search["window"], search["every"], search["windows"])
    train, test = windows.held_out(whole, search["hold_out"], search["seed"])
    noise = windows.noise_of(asked.compare, robot)
    return Prepared(asked, tuple(moved), parts, noise, train, test)


def identified(
    prepared: Prepared,
    unknowns: Sequence[Unknown],
    parts: ModelParts,
    threads: int = 1,
    tell: Tell = lambda text: None,
) -> Identification:
    """Of one model and its unknowns."""
    search = prepared.spec.search
    tell(f"compiling {parts.robot.name} under {name_of(parts.law)}")
    candidates = Candidates(parts, unknowns)
    rollouts = Rollouts(candidates, prepared.train, prepared.noise, threads)
    problem = LeastSquares(rollouts, search["starts"])
    first = np.array([o.range.share(v) for o, v in zip(unknowns, candidates.start, strict=True)])
    # where searches begin, and where they end
    before = problem.settle(first)
    starting = begins(problem, first, search, tell)
    found = solved(problem, starting, search, tell)
    ends = np.stack([found.shares, found.shares], 1)
    if search["scan"]:
        tell("intervals: each unknown aside")
        found, ends = scanned(problem, found)
    # what it says, and what was held out
    said = verdict(candidates, found, first, ends)
    held: dict[str, float] = {}
    each, others = _by_window(prepared.train, before, found), 0
    if len(prepared.test):
        tell("windows that were held out")
        again = LeastSquares(rollouts.on(prepared.test), search["starts"])
        apart = again.settle(found.shares)
        held = _errors(again.rollouts, apart)
        each += _by_window(prepared.test, None, apart)
        others = again.rollouts.evaluations
    return Identification(
        name_of(parts.law),
        said.estimates,
        said.derived,
        said.correlated,
        said.sentences,
        _errors(rollouts, before),
        _errors(rollouts, found),
        held,
        said.deviation,
        (len(prepared.train), len(prepared.test)),
        tuple(sorted(each, key=lambda one: (one.log, one.start))),
        found.rounds,
        found.settled,
        rollouts.evaluations + others,
    )


def solved(
    problem: LeastSquares, starting: Sequence[Array], search: Mapping[str, Any], tell: Tell
) -> Fitted:
    """The best end of least squares from several beginnings, and once more from the best of
    candidates about it: what a contact makes of the cost has steps that a small one does not pass.
    """
    found: list[Fitted] = []
    for k, begin in enumerate(starting):
        tell(f"least squares, {k + 1} of {len(starting)}")
        found.append(problem.solve(begin))
    best = min(found, key=lambda one: one.cost)
    random, each = np.random.default_rng(search["seed"]), max(search["candidates"] // 2, 1)
    drawn = [best.shares[None]]
    for width in AFTER:
        drawn.append(best.shares + width * random.standard_normal((each, len(best.shares))))
    near = np.clip(np.concatenate(drawn), 0, 1)
    first = int(np.argmin(problem.costs(near)))
    if not first:
        return best
    tell("least squares, once more")
    again = problem.solve(near[first])
    return again if again.cost < best.cost else best


def begins(
    problem: LeastSquares, first: Array, search: Mapping[str, Any], tell: Tell
) -> list[Array]:
    """Shares at which least squares begin: the first guess, and the best of many candidates."""
    seed, count = search["seed"], search["candidates"]
    if search["method"] == "cma":
        tell("CMA-ES")
        return [evolution.best(problem.costs, first, seed, count)]
    # over all ranges, then near the best, nearer each time
    random = np.random.default_rng(seed)
    power = max(int(np.ceil(np.log2(max(count, 2)))), 1)
    drawn = qmc.Sobol(len(first), rng=random).random_base2(power)[:count]
    tried, costs = np.zeros((0, len(first))), np.zeros(0)
    for width in (0.0, *NEAR):
        if width:
            best = tried[np.argsort(costs, kind="stable")[: search["tries"]]]
            centers = np.repeat(best, -(-count // (2 * len(best))), 0)
            drawn = np.clip(centers + width * random.standard_normal(centers.shape), 0, 1)
        else:
            drawn = np.concatenate([first[None], drawn])
        tell(f"{len(drawn)} candidates")
        tried, costs = np.concatenate([tried, drawn]), np.append(costs, problem.costs(drawn))
    return list(tried[np.argsort(costs, kind="stable")[: search["tries"]]])


def _errors(rollouts: Rollouts, found: Fitted) -> dict[str, float]:
    """Roots of mean squared residuals, in deviations, by quantity and over all."""
    each = {
        name: float(np.sqrt(np.mean(found.residuals[..., at] ** 2)))
        for name, at in rollouts.quantities.items()
    }
    return each | {"all": float(np.sqrt(np.mean(found.residuals**2)))}


def _by_window(windows: Windows, before: Fitted | None, after: Fitted) -> list[WindowError]:
    """Of windows that took part, or of those that were held out, which have no `before`."""
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
        for k, (log, start) in enumerate(zip(windows.which, windows.first, strict=True))
    ]
