"""Rigid contact: the impulses that leave the least velocity error.

This is the macro model of Sugihara 2006, which minimizes the velocity error and the norm of the
impulse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from tarsus.contact.base import HardLaw
from tarsus.contact.problem import Contact, ContactProblem, ContactSolution
from tarsus.contact.solvers._error_norm import minimize, set_up
from tarsus.contact.solvers._single_pass import Passes, passes_choice, single_pass, with_kinetic
from tarsus.parameters import Value, friction, kinetic_friction, parameter, restitution
from tarsus.program.ir.trace import Builder
from tarsus.references.papers import SUGIHARA_2006
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Macro(HardLaw):
    """Macro model of Sugihara 2006, Eqns. (16)-(36), without the membrane of `micro_macro`.

    A closed contact that slips at most at v_0 sticks: its velocity is to become zero (25). A faster
    one slides: its friction is mu_K times the normal impulse, opposing its slip (26). A contact
    that approaches faster than v_0 is to separate at e_N times that speed (29). That gives A df =
    v, Eqns. (30)-(32); df minimizes |A df - v|^2 + damping |df|^2 with no normal impulse below zero
    (33). Friction beyond mu_S of the normal impulse becomes kinetic (35)-(36).

    The procedure of the paper gains energy or holds contacts that have left the ground
    (docs/decisions/0012-macro-model-solved-until-consistent.md). Therefore, as differences from the
    paper:

    - after (35)-(36) the rest is solved again;
    - kinetic friction that would reverse the slip within the step becomes static, and so does that
      which would press a contact into the ground by more than its normal impulse lifts it
      (0027-jamming-in-the-macro-model.md);
    - the velocity of a contact that separates does not count as an error, because the ground
      cannot pull;
    - slip alone, not speed, determines which contacts stick, as in (7) but not (25);
    - impulses that would still do work on the robot, where no consistent solution was found and
      `converged` is 0, are scaled back until they do none;
    - a contact that pressed in the last step is active in this one even if round-off shows it above
      the ground;
    - friction that could stop a contact may hold it, where mu_K is larger than mu_S.

    `passes="once"` is the procedure of the paper without these changes.

    A standing robot sinks and creeps at about damping f / G_NN, with f its impulse per step: below
    1e-9 m/s for the default; the paper's values of 0.01 to 4 need its membrane. In float32 that
    default is lost in round-off, and round-off determines how redundant contacts share a load.
    """

    citation: ClassVar[Citation] = (SUGIHARA_2006.at("Eqns. (16)-(36)"),)

    contact_memory: ClassVar[int] = 1  # the last normal impulse: whether the contact pressed

    mu: Value = friction(0.8, "coefficient of static friction", "mu_S")
    mu_K: Value | None = kinetic_friction()
    e_N: Value = restitution(0.0, "normal", "coefficient of restitution")
    v_0: Value = parameter(
        1e-2, "m/s", "speed above which a contact slides, or rebounds", "[0, inf)"
    )
    damping: Value = parameter(1e-9, "1/kg^2", "damping of the least squares", "[0, inf)", "lambda")
    passes: Passes = passes_choice()

    def considers_closed(self, contact: Contact, memory: SX) -> SX:
        """Return 1 as for every hard law; with `passes="once"`, where the gap is closed."""
        return (
            super().considers_closed(contact, memory)
            if self.passes == "consistent"
            else contact.gap <= 0
        )

    def solve(
        self, problem: ContactProblem, p: Any, memory: SX, builder: Builder
    ) -> ContactSolution:
        p = with_kinetic(p)
        if self.passes == "once":
            minimized = single_pass(problem, p, builder)
        else:
            pressed = [self.memory_of(memory, i)[0] > 0 for i in range(problem.n)]
            minimized = minimize(*set_up(problem, pressed, p, builder), builder)
        normals = ca.vertcat(*(impulse[0] for impulse in minimized.impulses))
        return ContactSolution(minimized.impulses, normals, minimized.passes, minimized.converged)
