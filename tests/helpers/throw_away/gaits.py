"""Temporary gait: all motors off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from tarsus.control.base import ControlInputs, Controller
from tarsus.parameters import parameter
from tarsus.references.reference import Citation, Reference

NOBODY = Reference("Nobody 2026", "misc", ("Nobody",), "A test", "2026")


@dataclass(frozen=True)
class ThrowAway(Controller):
    """Zero torques."""

    citation: ClassVar[Citation] = (NOBODY.at(),)

    offset: float = parameter(0.0, "N m", "the same torque for every motor")

    def torque(self, inputs: ControlInputs) -> tuple[ca.SX, ca.SX]:
        return self.offset + ca.SX.zeros(len(inputs.mechanism.actuators)), inputs.memory
