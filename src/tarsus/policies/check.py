"""Check how robust a policy is: to the engine, to single factors, to settings of an engine.

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
from tarsus.policies.trials import TrialPlan, draw_trials, run
from tarsus.policies.worlds import PolicyEngine, height_function
from tarsus.processes import Job, run_jobs, usable_cores
from tarsus.simulation import resolve

MIN_PARALLEL_TIME = 200.0  # s: shorter total simulated time does not pay for worker processes


@dataclass(frozen=True, eq=False)
class PolicyCheck:
    """Result of checking a policy.

    Parameters
    ----------
    policy : BoundPolicy
        Policy bound to its robot.
    plan : TrialPlan
        Trials that every engine ran.
    law : str
        Contact law under which the margins were measured.
    rows : tuple of EngineResult
        Survival and tracking in each engine.
    falls : dict
        Times of the falls in s, ascending, by engine.
    margins : tuple of Margin
        Failure threshold of each factor.
    events : tuple of FirstEvents
        First events of the falls in each engine.
    separation : Separation or None
        Settings that explain the difference between the engines with the highest and the lowest
        survival; None if their confidence intervals overlap.
    """

    policy: BoundPolicy
    plan: TrialPlan
    law: str
    rows: tuple[EngineResult, ...]
    falls: dict[str, tuple[float, ...]]
    margins: tuple[Margin, ...]
    events: tuple[FirstEvents, ...]
    separation: Separation | None

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to JSON values."""
        return {
            "policy": self.policy.contract.network,
            "robot": self.policy.robot.name,
            "command": np.asarray(self.plan.command, float).tolist(),
            "dt": self.plan.dt,
            "duration": self.plan.seconds,
            "trials": self.plan.count,
            "seed": self.plan.seed,
            "law": self.law,
            "survival": [row.to_dict() for row in self.rows],
            "falls": {name: list(times) for name, times in self.falls.items()},
            "margins": [margin.to_dict() for margin in self.margins],
            "first_events": [one.to_dict() for one in self.events],
            "separation": None if self.separation is None else self.separation.to_dict(),
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
        Policy bound to its robot.
    names : sequence of str
        Engines: contact laws, and "mujoco".
    plan : TrialPlan
        Trials that every engine runs. Margins and engine variants run fewer, `plan.reduced`.
    law : str
        Contact law under which the margins are measured.
    survival_only : bool
        Skip margins and engine variants.
    workers : int or None
        Number of processes; it does not affect the result. None uses all cores, or one if there is
        little to do. With several, a script must call this below `if __name__ == "__main__":`.
    report : callable
        Called with one line of text per finished job.
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
    first, pair, separation = _find_first_events(runs), best_and_worst(rows), None
    # variants of the engine with the lowest survival
    if pair is not None and not survival_only:
        changed = variants(engines[pair[1].engine], few)
        jobs = [
            Job(change, partial(run_variant, policy, change, *rest)) for change, *rest in changed
        ]
        separation = combine_results(pair, run_jobs(jobs, workers, report))
    return PolicyCheck(policy, plan, law, rows, falls, margins, first, separation)


@dataclass(frozen=True, eq=False)
class EngineRun:
    """Result of the trials in one engine.

    Parameters
    ----------
    row : EngineResult
        Survival and tracking.
    falls : tuple of float
        Times of the falls, s, in ascending order.
    measures : EventMeasures or None
        Event measures of the trials; None if they could not be run.
    """

    row: EngineResult
    falls: tuple[float, ...] = ()
    measures: EventMeasures | None = None


def run_engine(policy: BoundPolicy, name: str, engine: PolicyEngine, plan: TrialPlan) -> EngineRun:
    """Run the trials of a plan in one engine."""
    try:
        done = run(policy, engine, draw_trials(policy, plan), plan, record=True)
    except TarsusError as error:
        return EngineRun(EngineResult(name, plan.dt, failure=str(error)))
    falls = tuple(np.sort(done.fell[np.isfinite(done.fell)]).tolist())
    observed = events.measure_events(
        policy, done, height_function(resolve.resolve_terrain("plane"))
    )
    return EngineRun(EngineResult.of(name, plan.dt, done), falls, observed)


def _find_first_events(runs: Sequence[EngineRun]) -> tuple[FirstEvents, ...]:
    """Find the first events of falls, relative to the engine with the highest survival."""
    best = max(runs, key=lambda run: run.row.share, default=None)
    if best is None or not best.row.share or best.measures is None:
        return ()
    return tuple(
        events.first_events(run.row.engine, run.measures, best.measures)
        for run in runs
        if run.measures is not None and run.falls
    )
