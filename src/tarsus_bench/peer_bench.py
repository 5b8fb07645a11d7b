"""`tarsus bench --peers`: speed and errors of Tarsus and other simulators in the same scenes.

Each simulator runs in a separate process. All processes share one core and take turns.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from tarsus import registry
from tarsus.errors import MissingPackage
from tarsus.installation import package_install_command
from tarsus.program.run import machine
from tarsus_bench import peer_cases, quoted
from tarsus_bench.peer_cases import PeerCase
from tarsus_bench.peer_errors import compute_errors
from tarsus_bench.peer_process import (
    PEERS,
    SETTLE,
    EngineError,
    EngineProcess,
    engine_class,
)
from tarsus_bench.peers.base import PeerSession

Progress = Callable[[str], None]
STANDING = "stand"  # the case whose speed is measured
REFERENCE = "tarsus"  # simulator with which the others are compared
TIMEOUT = 300.0  # s for one answer of a simulator; some compile for a minute


@dataclass(frozen=True)
class PeerSizes:
    """Size of the benchmark."""

    dts: tuple[float, ...] = (0.01, 0.005, 0.0025, 0.001)
    """Step sizes, s."""
    rounds: int = 5
    """Number of rounds of timing."""
    block: float = 0.2
    """Processor time of each measurement in a round, s."""
    share: float = 1.0
    """Fraction of each case's duration that is simulated, 0 to 1."""
    cases: tuple[str, ...] = ("stand", "flight", "fall")
    """Names of the cases."""


@dataclass(eq=False)
class _Runner:
    """Variant of a simulator with its results by step size."""

    engine: str
    variant: str
    process: EngineProcess
    metadata: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    results: dict[float, dict[str, Any]] = field(default_factory=dict)
    steps: dict[float, int] = field(default_factory=dict)
    times: dict[float, list[float]] = field(default_factory=dict)
    servo: dict[float, list[float]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.engine} {self.variant}".strip()


