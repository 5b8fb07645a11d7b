"""`tarsus bench --precision`: error of a motion over the processor time that it takes.

Each simulator and variant computes the cases of `precision_cases` at several step sizes, in a
process on its own. The error of a run is its largest distance from the exact motion where there is
one, and otherwise from the same variant at `REFERENCE_DT`, its limit. The distance of that limit
from the one of Tarsus's default is reported separately: it contains the difference of the contact
models.
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
from tarsus.errors import MissingPackage
from tarsus.installation import package_install_command
from tarsus.program.run import machine
from tarsus_bench import precision_cases
from tarsus_bench.peer_bench import REFERENCE, TIMEOUT, pinned_core
from tarsus_bench.peer_process import PEERS, EngineError, EngineProcess, engine_class
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


@dataclass(frozen=True)
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
    limit_difference: float | None
    """Largest distance between the limit and that of Tarsus's default; None for exact cases."""
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
    chosen.sort(key=lambda name: name != REFERENCE)  # its limits are needed first
    classes = {name: engine_class(name) for name in chosen}
    missing = {
        name: package_install_command(*each.distributions)
        for name, each in classes.items()
        if not each.installed()
    }
    if len(missing) == len(classes):
        raise MissingPackage(
            "none of these simulators is installed: "
            + "; ".join(f"{name}: {command}" for name, command in missing.items())
            + ".",
            next(iter(missing)),
        )
    cases = precision_cases.cases()
    selected = {name: cases[name] for name in case_names or cases}
    exact = {name: case.exact() for name, case in selected.items() if case.exact is not None}
    curves: list[PrecisionCurve] = []
    settings: dict[str, Any] = {}
    limits: dict[str, Array] = {}  # of Tarsus's default, by case
    for name, each in classes.items():
        for variant in () if name in missing else each.variants:
            if variant in BATCHES or (variants is not None and variant not in variants):
                continue
            with EngineProcess(name, variant, pinned_core()) as process:
                for key, case in selected.items():
                    progress(f"{name} {variant}".strip() + f": {key}")
                    run = _Run(process, key, case)
                    curves.append(run.curve(name, variant, dts, exact.get(key), limits))
                    settings[curves[-1].label] = run.settings
    return {
        "curves": [_as_json(curve) for curve in curves],
        "cases": {
            name: {"title": case.title, "error": case.error, "exact": case.exact is not None}
            for name, case in selected.items()
        },
        "engines": settings,
        "missing": missing,
        "settings": {
            "processor": f"{machine.host().cpu}, {os.cpu_count()} cores",
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
        self,
        engine: str,
        variant: str,
        dts: Sequence[float],
        exact: Array | None,
        limits: dict[str, Array],
    ) -> PrecisionCurve:
        """Measure the curve; add the limit of Tarsus's default to `limits`."""
        failures: dict[str, str] = {}
        difference, reference = None, exact
        try:
            if exact is None:
                reference = self._motion(REFERENCE_DT)
                if (engine, variant) == (REFERENCE, ""):
                    limits[self._name] = reference
                if self._name in limits:
                    difference = largest_difference(reference, limits[self._name])
        except EngineError as error:
            failures[f"{1e3 * REFERENCE_DT:g} ms"] = str(error)
        points = []
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
        return PrecisionCurve(self._name, engine, variant, tuple(points), difference, failures)

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


def _as_json(curve: PrecisionCurve) -> dict[str, Any]:
    """Convert a curve to JSON values."""
    return {
        "case": curve.case,
        "simulator": curve.label,
        "points": [vars(point) for point in curve.points],
        "limit_difference": curve.limit_difference,
        "failures": dict(curve.failures),
    }
