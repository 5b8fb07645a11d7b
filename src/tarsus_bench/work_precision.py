"""`tarsus bench --precision`: error of a motion over the processor time that it takes.

Each simulator and variant computes the cases of `precision_cases` at several step sizes, in a
process on its own. The error of a run is its largest distance from the exact motion where there is
one, and otherwise from the same variant at `REFERENCE_DT`, its limit. Contact models differ, so the
distance of each limit from that of Tarsus's default is reported too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.program.run import machine
from tarsus_bench import precision_cases
from tarsus_bench.peer_bench import REFERENCE, TIMEOUT, find_simulators, pinned_core
from tarsus_bench.peer_process import PEERS, EngineError, EngineProcess
from tarsus_bench.precision_cases import INTERVAL, PrecisionCase, largest_difference

Array = NDArray[np.float64]
DTS = (0.01, 0.005, 0.0025, 0.001, 0.0005)  # s
REFERENCE_DT = 0.0001  # s
ROUNDS = 3  # of timing
BATCHES = ("batch", "batch_float32", "rollout")  # variants that compute what others do
SLOW = ("jaxsim", "newton")  # simulators that are measured only if named


@dataclass(frozen=True)
class PrecisionPoint:
    """Error and time of one run."""

    dt: float
    """Step size, s."""
    error: float
    """Largest distance from the exact motion or from the limit, in the case's unit."""
    time: float
    """Processor time per simulated second, s."""


@dataclass(frozen=True, eq=False)
class PrecisionCurve:
    """Runs of one variant in one case."""

    case: str
    """Name of the case."""
    engine: str
    """Name of the simulator."""
    variant: str
    """Name of its variant, empty for its default."""
    points: tuple[PrecisionPoint, ...]
    """Runs that ended with a finite state, in the order of `DTS`."""
    limit: Array | None
    """Motion of this variant at `REFERENCE_DT`, (samples, k); None for exact cases."""
    failures: Mapping[str, str]
    """Reasons of failed runs, by step size."""

    @property
    def label(self) -> str:
        """Name of the simulator with its variant."""
        return f"{self.engine} {self.variant}".strip()


def measure(
    names: Sequence[str] | None = None,
    case_names: Sequence[str] | None = None,
    dts: Sequence[float] = DTS,
    progress: Callable[[str], None] = lambda text: None,
    variants: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Measure all curves and return them as JSON values.

    Parameters
    ----------
    names
        Names of simulators; by default all that are installed, except `SLOW`.
    case_names
        Names of cases; by default all.
    dts
        Step sizes, in s.
    progress
        Function that is called with the current measurement.
    variants
        Names of variants; by default all except `BATCHES`.

    Raises
    ------
    TarsusError
        If a name is unknown, no simulator is installed, or a robot's file is missing.
    """
    chosen = [n for n in registry.names(PEERS) if n not in SLOW] if names is None else list(names)
    chosen.sort(key=lambda name: name != REFERENCE)  # the first row of tables
    classes, missing = find_simulators(chosen)
    cases = precision_cases.cases()
    selected = {name: cases[name] for name in case_names or cases}
    exact = {name: case.exact() for name, case in selected.items() if case.exact is not None}
    curves: list[PrecisionCurve] = []
    settings: dict[str, Any] = {}
    core = pinned_core()
    for name, each in classes.items():
        for variant in each.variants:
            if variant in BATCHES or (variants is not None and variant not in variants):
                continue
            with EngineProcess(name, variant, core) as process:
                for key, case in selected.items():
                    progress(f"{name} {variant}".strip() + f": {key}")
                    run = _Run(process, key, case)
                    curves.append(run.curve(name, variant, dts, exact.get(key)))
                    settings[curves[-1].label] = run.settings
    limits = {curve.case: curve.limit for curve in curves if curve.label == REFERENCE}
    return {
        "curves": [_as_json(curve, limits.get(curve.case)) for curve in curves],
        "cases": {
            name: {"title": case.title, "error": case.error, "exact": case.exact is not None}
            for name, case in selected.items()
        },
        "engines": settings,
        "missing": {row["engine"]: row["install"] for row in missing},
        "settings": {
            "processor": f"{machine.detect_host().cpu}, {os.cpu_count()} cores",
            "time": f"processor time of the motion on one core, median of {ROUNDS}",
            "reference": f"the same variant at dt = {1e3 * REFERENCE_DT:g} ms, or the exact motion",
            "error": f"largest distance at the multiples of {1e3 * INTERVAL:g} ms",
        },
    }


class _Run:
    """Runs of one variant in one case."""

    def __init__(self, process: EngineProcess, name: str, case: PrecisionCase) -> None:
        self._process, self._name, self._case = process, name, case
        self.settings: dict[str, str] = {}

    def curve(
        self, engine: str, variant: str, dts: Sequence[float], exact: Array | None
    ) -> PrecisionCurve:
        """Measure the error and the time at each step size."""
        failures: dict[str, str] = {}
        points: list[PrecisionPoint] = []
        limit = None
        if exact is None:
            try:
                limit = self._motion(REFERENCE_DT)
            except EngineError as error:
                failures[f"{1e3 * REFERENCE_DT:g} ms"] = str(error)
        reference = limit if exact is None else exact
        for dt in dts:
            if reference is None:
                break
            try:
                motion = self._motion(dt)
                time = self._time(dt)
            except EngineError as error:
                failures[f"{1e3 * dt:g} ms"] = str(error)
                continue
            points.append(PrecisionPoint(dt, largest_difference(motion, reference), time))
        return PrecisionCurve(self._name, engine, variant, tuple(points), limit, failures)

    def _motion(self, dt: float) -> Array:
        """Return the compared quantity at the samples, shape (samples, k)."""
        key, case = f"{self._name}, {dt:g}", self._case
        about = self._process.ask(TIMEOUT, "build", key, case.motion.work(dt))
        self.settings = about["settings"]
        q, _ = self._process.ask(TIMEOUT, "trace", key, case.motion.seconds, INTERVAL)
        if len(q) < len(case.times) or not np.isfinite(q).all():
            raise EngineError(f"the state is not finite after {INTERVAL * (len(q) - 1):g} s")
        return case.compared(q)

    def _time(self, dt: float) -> float:
        """Return the processor time per simulated second, median of `ROUNDS`, in s."""
        key, seconds = f"{self._name}, {dt:g}", self._case.motion.seconds
        rounds = [self._process.ask(TIMEOUT, "time_motion", key, seconds) for _ in range(ROUNDS)]
        return median(rounds) / seconds


def _as_json(curve: PrecisionCurve, other_limit: Array | None) -> dict[str, Any]:
    """Convert a curve to JSON values, with the distance of its limit from another one."""
    difference = None
    if curve.limit is not None and other_limit is not None:
        difference = largest_difference(curve.limit, other_limit)
    return {
        "case": curve.case,
        "simulator": curve.label,
        "points": [vars(point) for point in curve.points],
        "limit_difference": difference,
        "failures": dict(curve.failures),
    }
