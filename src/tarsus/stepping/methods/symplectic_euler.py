"""Semi-implicit Euler: first the velocity, then the coordinates with it.

Sugihara 2006: the velocity is found at the coordinates of the start.
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
from tarsus.stepping.subcycling import RESOLVED, Forces, carrying, forces_choice


@dataclass(frozen=True)
class SymplecticEuler(Stepper):
    """One evaluation of the dynamics a step, at its start, where contacts closed take part; for
    every law.
    """

    citation: ClassVar[Citation] = (
        SUGIHARA_2006.at("first order symplectic method"),
        HAIRER_2006.at("section I.1.2"),
        KAHAN_1993.at("joints that turn fast"),
    )

    forces: Forces = forces_choice()

    @property
    def subcycles(self) -> bool:
        """Unless forces are asked for once."""
        return self.forces == RESOLVED

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        evaluation = replace(start.evaluation, instant=self.instant, subcycles=self.subcycles)
        seen = replace(start, evaluation=evaluation)
        end = servos.with_servos(scene, start.q, seen, builder)
        q = displace(scene.mechanism, start.q, carrying(end), start.dt)
        return replace(end, q=q, carried=None)
