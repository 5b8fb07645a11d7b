"""Temporary stepper: Ralston's method, of second order; for force laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tarsus.program.ir.trace import Builder
from tarsus.references.reference import Citation, Reference
from tarsus.stepping import assemble, runge_kutta
from tarsus.stepping.base import Scene, StepOutputs, Stepper, StepStart

NOBODY = Reference("Nobody 2026", "misc", ("Nobody",), "A test", "2026")


@dataclass(frozen=True)
class ThrowAway(Stepper):
    """Two evaluations per step, the second at two thirds of it."""

    citation: ClassVar[Citation] = (NOBODY.at("Eqn. (2)"),)
    velocity_level: ClassVar[bool] = False

    @property
    def order(self) -> int:
        """Two."""
        return 2

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        first = assemble.rate(scene, start, builder)
        later = runge_kutta.stage_state(scene, start, first, first, 2 / 3 * start.dt)
        second = assemble.rate(scene, later, builder)
        return runge_kutta.combine_rates(scene, start, [1 / 4, 3 / 4], [first, second])
