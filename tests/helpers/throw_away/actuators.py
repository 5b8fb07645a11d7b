"""Temporary actuator model: an encoder whose error grows with the angle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tarsus.control.actuators.base import ActuatorInputs, ActuatorModel
from tarsus.dynamics.actuator_force import MotorEffects
from tarsus.parameters import array


@dataclass(frozen=True, eq=False)
class ThrowAway(ActuatorModel):
    """Measured angle over true angle."""

    stretch: Any = array(1.01, "[1]", "measured over true angle", "(0, 10]")

    def apply(self, inputs: ActuatorInputs, motor: MotorEffects) -> MotorEffects:
        return replace(motor, position_error=(self.stretch - 1) * inputs.q)
