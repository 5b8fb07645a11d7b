"""Heun's explicit method of second order; for laws that compute forces.

It averages the rates at both ends of the step (Teixeira de Paula 2024, Table I).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tarsus.program.ir.trace import Builder
from tarsus.references.books import HAIRER_1993
from tarsus.references.papers import TEIXEIRA_DE_PAULA_2024
from tarsus.references.reference import Citation
from tarsus.stepping import assemble, runge_kutta
from tarsus.stepping.base import Scene, StepOutputs, Stepper, StepStart


@dataclass(frozen=True)
class Heun(Stepper):
    """Explicit trapezoidal rule: two evaluations per step with constant torque.

    Joint damping is explicit. The law's memory advances at the first evaluation.
    """

    citation: ClassVar[Citation] = (
        TEIXEIRA_DE_PAULA_2024.at("Table I: explicit second-order Euler"),
        HAIRER_1993.at("section II.1"),
    )
    velocity_level: ClassVar[bool] = False

    @property
    def order(self) -> int:
        return 2

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        first = assemble.rate(scene, start, builder)
        later = runge_kutta.stage_state(scene, start, first, first, start.dt)
        second = assemble.rate(scene, later, builder)
        return runge_kutta.combine_rates(scene, start, [1 / 2, 1 / 2], [first, second])
