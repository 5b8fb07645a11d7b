"""Find the change of a single factor at which half of the trials fail.

A trial fails if the robot falls or misses the commanded velocity by more than half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tarsus.policies.binding import BoundPolicy
from tarsus.policies.trials import PolicyTrials, TrialPlan, draw_trials, run
from tarsus.policies.worlds import FRICTION, PolicyEngine

BISECTIONS = 6
FAILING_SHARE = 0.5  # share of the trials whose failure means that the policy fails
PUSH_TIME = 2.0  # s
SOFT_LAW = "compliant"  # law for the margin of ground stiffness

Change = Callable[[BoundPolicy, PolicyTrials, float], PolicyTrials]


@dataclass(frozen=True)
class VariedFactor:
    """Property of the ground, the robot or the signals that is varied on its own.

    Parameters
    ----------
    start : float
        Nominal value, at which the policy is assumed to succeed.
    end : float
        Largest change that is tried.
    unit : str
        Unit of both.
    change : callable
        Sets the factor to a value in the trials of a policy.
    logarithmic : bool
        Whether to bisect on a logarithmic scale.
    law : str
        Contact law under which the factor is varied; empty for that of the check.
    """

    start: float
    end: float
    unit: str
    change: Change
    logarithmic: bool = False
    law: str = ""

    def midpoint(self, a: float, b: float) -> float:
        """Compute the value halfway between two values."""
        return float(np.sqrt(a * b)) if self.logarithmic else 0.5 * (a + b)

    def position(self, value: float) -> float:
        """Compute the position of a value between start (0) and end (1)."""
        ends = np.array([self.start, value, self.end])
        start, middle, end = np.log(ends) if self.logarithmic else ends
        return float((middle - start) / (end - start))


def _create_condition(name: str) -> Change:
    """Create a change that sets one array of the trials' conditions."""

    def change(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
        values: dict[str, Any] = {name: np.full(len(trials.conditions), value)}
        return replace(trials, conditions=replace(trials.conditions, **values))

    return change


def _mass(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
    """Add a fraction of the robot's mass to its base."""
    return _create_condition("mass")(policy, trials, value * policy.robot.mass)


def _push(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
    """Push each trial in a different direction."""
    angle = 2 * np.pi * (np.sqrt(2) * np.arange(len(trials.conditions)) % 1)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return replace(trials, pushes={**trials.pushes, PUSH_TIME: value * direction})


def _noise(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
    return replace(trials, noise=value)


def _stiffness(policy: BoundPolicy, trials: PolicyTrials, value: float) -> PolicyTrials:
    return replace(trials, ground_stiffness=value)


FACTORS: Mapping[str, VariedFactor] = {
    "friction": VariedFactor(FRICTION, 0.0, "", _create_condition("friction")),
    "push": VariedFactor(0.0, 10.0, "m/s", _push),
    "delay": VariedFactor(0.0, 0.1, "s", _create_condition("delay")),
    "weaker gains": VariedFactor(1.0, 0.0, "of the contract's", _create_condition("gains")),
    "stiffer gains": VariedFactor(1.0, 16.0, "of the contract's", _create_condition("gains")),
    "added mass": VariedFactor(0.0, 3.0, "of the robot's mass", _mass),
    "ground stiffness": VariedFactor(
        30000.0, 300.0, "N/m", _stiffness, logarithmic=True, law=SOFT_LAW
    ),
    "joint friction": VariedFactor(
        0.0, 1.0, "of the torque limit", _create_condition("joint_friction")
    ),
    "noise": VariedFactor(0.0, 2.0, "of observations", _noise),
}


@dataclass(frozen=True)
class Margin:
    """Failure threshold of a factor, bracketed by bisection.

    Parameters
    ----------
    factor, unit : str
        Name of the factor, and its unit.
    low : float
        Value farthest from nominal at which most trials succeeded.
    high : float
        Value closest to nominal at which at least half of them failed.
    fails : bool
        Whether trials fail at all up to the largest change; if not, `low` and `high` are that one.
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
        """Middle of the bracket; the largest change if most trials succeed there."""
        return FACTORS[self.factor].midpoint(self.low, self.high) if self.fails else self.high

    def to_dict(self) -> dict[str, Any]:
        """Convert the margin to JSON values."""
        return asdict(self) | {"value": self.value}


def find_margin(policy: BoundPolicy, engine: PolicyEngine, name: str, plan: TrialPlan) -> Margin:
    """Find by bisection the value of a factor at which half of the trials fail.

    Parameters
    ----------
    policy : BoundPolicy
        Policy bound to its robot.
    engine : PolicyEngine
        Engine of the trials, unless the factor requires another law.
    name : str
        Key of `FACTORS`.
    plan : TrialPlan
        Command, step size, duration and number of trials.
    """
    factor, trials = FACTORS[name], draw_trials(policy, plan)
    if factor.law:
        engine = PolicyEngine(factor.law)

    def succeeds(value: float) -> bool:
        changed = factor.change(policy, trials, value)
        done = run(policy, engine, changed, plan, max_fallen_share=FAILING_SHARE)
        return float(done.succeeded.mean()) > 1 - FAILING_SHARE

    low, high = factor.start, factor.end
    if succeeds(high):
        return Margin(name, factor.unit, high, high, False, engine.law)
    for _ in range(BISECTIONS):
        middle = factor.midpoint(low, high)
        low, high = (middle, high) if succeeds(middle) else (low, middle)
    return Margin(name, factor.unit, low, high, True, engine.law)
