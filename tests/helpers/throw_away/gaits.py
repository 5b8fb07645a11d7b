"""Throw-away gait: every motor is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from tarsus.control.base import Controller
from tarsus.model.mechanism import Mechanism
from tarsus.references.reference import Citation, Reference

NOBODY = Reference("Nobody 2026", "misc", ("Nobody",), "A test", "2026")


@dataclass(frozen=True)
class ThrowAway(Controller):
    """Limp; offset: the same torque for every motor, N m."""

    citation: ClassVar[Citation] = (NOBODY.at(),)

    offset: float = 0.0

    def torque(
        self,
        mechanism: Mechanism,
        t: ca.SX,
        q: ca.SX,
        u: ca.SX,
        command: ca.SX,
        memory: ca.SX,
        dt: ca.SX,
    ) -> tuple[ca.SX, ca.SX]:
        return self.offset + ca.SX.zeros(len(mechanism.actuators)), memory
