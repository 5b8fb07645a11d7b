"""When a planner plans, and how far ahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tarsus.errors import InvalidValue
from tarsus.parameters import check, choice, parameter
from tarsus.planning.spline import BEFORE, CUBIC

NEARLY = 1e-6  # of a step or a period: round-off


@dataclass(frozen=True, kw_only=True)
class Pace:
    """When a planner plans, and how far ahead."""

    rate: float = parameter(50.0, "Hz", "how often it plans", "(0, inf)")
    horizon: float = parameter(0.5, "s", "how far a rollout goes", "(0, 100]")
    spacing: float = parameter(0.1, "s", "between two knots of the joints' targets", "(0, 100]")
    delay: float = parameter(
        0.0,
        "s",
        "from the state that a plan begins with to its first torque, a period at most; 0: time"
        " stands still while it plans",
        "[0, 10]",
    )
    spline: str = choice(
        CUBIC,
        "between the knots",
        linear="straight",
        cubic="that of Catmull and Rom",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.delay > self.period * (1 + NEARLY):
            raise InvalidValue(
                f"delay must not exceed the period of {self.period:g} s, not {self.delay:g} s: plan"
                " at a lower rate.",
                "delay",
            )

    @property
    def period(self) -> float:
        """Between two plans, s."""
        return 1 / self.rate

    @property
    def deadline(self) -> float:
        """That a plan may take, s: its delay, or a period where time stands still."""
        return self.delay or self.period

    @property
    def before(self) -> int:
        """Knots in front of the two around the present."""
        return BEFORE[self.spline]

    @property
    def knots(self) -> int:
        """How many it takes."""
        return self.before + int(np.ceil(self.horizon / self.spacing - NEARLY)) + 1

    def steps(self, name: str, dt: float) -> int:
        """Of dt (s) in its horizon or delay; TarsusError unless they are a whole number."""
        lasts = getattr(self, name)
        found = round(lasts / dt)
        if abs(found * dt - lasts) > NEARLY * dt or (lasts and not found):
            raise InvalidValue(
                f"{name} must be a multiple of the plan's time step of {dt:g} s, not {lasts:g} s.",
                name,
            )
        return found
