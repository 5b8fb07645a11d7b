"""Check what a policy depends on: engines, single factors, first events, settings of engines.

All parts use the same trials, drawn once from the seed of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tarsus.errors import TarsusError
from tarsus.policies import events
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.events import EventMeasures, FirstEvents
from tarsus.policies.margins import FACTORS, Margin, find_margin
from tarsus.policies.separation import (
    Separation,
    best_and_worst,
    combine_results,
    run_variant,
    variants,
)
from tarsus.policies.survival import EngineResult, engines_by_name
from tarsus.policies.trials import TrialPlan, draw, run
from tarsus.policies.worlds import PolicyEngine, height_function
from tarsus.processes import Job, run_jobs, usable_cores
from tarsus.simulation import resolve

MIN_PARALLEL_TIME = 200.0  # s: simulated time of an engine's trials that is worth worker processes


@dataclass(frozen=True, eq=False)
class PolicyCheck:
    """Result of a check.

    Parameters
    ----------
    policy : BoundPolicy
        Policy on its robot.
    plan : TrialPlan
        Trials of each engine.
    law : str
        Contact law of the margins.
    rows : tuple of EngineResult
        Survival and tracking in each engine.
    falls : dict
        Time of every fall in each engine, s, in increasing order.
    margins : tuple of Margin
        How far each factor may go.
    events : tuple of FirstEvents
        How the falls of each engine begin.
    separation : Separation or None
        Settings that separate the engines with the highest and lowest survival; None if their
        intervals overlap.
    """

    policy: BoundPolicy
    plan: TrialPlan
    law: str
    rows: tuple[EngineResult, ...]
    falls: dict[str, tuple[float, ...]]
    margins: tuple[Margin, ...]
    events: tuple[FirstEvents, ...]
    separation: Separation | None

    def plain(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "policy": self.policy.contract.network,
            "robot": self.policy.robot.name,
            "command": np.asarray(self.plan.command, float).tolist(),
            "dt": self.plan.dt,
            "duration": self.plan.seconds,
            "trials": self.plan.count,
            "seed": self.plan.seed,
            "law": self.law,
            "survival": [row.plain() for row in self.rows],
            "falls": {name: list(times) for name, times in self.falls.items()},
            "margins": [margin.plain() for margin in self.margins],
            "first_events": [one.plain() for one in self.events],
            "separation": None if self.separation is None else self.separation.plain(),
        }


def check_policy(
    policy: BoundPolicy,
    names: Sequence[str],
    plan: TrialPlan,
    law: str,
    *,
    survival_only: bool = False,
    workers: int | None = 1,
    report: Callable[[str], None] = lambda text: None,
) -> PolicyCheck:
    """Check a policy in several engines.

    Parameters
    ----------
    policy : BoundPolicy
        Policy on its robot.
    names : sequence of str
        Contact laws, and "mujoco".
    plan : TrialPlan
        Trials of each engine; margins and changed engines have the trials of `plan.reduced`.
    law : str
        Contact law of the margins.
    survival_only : bool
        Skip margins and changed engines.
    workers : int or None
        Number of processes, on which the result does not depend; None for all cores, or one if
        there is little to do. A script uses several below `if __name__ == "__main__":`.
    report : callable
        Called with the progress.
    """
    if workers is None:
        workers = usable_cores() if plan.count * plan.seconds > MIN_PARALLEL_TIME else 1
    # engines and margins
    engines, few = engines_by_name(names), plan.reduced
    jobs: list[Job[Any]] = [
        Job(name, partial(run_engine, policy, name, engine, plan))
        for name, engine in engines.items()
    ]
    if not survival_only:
        jobs += [
            Job(f"margin: {name}", partial(find_margin, policy, PolicyEngine(law), name, few))
            for name in FACTORS
        ]
    results = run_jobs(jobs, workers, report)
    runs, margins = results[: len(engines)], tuple(results[len(engines) :])
    rows = tuple(run.row for run in runs)
    falls = {run.row.engine: run.falls for run in runs if not run.row.failure}
    first, pair, apart = _first_events(runs), best_and_worst(rows), None
    # variants of the engine with the lowest survival
    if pair is not None and not survival_only:
        changed = variants(engines[pair[1].engine], few)
        jobs = [
            Job(change, partial(run_variant, policy, change, *rest)) for change, *rest in changed
        ]
        apart = combine_results(pair, run_jobs(jobs, workers, report))
    return PolicyCheck(policy, plan, law, rows, falls, margins, first, apart)


@dataclass(frozen=True, eq=False)
class EngineRun:
    """Trials of one engine.

    Parameters
    ----------
    row : EngineResult
        Survival and tracking.
    falls : tuple of float
        Times of the falls, s, in ascending order.
    measures : EventMeasures or None
        Measures of falls and of trials that stood; None if the trials could not be run.
    """

    row: EngineResult
    falls: tuple[float, ...] = ()
    measures: EventMeasures | None = None


def run_engine(policy: BoundPolicy, name: str, engine: PolicyEngine, plan: TrialPlan) -> EngineRun:
    """Run the trials of a plan in one engine."""
    try:
        done = run(policy, engine, draw(policy, plan), plan, record=True)
    except TarsusError as error:
        return EngineRun(EngineResult(name, plan.dt, failure=str(error)))
    falls = tuple(np.sort(done.fell[np.isfinite(done.fell)]).tolist())
    observed = events.observe(policy, done, height_function(resolve.terrain("plane")))
    return EngineRun(EngineResult.of(name, plan.dt, done), falls, observed)


def _first_events(runs: Sequence[EngineRun]) -> tuple[FirstEvents, ...]:
    """Judge the falls of each engine against the engine with the highest survival."""
    best = max(runs, key=lambda run: run.row.share, default=None)
    if best is None or not best.row.share or best.measures is None:
        return ()
    return tuple(
        events.first_events(run.row.engine, run.measures, best.measures)
        for run in runs
        if run.measures is not None and run.falls
    )
