"""Semi-implicit Euler: first the velocity, then the coordinates with the new velocity.

As in Sugihara 2006, the velocity is computed at the coordinates of the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tarsus.dynamics.kinematics import displace
from tarsus.program.ir.trace import Builder
from tarsus.references.books import HAIRER_2006, KAHAN_1993
from tarsus.references.papers import SUGIHARA_2006
from tarsus.references.reference import Citation
from tarsus.stepping import servos
from tarsus.stepping.base import Scene, StepOutputs, Stepper, StepStart
from tarsus.stepping.subcycling import RESOLVED, Forces, coordinate_velocity, forces_choice


@dataclass(frozen=True)
class SymplecticEuler(Stepper):
    """One evaluation of the dynamics per step, at its start; supports every law."""

    citation: ClassVar[Citation] = (
        SUGIHARA_2006.at("first order symplectic method"),
        HAIRER_2006.at("section I.1.2"),
        KAHAN_1993.at("joints that turn fast"),
    )

    forces: Forces = forces_choice()

    @property
    def subcycles(self) -> bool:
        """Whether `forces` is "resolved"."""
        return self.forces == RESOLVED

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        evaluation = replace(start.evaluation, instant=self.instant, subcycles=self.subcycles)
        start = replace(start, evaluation=evaluation)
        end = servos.step_with_servos(scene, start.q, start, builder)
        q = displace(scene.mechanism, start.q, coordinate_velocity(end), start.dt)
        return replace(end, q=q, coordinate_velocity=None)
