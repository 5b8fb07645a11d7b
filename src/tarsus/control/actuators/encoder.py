"""Encoder of the servos: offset and resolution of the measured joint coordinates.

The servo measures r = round((q + offset) / resolution) resolution, and as the rate the difference
quotient of these readings: u + (e - e_0) / dt, where e = r - q - offset is the error of rounding
now and e_0 that of the step before. The simulation's own coordinates stay exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.control.actuators.base import ActuatorInputs, ActuatorModel, Array
from tarsus.dynamics.actuator_force import MotorEffects
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import array

MIN_RESOLUTION = 1e-12  # rad, m; a finer encoder is exact
NO_READING = 1e30  # memory before the first reading


@dataclass(frozen=True, eq=False)
class Encoder(ActuatorModel):
    """Encoder with an offset and a resolution; the default has 14 bits per turn of the joint."""

    encoder_offset: Any = array(
        0.0, "rad", "measured minus true coordinate, before rounding", "[-100, 100]"
    )
    encoder_resolution: Any = array(
        2 * np.pi / 2**14, "rad", "distance between two readings; 0: exact", "[0, 10]"
    )

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        """Demand an actuator whose force depends on its joint's coordinate or rate."""
        if any(actuator.depends_on_state for actuator in mechanism.file_actuators):
            return None
        return "none of its actuators is a servo, which reads the joint"

    def initial_memory(self, actuators: int) -> Mapping[str, Array]:
        """Return the errors of rounding before the first reading, which are unknown."""
        return {"rounding_error": np.full(actuators, NO_READING)}

    def apply(self, inputs: ActuatorInputs, motor: MotorEffects) -> MotorEffects:
        """Add the errors of coordinate and rate to those of the models before."""
        error, before = self._rounding_error(inputs), inputs.memory["rounding_error"]
        rate = ca.if_else(before == NO_READING, 0, (error - before) / inputs.dt)
        return motor.with_errors(self.encoder_offset + error, rate)

    def advance(self, inputs: ActuatorInputs, torque: SX) -> Mapping[str, SX]:
        """Remember the error of this reading."""
        return {"rounding_error": self._rounding_error(inputs)}

    def _rounding_error(self, inputs: ActuatorInputs) -> SX:
        """Compute the reading minus the coordinate with its offset, (n,)."""
        exact, step = inputs.q + self.encoder_offset, self.encoder_resolution
        rounded = ca.floor(exact / ca.fmax(step, MIN_RESOLUTION) + 0.5) * step
        return ca.if_else(step > MIN_RESOLUTION, rounded - exact, 0)
