"""Classical Runge-Kutta method of fourth order; for laws that compute forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from casadi import SX

from tarsus.program.ir.trace import Builder
from tarsus.references.books import HAIRER_1993
from tarsus.references.papers import KUTTA_1901
from tarsus.references.reference import Citation
from tarsus.stepping import assemble, runge_kutta
from tarsus.stepping.base import Scene, StepOutputs, Stepper, StepStart


@dataclass(frozen=True)
class RK4(Stepper):
    """Four evaluations per step with constant torque.

    Joint damping is explicit. The law's memory advances at the first evaluation.
    """

    citation: ClassVar[Citation] = (
        KUTTA_1901.at(),
        HAIRER_1993.at("section II.1"),
    )
    velocity_level: ClassVar[bool] = False

    @property
    def order(self) -> int:
        return 4

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        def rate(first: runge_kutta.Rate, slope: runge_kutta.Rate, after: SX) -> runge_kutta.Rate:
            return assemble.rate(
                scene, runge_kutta.stage_state(scene, start, first, slope, after), builder
            )

        half = 0.5 * start.dt
        k1 = assemble.rate(scene, start, builder)
        k2 = rate(k1, k1, half)
        k3 = rate(k1, k2, half)
        k4 = rate(k1, k3, start.dt)
        return runge_kutta.combine_rates(
            scene, start, [1 / 6, 1 / 3, 1 / 3, 1 / 6], [k1, k2, k3, k4]
        )
