"""Moreau's midpoint scheme (document 000, Eqns. (6)-(8)): displacement at the midpoint, velocity by backward Euler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from casadi import SX

from tarsus.dynamics.kinematics import coordinate_rate, kinematics, with_unit_quaternions
from tarsus.model.mechanism import Mechanism
from tarsus.program.trace import Builder
from tarsus.stepping import assemble
from tarsus.stepping.base import Scene, StepInputs, StepOutputs, Stepper


@dataclass(frozen=True)
class Midpoint(Stepper):
    """One evaluation of the dynamics a step; contacts closed at the midpoint take part."""

    citation: ClassVar[str] = (
        "Moreau: Unilateral contact and dry friction in finite freedom dynamics. CISM 302, Springer, 1988; "
        "as in DETC2014-34374, Eqns. (6)-(8)"
    )

    def step(self, scene: Scene, start: StepInputs, builder: Builder) -> StepOutputs:
        q_mid = builder.keep("q_mid", half_step(scene.mechanism, start.q, start.u, start.dt))
        kin = kinematics(scene.mechanism, q_mid, start.u)
        smooth = assemble.smooth_dynamics(scene, kin, start)
        touching = assemble.touches(scene, kin, start.terrain)
        coupling = assemble.couple(smooth, touching, builder)
        problem = assemble.contact_problem(coupling, touching, start, builder)
        contact = scene.law.solve(problem, start.law, start.memory, builder)
        u_end = assemble.velocity_after(coupling, contact.impulses)
        q_end = half_step(scene.mechanism, q_mid, u_end, start.dt)
        return StepOutputs(q_end, u_end, contact)


def half_step(mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
    """q + dt/2 F(q) u with unit quaternions."""
    return with_unit_quaternions(mechanism, q + 0.5 * dt * coordinate_rate(mechanism, q, u))
