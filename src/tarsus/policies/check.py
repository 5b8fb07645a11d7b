"""Check what a policy depends on: engines, single factors, first events, settings of engines.

All parts use the same trials, drawn once from the seed of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarsus.errors import TarsusError
from tarsus.policies import events, separation
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.events import EventMeasures, FirstEvents
from tarsus.policies.margins import FACTORS, Margin, margin
from tarsus.policies.separation import Separation
from tarsus.policies.survival import EngineResult, engines_by_name
from tarsus.policies.trials import TrialPlan, draw, run
from tarsus.policies.worlds import PolicyEngine, elevation
from tarsus.simulation import resolve


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
            "margins": [edge.plain() for edge in self.margins],
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
    report : callable
        Called with what is running.
    """
    engines, trials = engines_by_name(names), draw(policy, plan)
    heights, few = elevation(resolve.terrain("plane")), plan.reduced
    rows, observed, falls = [], dict[str, EventMeasures](), dict[str, tuple[float, ...]]()
    for name, engine in engines.items():
        report(name)
        try:
            done = run(policy, engine, trials, plan, record=True)
        except TarsusError as error:
            rows.append(EngineResult(name, plan.dt, failure=str(error)))
            continue
        rows.append(EngineResult.of(name, plan.dt, done))
        falls[name] = tuple(np.sort(done.fell[np.isfinite(done.fell)]).tolist())
        observed[name] = events.observe(policy, done, heights)
    pair = separation.extremes(rows)
    margins, separated = list[Margin](), None
    if not survival_only:
        for name in FACTORS:
            report(f"margin: {name}")
            margins.append(margin(policy, PolicyEngine(law), name, few))
        if pair is not None:
            separated = separation.separate(policy, engines, pair, few, report)
    first = _first_events(rows, observed)
    return PolicyCheck(policy, plan, law, tuple(rows), falls, tuple(margins), first, separated)


def _first_events(
    rows: Sequence[EngineResult], observed: dict[str, EventMeasures]
) -> tuple[FirstEvents, ...]:
    """Judge the falls of each engine against the engine with the highest survival."""
    best = max((row for row in rows if row.share), key=lambda row: row.share, default=None)
    if best is None:
        return ()
    usual = observed[best.engine]
    return tuple(
        events.first_events(name, seen, usual) for name, seen in observed.items() if len(seen.fell)
    )
