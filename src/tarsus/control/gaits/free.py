"""Zero torques: the legs swing freely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from tarsus.control.base import ControlInputs, Controller
from tarsus.references.papers import OGUNSOLA
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Free(Controller):
    """Controller that applies no torques; only the joints' own damping acts."""

    citation: ClassVar[Citation] = (OGUNSOLA.at("the controller is exchangeable"),)

    def torque(self, inputs: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Return zero torques, shape (n_actuators,), and the empty memory."""
        return ca.SX.zeros(len(inputs.mechanism.actuators)), inputs.memory
