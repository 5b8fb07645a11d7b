"""Semi-implicit Euler (Sugihara 2006): velocity at the start's coordinates, then coordinates with
the new velocity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tarsus.dynamics.kinematics import displaced
from tarsus.program.ir.trace import Builder
from tarsus.stepping import assemble
from tarsus.stepping.base import Scene, StepInputs, StepOutputs, Stepper


@dataclass(frozen=True)
class SymplecticEuler(Stepper):
    """One evaluation of the dynamics a step, at its start, where contacts closed take part; for
    every law.
    """

    citation: ClassVar[str] = (
        "the first order symplectic method of Sugihara, Nakamura: Balanced micro/macro contact"
        " model for forward dynamics of rigid multibody. ICRA 2006; Hairer, Lubich, Wanner:"
        " Geometric Numerical Integration, Springer, 2006, section I.1.2"
    )

    def step(self, scene: Scene, start: StepInputs, builder: Builder) -> StepOutputs:
        u_end, contact = assemble.velocity_step(scene, start.q, start, builder)
        q_end = displaced(scene.mechanism, start.q, u_end, start.dt)
        return StepOutputs(q_end, u_end, contact)
