"""Moreau's midpoint scheme: contacts at the midpoint, velocity implicit.

Gehring 2014, Eqns. (6)-(8): displacement at the midpoint, velocity by backward Euler.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from casadi import SX

from tarsus.dynamics.kinematics import displace
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import choice
from tarsus.program.ir.trace import Builder
from tarsus.references.books import KAHAN_1993
from tarsus.references.papers import GEHRING_2014, MOREAU_1988
from tarsus.references.reference import Citation
from tarsus.stepping import servos
from tarsus.stepping.base import Scene, StepOutputs, Stepper, StepStart
from tarsus.stepping.flight import conserve_momentum
from tarsus.stepping.subcycling import RESOLVED, Forces, coordinate_velocity, forces_choice

MEAN = "mean"
VelocityTerms = Literal["mean", "start"]


@dataclass(frozen=True)
class Midpoint(Stepper):
    """Contacts and dynamics at the midpoint; contacts closed there take part.

    Without contact a step is the implicit midpoint rule and conserves the momentum of floating
    robots; in contact its velocity terms are those of the start.
    """

    citation: ClassVar[Citation] = (
        MOREAU_1988.at(),
        GEHRING_2014.at("Eqns. (6)-(8)"),
        KAHAN_1993.at("joints that turn fast"),
    )

    forces: Forces = forces_choice()
    velocity_terms: VelocityTerms = choice(
        MEAN,
        "velocity of the Coriolis and centrifugal terms where nothing touches the robot",
        mean="mean of the step: second order, exact momentum",
        start="start of the step, as in Gehring 2014: first order",
    )

    @property
    def order(self) -> int:
        """2 in flight, where forces depend on coordinates alone; otherwise 1."""
        return 2 if self.mean_velocity else 1

    @property
    def subcycles(self) -> bool:
        """Whether `forces` is "resolved"."""
        return self.forces == RESOLVED

    @property
    def mean_velocity(self) -> bool:
        return self.velocity_terms == MEAN

    @property
    def instant(self) -> float:
        return 0.5

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        q_mid = builder.store("q_mid", self.evaluation(scene.mechanism, start.q, start.u, start.dt))
        builder.stamp("rest")
        evaluation = replace(
            start.evaluation,
            instant=self.instant,
            subcycles=self.subcycles,
            mean_velocity=self.mean_velocity,
        )
        start = replace(start, evaluation=evaluation)
        end = servos.step_with_servos(scene, q_mid, start, builder)
        q = displace(scene.mechanism, q_mid, coordinate_velocity(end), 0.5 * start.dt)
        end = replace(end, q=q, coordinate_velocity=None)
        if self.mean_velocity:
            end = conserve_momentum(scene, start, end, builder)
        return end

    def evaluation(self, mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
        """Compute the coordinates half a step later."""
        return displace(mechanism, q, u, 0.5 * dt)
