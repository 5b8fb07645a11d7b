"""How far one factor may move from the contract until half of the trials fail.

A trial fails if it falls, or misses the commanded velocity by more than half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.parameters import names_with_role
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.trials import PolicyTrials, TrialPlan, draw, run
from tarsus.policies.worlds import FRICTION, PolicyEngine

BISECTIONS = 6
PUSH_TIME = 2.0  # s
SOFT_LAW = "compliant"  # for the margin of ground stiffness, if the law of the check has none
STIFFNESS = "ground stiffness"


@dataclass(frozen=True)
class VariedFactor:
    """A property of ground, robot or signals that is changed alone.

    Parameters
    ----------
    start : float
        Value of the contract, at which the policy is taken to succeed.
    end : float
        Farthest value that is tried.
    unit : str
        Unit of both.
    change : callable
        Returns trials with the factor at a value.
    logarithmic : bool
        Whether values are halved by ratio instead of by difference.
    """

    start: float
    end: float
    unit: str
    change: Callable[[PolicyTrials, float], PolicyTrials]
    logarithmic: bool = False

    def between(self, a: float, b: float) -> float:
        """Return the value halfway between two."""
        return float(np.sqrt(a * b)) if self.logarithmic else 0.5 * (a + b)

    def position(self, value: float) -> float:
        """Return how far a value is from start (0) to end (1)."""
        ends = np.array([self.start, value, self.end])
        start, at, end = np.log(ends) if self.logarithmic else ends
        return float((at - start) / (end - start))


def _condition(name: str) -> Callable[[PolicyTrials, float], PolicyTrials]:
    """Return a change of one array of the trials' conditions."""

    def change(trials: PolicyTrials, value: float) -> PolicyTrials:
        values: dict[str, Any] = {name: np.full(len(trials.conditions), value)}
        return replace(trials, conditions=replace(trials.conditions, **values))

    return change


def _push(trials: PolicyTrials, value: float) -> PolicyTrials:
    """Add a push in a direction of its own to each trial."""
    angle = 2 * np.pi * (np.sqrt(2) * np.arange(len(trials.conditions)) % 1)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return replace(trials, pushes={**trials.pushes, PUSH_TIME: value * direction})


FACTORS: Mapping[str, VariedFactor] = {
    "friction": VariedFactor(FRICTION, 0.0, "", _condition("friction")),
    "push": VariedFactor(0.0, 10.0, "m/s", _push),
    "delay": VariedFactor(0.0, 0.1, "s", _condition("delay")),
    "weaker gains": VariedFactor(1.0, 0.0, "of the contract's", _condition("gains")),
    "stiffer gains": VariedFactor(1.0, 16.0, "of the contract's", _condition("gains")),
    "added mass": VariedFactor(0.0, 3.0, "of the robot's mass", _condition("mass")),
    STIFFNESS: VariedFactor(30000.0, 300.0, "N/m", lambda trials, value: trials, logarithmic=True),
    "joint friction": VariedFactor(0.0, 1.0, "of the torque limit", _condition("joint_friction")),
    "noise": VariedFactor(
        0.0, 2.0, "of observations", lambda trials, value: replace(trials, noise=value)
    ),
}


@dataclass(frozen=True)
class Margin:
    """Range of a factor in which the policy goes from success to failure.

    Parameters
    ----------
    factor, unit : str
        Which factor, and its unit.
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


def stiffness_parameters(law: str) -> tuple[str, ...]:
    """Return the names of a law's stiffness parameters."""
    return names_with_role(
        type(registry.create("tarsus.contact.laws", "law", law, Law)), "stiffness"
    )


def margin(policy: BoundPolicy, engine: PolicyEngine, name: str, plan: TrialPlan) -> Margin:
    """Find by bisection where half of the trials of a plan fail.

    Parameters
    ----------
    policy : BoundPolicy
        Policy on its robot.
    engine : PolicyEngine
        Engine of the trials. Ground stiffness is varied under `SOFT_LAW`.
    name : str
        Key of `FACTORS`.
    plan : TrialPlan
        Command, step size, duration and number of trials.
    """
    factor = FACTORS[name]
    if name == STIFFNESS:
        engine = PolicyEngine(SOFT_LAW)
    trials = draw(policy, plan)
    if name == "added mass":
        factor = replace(factor, change=lambda t, v: _condition("mass")(t, v * policy.robot.mass))

    def succeeds(value: float) -> bool:
        where = engine
        if name == STIFFNESS:
            stiff = tuple(f"{key}={value!r}" for key in stiffness_parameters(engine.law))
            where = replace(engine, parameters=(*engine.parameters, *stiff))
        done = run(policy, where, factor.change(trials, value), plan)
        return 2 * int(done.succeeded.sum()) > plan.count

    low, high = factor.start, factor.end
    if succeeds(high):
        return Margin(name, factor.unit, high, high, False, engine.law)
    for _ in range(BISECTIONS):
        middle = factor.between(low, high)
        low, high = (middle, high) if succeeds(middle) else (low, middle)
    return Margin(name, factor.unit, low, high, True, engine.law)
