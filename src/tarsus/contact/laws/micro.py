"""Linear spring whose damper grows with the time step.

Sugihara 2006, section III-A.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from casadi import SX

from tarsus.contact.base import Law, parameters_at
from tarsus.contact.membrane import (
    Damper,
    Phase,
    SpringDamper,
    damper_choice,
    largest_steps,
    phase_choice,
    step_impulses,
)
from tarsus.contact.problem import ContactProblem, ContactSolution
from tarsus.parameters import Value, damping, friction, parameter, stiffness
from tarsus.program.ir.trace import Builder
from tarsus.references.papers import SUGIHARA_2006
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Micro(Law):
    """Membrane of Sugihara 2006: a spring, a damper in one phase, and kinetic friction.

    It is not a `ForceLaw`, because Eqn. (14) needs dt. Below eps friction is a damper (see
    `contact/membrane.py`): a loaded foot creeps at about the speed that one step of the load adds;
    it never sticks. Evaluated once per step, the normal damper is stable up to about dt = 2 m / (c
    + k dt), with m the mass felt at the foot: 3 ms on Mini Cheetah. From half of that on it
    reverses a single foot in one step, (14) more than (13). Substeps stay below, and (14) then adds
    k times the substep. The ground never pulls.
    """

    citation: ClassVar[Citation] = (SUGIHARA_2006.at("Eqns. (7), (12)-(15)"),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "rigid": "a spring is compliant",
        "restitution": "follows from damping, not a parameter",
        "sticking": "friction is a damper below eps: a loaded contact creeps",
    }

    at_instants: ClassVar[bool] = True
    subcycles: ClassVar[bool] = True

    k: Value = stiffness(5512.0, "N/m", "stiffness; by default that of the paper's membrane")
    c: Value = damping(158.0, "N s/m", "damping in the phase of the parameter `phase`")
    mu: Value = friction(0.4, "kinetic friction coefficient", "mu_K")
    eps: Value = parameter(1e-3, "m/s", "slip speed above which friction is kinetic", "(0, inf)")
    damper: Damper = damper_choice()
    phase: Phase = phase_choice()

    def largest_steps(self, masses: tuple[float, float], load: float) -> dict[str, float]:
        """Compute the limit of the membrane's spring and damper."""
        return largest_steps(self.k, self.c, self.damper, masses[0])

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        grounds = [parameters_at(self, contact, p) for contact in problem.contacts]
        end = step_impulses(problem, grounds, SpringDamper(self.damper, self.phase), builder)
        solved = end.impulses, memory, end.substeps, end.stable
        return ContactSolution(
            *solved, coordinate_impulses=end.coordinate_impulses, free_share=end.free_share
        )
