"""Timing of a planner: when it plans, and how far ahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tarsus.errors import InvalidValue
from tarsus.parameters import check, choice, parameter
from tarsus.planning.spline import CUBIC, EXTRA_KNOTS

ROUND_OFF = 1e-6  # relative to a step or a period


@dataclass(frozen=True, kw_only=True)
class PlanTiming:
    """Rate, horizon and delay of a planner, and the spline of its plans."""

    rate: float = parameter(50.0, "Hz", "plans per second", "(0, inf)")
    horizon: float = parameter(0.5, "s", "duration of a rollout", "(0, 100]")
    spacing: float = parameter(0.1, "s", "time between two knots of the joint targets", "(0, 100]")
    delay: float = parameter(
        0.0,
        "s",
        "time from the initial state of a plan to its first torque, at most one period; 0: time"
        " stands still during planning",
        "[0, 10]",
    )
    spline: str = choice(
        CUBIC,
        "interpolation between the knots",
        linear="piecewise linear",
        cubic="Catmull-Rom",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.delay > self.period * (1 + ROUND_OFF):
            raise InvalidValue(
                f"delay must not exceed the period of {self.period:g} s, not {self.delay:g} s: plan"
                " at a lower rate.",
                "delay",
            )

    @property
    def period(self) -> float:
        """Time between two plans, in s."""
        return 1 / self.rate

    @property
    def deadline(self) -> float:
        """Time that a plan may take, in s: its delay, or one period if time stands still."""
        return self.delay or self.period

    @property
    def past_knots(self) -> int:
        """Number of knots needed before the two around the current time."""
        return EXTRA_KNOTS[self.spline]

    @property
    def knots(self) -> int:
        """Number of knots of a plan."""
        return self.past_knots + int(np.ceil(self.horizon / self.spacing - ROUND_OFF)) + 1

    def steps(self, name: str, dt: float) -> int:
        """Count the steps of `dt` (s) in the horizon or the delay.

        Raises
        ------
        InvalidValue
            Unless it is a whole number.
        """
        duration = getattr(self, name)
        steps = round(duration / dt)
        if abs(steps * dt - duration) > ROUND_OFF * dt or (duration and not steps):
            raise InvalidValue(
                f"{name} must be a multiple of the plan's dt of {dt:g} s, not {duration:g} s.",
                name,
            )
        return steps