def bench_peers(
    names: Sequence[str] | None = None,
    sizes: PeerSizes = PeerSizes(),
    progress: Progress = lambda text: None,
    variants: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Measure speed and errors of every installed simulator, and list the missing ones.

    Parameters
    ----------
    names
        Names of simulators; by default all.
    sizes
        Size of the benchmark.
    progress
        Function that is called with the current measurement.
    variants
        Names of variants; by default all.

    Raises
    ------
    TarsusError
        If a name is unknown, no simulator is installed, or the robot's file is missing.
    """
    classes, missing = find_simulators(names if names is not None else registry.names(PEERS))
    cases, core = peer_cases.cases(), pinned_core()
    with ExitStack() as stack:
        # one process per variant
        runners = [
            _Runner(name, variant, stack.enter_context(EngineProcess(name, variant, core)))
            for name, each in classes.items()
            for variant in each.variants
            if variants is None or variant in variants
        ]
        # errors, then speed
        for runner in runners:
            progress(runner.label)
            _trace(runner, cases, sizes)
        _take_time(runners, sizes, progress)
    return {
        "rows": [row for runner in runners for row in _rows(runner, runners[0], sizes)],
        "engines": [
            {
                "engine": runner.engine,
                "variant": runner.variant,
                "meaning": classes[runner.engine].variants[runner.variant],
                **runner.metadata,
                "failed": runner.failed,
            }
            for runner in runners
        ],
        "missing": missing,
        "quoted": quoted.as_json(),
        "settings": _describe_settings(cases["stand"], sizes, core),
    }


def find_simulators(
    names: Sequence[str],
) -> tuple[dict[str, type[PeerSession]], list[dict[str, str]]]:
    """Find the classes of the installed simulators, and describe the missing ones.

    Raises
    ------
    TarsusError
        If a name is unknown, or none of the simulators is installed.
    """
    classes = {name: engine_class(name) for name in names}
    missing = [
        {
            "engine": name,
            "package": each.package,
            "install": package_install_command(*each.distributions),
        }
        for name, each in classes.items()
        if not each.installed()
    ]
    if len(missing) == len(classes):
        raise MissingPackage(
            "none of these simulators is installed: "
            + "; ".join(f"{row['engine']}: {row['install']}" for row in missing)
            + ".",
            missing[0]["engine"],
        )
    return {name: each for name, each in classes.items() if each.installed()}, missing


def pinned_core() -> int | None:
    """Return the last core available to this process; None if processes cannot be pinned."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def _describe_settings(stand: PeerCase, sizes: PeerSizes, core: int | None) -> dict[str, Any]:
    """Describe the settings that all simulators share."""
    return peer_cases.describe_settings(stand.robot) | {
        "processor": f"{machine.detect_host().cpu}, {os.cpu_count()} cores",
        "core": "not pinned" if core is None else core,
        "python": platform.python_version(),
        "rounds": sizes.rounds,
        "statistic": (
            f"processor time of a step while the robot stands, from {SETTLE:g} s on, median over"
            " the rounds; a servo computed in Python is not counted"
        ),
    }


def _trace(runner: _Runner, cases: Any, sizes: PeerSizes) -> None:
    """Build and simulate every case and step size, and compute errors; only build batches."""
    for dt in sizes.dts:
        results = runner.results[dt] = {}
        for name in sizes.cases:
            case = cases[name]
            key = f"{name}, {1e3 * dt:g} ms"
            try:
                if runner.metadata.get("worlds", 1) > 1 and name != STANDING:
                    continue  # batches are only timed
                about = runner.process.ask(TIMEOUT, "build", key, case.work(dt))
                runner.metadata = runner.metadata or about
                if about["worlds"] > 1:
                    continue
                q, u = runner.process.ask(TIMEOUT, "trace", key, sizes.share * case.seconds)
            except EngineError as error:
                runner.failed[key] = str(error)
                continue
            if np.isfinite(q[-1]).all() and np.isfinite(u[-1]).all():
                results[name] = compute_errors(name, case, q, u, dt)
            else:
                runner.failed[key] = f"the state is not finite at t = {(len(q) - 1) * dt:g} s"


def _take_time(runners: list[_Runner], sizes: PeerSizes, progress: Progress) -> None:
    """Time all simulators in interleaved rounds, after a round that is not counted."""
    for k in range(sizes.rounds + 1):
        progress(f"round {k} of {sizes.rounds}")
        for dt in sizes.dts:
            for runner in runners:
                key = f"{STANDING}, {1e3 * dt:g} ms"
                if key in runner.failed:
                    continue
                steps = runner.steps.get(dt, 20)
                try:
                    each, servo = runner.process.ask(TIMEOUT, "time", key, steps)
                except EngineError as error:
                    runner.failed[key] = str(error)
                    continue
                if k == 0:
                    whole = (each + servo) * runner.metadata["worlds"]
                    runner.steps[dt] = max(20, round(sizes.block / max(whole, 1e-9)))
                else:
                    runner.times.setdefault(dt, []).append(each)
                    runner.servo.setdefault(dt, []).append(servo)


def _rows(runner: _Runner, first: _Runner, sizes: PeerSizes) -> Iterator[dict[str, Any]]:
    """Yield one row per step size with the speed and the errors of each case."""
    for dt in sizes.dts:
        times, theirs = runner.times.get(dt, []), first.times.get(dt, [])
        paired = first.engine == REFERENCE and len(times) == len(theirs) > 0
        yield {
            "engine": runner.engine,
            "variant": runner.variant,
            "dt": dt,
            "steps_per_second": 1 / median(times) if times else None,
            "realtime_factor": dt / median(times) if times else None,
            "spread": (max(times) - min(times)) / median(times) if times else None,
            "speed_by_tarsus": (
                median(a / b for a, b in zip(theirs, times, strict=True)) if paired else None
            ),
            "servo_in_python_seconds": median(runner.servo[dt]) if times else None,
            **runner.results[dt],
        }
