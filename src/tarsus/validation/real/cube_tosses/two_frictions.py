"""Moreau's law with a second friction coefficient, to find where the tosses have less friction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from tarsus.contact.laws.moreau import Moreau, friction_coefficient
from tarsus.contact.problem import ContactProblem
from tarsus.parameters import Value, choice, friction

FACE_CORNERS = 3  # loaded corners of a cube that rests on a face


@dataclass(frozen=True)
class TwoFrictions(Moreau):
    """Rigid contact with `mu` while the cube slides on a face, and `mu_other` elsewhere.

    Elsewhere means a contact that carried no load in the last step, or all contacts while fewer
    than three carried load.
    """

    not_modeled: ClassVar[Mapping[str, str]] = Moreau.not_modeled

    mu_other: Value = friction(0.15, "friction coefficient elsewhere")
    where: str = choice(
        "landing",
        "contacts with the other coefficient",
        landing="a contact that carried no load in the last step",
        edges="all contacts while fewer than three carried load in the last step",
    )

    def friction(self, problem: ContactProblem, i: int, p: Any, memory: SX) -> SX:
        loaded = [self.memory_of(memory, k)[0] > 0 for k in range(problem.n)]
        flat = sum(loaded, SX(0)) >= FACE_CORNERS
        use_mu = loaded[i] if self.where == "landing" else flat
        mu = friction_coefficient(problem.contacts[i], p)
        mu_other = problem.contacts[i].friction * p.mu_other
        return ca.if_else(use_mu, mu, mu_other)
