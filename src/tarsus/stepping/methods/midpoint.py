"""Moreau's midpoint scheme: contacts at the midpoint, velocity implicit.

Gehring 2014, Eqns. (6)-(8): displacement at the midpoint, velocity by backward Euler.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from casadi import SX

from tarsus.dynamics.kinematics import displace
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.trace import Builder
from tarsus.references.books import KAHAN_1993
from tarsus.references.papers import GEHRING_2014, MOREAU_1988
from tarsus.references.reference import Citation
from tarsus.stepping import servos
from tarsus.stepping.base import Scene, StepOutputs, Stepper, StepStart
from tarsus.stepping.subcycling import RESOLVED, Forces, coordinate_velocity, forces_choice


@dataclass(frozen=True)
class Midpoint(Stepper):
    """One evaluation of the dynamics per step, at the midpoint; contacts closed there take part."""

    citation: ClassVar[Citation] = (
        MOREAU_1988.at(),
        GEHRING_2014.at("Eqns. (6)-(8)"),
        KAHAN_1993.at("joints that turn fast"),
    )

    forces: Forces = forces_choice()

    @property
    def subcycles(self) -> bool:
        """Whether `forces` is "resolved"."""
        return self.forces == RESOLVED

    @property
    def instant(self) -> float:
        return 0.5

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        q_mid = builder.store("q_mid", self.evaluation(scene.mechanism, start.q, start.u, start.dt))
        builder.stamp("rest")
        evaluation = replace(start.evaluation, instant=self.instant, subcycles=self.subcycles)
        start = replace(start, evaluation=evaluation)
        end = servos.step_with_servos(scene, q_mid, start, builder)
        q = displace(scene.mechanism, q_mid, coordinate_velocity(end), 0.5 * start.dt)
        return replace(end, q=q, coordinate_velocity=None)

    def evaluation(self, mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
        """Compute the coordinates half a step later."""
        return displace(mechanism, q, u, 0.5 * dt)
