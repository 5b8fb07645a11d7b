"""Temporary law: a spring and a damper, without friction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from tarsus.contact.base import ForceLaw
from tarsus.contact.problem import Contact
from tarsus.parameters import Value, damping, friction, stiffness
from tarsus.references.reference import Citation, Reference

NOBODY = Reference("Nobody 2026", "misc", ("Nobody",), "A test", "2026")


@dataclass(frozen=True)
class ThrowAway(ForceLaw):
    """Normal force k * depth - d * velocity."""

    citation: ClassVar[Citation] = (NOBODY.at("Eqn. (1)"),)
    not_modeled: ClassVar[Mapping[str, str]] = {
        "friction": "the ground is smooth",
        "sticking": "the ground is smooth",
        "rigid": "a spring gives way",
        "restitution": "follows from damping",
    }

    mu: Value = friction(0.0, "not used")
    k: Value = stiffness(20000.0, "N/m", "of the ground")
    d: Value = damping(100.0, "N s/m", "of the ground")

    def force(self, contact: Contact, p: Any, memory: SX) -> tuple[SX, SX]:
        normal = ca.fmax(-p.k * contact.gap - p.d * contact.velocity[0], 0)
        return ca.vertcat(normal, 0, 0), memory
