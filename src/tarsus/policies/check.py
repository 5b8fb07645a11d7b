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
from tarsus.policies.survival import EngineResult, engines
from tarsus.policies.trials import TrialPlan, draw, run
from tarsus.policies.worlds import PolicyEngine, elevation
from tarsus.simulation import resolve

MARGIN_SHARE = 5  # a margin has one in so many of the trials at each of its values


@dataclass(frozen=True, eq=False)
class PolicyCheck:
    """Result of a check.

    Parameters
    ----------
    policy : BoundPolicy
        Policy on its robot.
    plan : TrialPlan
        PolicyTrials.
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
        What separates the engines with the highest and lowest survival; None if they do not
        differ beyond their intervals.
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
        PolicyTrials of each engine; margins and variants of engines use a fifth of them.
    law : str
        Contact law of the margins.
    survival_only : bool
        Skip margins and variants of engines.
    report : callable
        Called with what is running.
    """
    chosen, trials = engines(names), draw(policy, plan)
    heights, few = elevation(resolve.terrain("plane")), plan.shortened(_few(plan.count))
    rows, observed, falls = [], dict[str, EventMeasures](), dict[str, tuple[float, ...]]()
    for name, engine in chosen.items():
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
            separated = separation.separate(policy, chosen, pair, few, report)
    first = _first_events(rows, observed)
    return PolicyCheck(policy, plan, law, tuple(rows), falls, tuple(margins), first, separated)


def _first_events(
    rows: Sequence[EngineResult], observed: dict[str, EventMeasures]
) -> tuple[FirstEvents, ...]:
    """Judge the falls of each engine against the engine with the highest survival."""
    ran = [row for row in rows if row.survival is not None and row.survival.stood]
    if not ran:
        return ()
    best = max(ran, key=lambda row: row.survival.share if row.survival else 0.0)
    usual = observed[best.engine]
    return tuple(
        events.first_events(name, seen, usual) for name, seen in observed.items() if len(seen.fell)
    )


def _few(count: int) -> int:
    """Number of trials at one value of a margin."""
    return max(count // MARGIN_SHARE, 1)
