"""Moreau's law with a second friction coefficient, to ask the tosses where friction is less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from tarsus.contact.laws.moreau import Moreau, friction_coefficient
from tarsus.contact.problem import ContactProblem
from tarsus.parameters import Value, choice, friction

FACE = 3  # corners that carry a face


@dataclass(frozen=True)
class TwoFrictions(Moreau):
    """mu where the cube slides on a face, `mu_other` elsewhere: where a corner lands that did not
    press in the last step, or wherever fewer than three corners pressed.
    """

    not_modeled: ClassVar[Mapping[str, str]] = Moreau.not_modeled

    mu_other: Value = friction(0.15, "friction coefficient elsewhere")
    where: str = choice(
        "landing",
        "where the other coefficient holds",
        landing="of a contact that did not press in the last step",
        edges="of all contacts while fewer than three pressed in the last step",
    )

    def friction(self, problem: ContactProblem, i: int, p: Any, memory: SX) -> SX:
        pressed = [self.memory_of(memory, k)[0] > 0 for k in range(problem.n)]
        flat = sum(pressed, SX(0)) >= FACE
        usual = pressed[i] if self.where == "landing" else flat
        own = friction_coefficient(problem.contacts[i], p)
        other = problem.contacts[i].friction * p.mu_other
        return ca.if_else(usual, own, other)
