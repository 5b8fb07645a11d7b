"""Throw-away law: a spring and a damper, without friction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import ForceLaw
from tarsus.contact.problem import Contact
from tarsus.references.reference import Citation, Reference

NOBODY = Reference("Nobody 2026", "misc", ("Nobody",), "A test", "2026")


@dataclass(frozen=True)
class ThrowAway(ForceLaw):
    """Normal force k * depth - d * velocity.

    mu: unused, -; k: stiffness, N/m; d: damping, N s/m.
    """

    citation: ClassVar[Citation] = (NOBODY.at("Eqn. (1)"),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "friction": "the ground is smooth",
        "sticking": "the ground is smooth",
        "rigid": "a spring gives way",
        "restitution": "follows from damping",
    }

    mu: float | NDArray = 0.0
    k: float | NDArray = 20000.0
    d: float | NDArray = 100.0

    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        normal = ca.fmax(-p.k * contact.gap - p.d * contact.velocity[0], 0)
        return ca.vertcat(normal, 0, 0), memory
