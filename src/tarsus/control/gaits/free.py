"""No torques: the legs swing freely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from tarsus.control.base import ControlInputs, Controller
from tarsus.references.papers import OGUNSOLA
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Free(Controller):
    """The motors do nothing; the joints' own damping stays."""

    citation: ClassVar[Citation] = (OGUNSOLA.at("the controller is exchangeable"),)

    def torque(self, now: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """No torques (n_actuators,); no memory."""
        return ca.SX.zeros(len(now.mechanism.actuators)), now.memory
