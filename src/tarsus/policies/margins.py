"""Find how far one factor may move from the contract until half of the trials fail.

A trial fails if it falls, or misses the commanded velocity by more than half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tarsus.policies.binding import BoundPolicy
from tarsus.policies.trials import PolicyTrials, TrialPlan, draw, run
from tarsus.policies.worlds import FRICTION, PolicyEngine

BISECTIONS = 6
PUSH_TIME = 2.0  # s
SOFT_LAW = "compliant"  # of the margin of ground stiffness


Change = Callable[[BoundPolicy, PolicyTrials, float], PolicyTrials]


@dataclass(frozen=True)
class VariedFactor:
    """Property of ground, robot or signals that is changed alone.

    Parameters
    ----------
    start : float
        Value of the contract, at which the policy is taken to succeed.
    end : float
        Farthest value that is tried.
    unit : str
        Unit of both.
    change : callable
        Returns trials of a policy with the factor at a value.
    logarithmic : bool
        Whether the search halves ratios instead of differences.
    law : str
        Contact law under which the factor is varied; empty for that of the check.
    """

    start: float
    end: float
    unit: str
    change: Change
    logarithmic: bool = False
    law: str = ""

    def between(self, a: float, b: float) -> float:
        """Return the value halfway between two."""
        return float(np.sqrt(a * b)) if self.logarithmic else 0.5 * (a + b)

    def position(self, value: float) -> float:
        """Return how far a value is from start (0) to end (1)."""
        ends = np.array([self.start, value, self.end])
        start, middle, end = np.log(ends) if self.logarithmic else ends
        return float((middle - start) / (end - start))


def _condition(name: str) -> Change:
    """Return a change of one array of the trials' conditions."""

    def change(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
        values: dict[str, Any] = {name: np.full(len(trials.conditions), value)}
        return replace(trials, conditions=replace(trials.conditions, **values))

    return change


def _mass(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
    """Add a share of the robot's mass to its base."""
    return _condition("mass")(policy, trials, value * policy.robot.mass)


def _push(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
    """Push each trial in another direction."""
    angle = 2 * np.pi * (np.sqrt(2) * np.arange(len(trials.conditions)) % 1)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return replace(trials, pushes={**trials.pushes, PUSH_TIME: value * direction})


def _noise(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
    return replace(trials, noise=value)


def _stiffness(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
    return replace(trials, ground_stiffness=value)


FACTORS: Mapping[str, VariedFactor] = {
    "friction": VariedFactor(FRICTION, 0.0, "", _condition("friction")),
    "push": VariedFactor(0.0, 10.0, "m/s", _push),
    "delay": VariedFactor(0.0, 0.1, "s", _condition("delay")),
    "weaker gains": VariedFactor(1.0, 0.0, "of the contract's", _condition("gains")),
    "stiffer gains": VariedFactor(1.0, 16.0, "of the contract's", _condition("gains")),
    "added mass": VariedFactor(0.0, 3.0, "of the robot's mass", _mass),
    "ground stiffness": VariedFactor(
        30000.0, 300.0, "N/m", _stiffness, logarithmic=True, law=SOFT_LAW
    ),
    "joint friction": VariedFactor(0.0, 1.0, "of the torque limit", _condition("joint_friction")),
    "noise": VariedFactor(0.0, 2.0, "of observations", _noise),
}


@dataclass(frozen=True)
class Margin:
    """Range of a factor in which the policy goes from success to failure.

    Parameters
    ----------
    factor, unit : str
        Name of the factor, and its unit.
    low : float
        Farthest value at which most trials succeeded.
    high : float
        Nearest value at which half of them or more failed.
    fails : bool
        Whether most trials fail at the end of the search.
    law : str
        Contact law of the trials.
    """

    factor: str
    unit: str
    low: float
    high: float
    fails: bool
    law: str

    @property
    def value(self) -> float:
        """Middle of the range; the end of the search if most trials succeed there."""
        return FACTORS[self.factor].between(self.low, self.high) if self.fails else self.high

    def plain(self) -> dict[str, Any]:
        """Return the margin for JSON."""
        return asdict(self) | {"value": self.value}


def find_margin(policy: BoundPolicy, engine: PolicyEngine, name: str, plan: TrialPlan) -> Margin:
    """Find by bisection where half of the trials of a plan fail.

    Parameters
    ----------
    policy : BoundPolicy
        Policy on its robot.
    engine : PolicyEngine
        Engine of the trials, unless the factor has a law of its own.
    name : str
        Key of `FACTORS`.
    plan : TrialPlan
        Command, step size, duration and number of trials.
    """
    factor, trials = FACTORS[name], draw(policy, plan)
    if factor.law:
        engine = PolicyEngine(factor.law)

    def succeeds(value: float) -> bool:
        done = run(policy, engine, factor.change(policy, trials, value), plan)
        return 2 * int(done.succeeded.sum()) > plan.count

    low, high = factor.start, factor.end
    if succeeds(high):
        return Margin(name, factor.unit, high, high, False, engine.law)
    for _ in range(BISECTIONS):
        middle = factor.between(low, high)
        low, high = (middle, high) if succeeds(middle) else (low, middle)
    return Margin(name, factor.unit, low, high, True, engine.law)
