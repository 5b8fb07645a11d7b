"""First-order lag of the torque, such as that of a current loop or a series of filters.

The joint gets the torque tau of T tau' = f - tau, where f is the torque that the actuator's law
demands. Over a step with the demand at its end, the solution is exact:

    tau_1 = exp(-dt / T) tau_0 + (1 - exp(-dt / T)) f_1.

Limits of the torque, such as a torque-speed curve, act on tau.
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
from tarsus.parameters import array

MIN_TIME_CONSTANT = 1e-9  # s; exp(-dt / T) is zero below it


@dataclass(frozen=True, eq=False)
class Lag(ActuatorModel):
    """First-order lag; the default is a bandwidth of 53 Hz, an estimate."""

    time_constant: Any = array(3e-3, "s", "time constant of the torque; 0: no lag", "[0, 1e3]")

    def initial_memory(self, actuators: int) -> Mapping[str, Array]:
        """Return the torques before the first step, which are zero."""
        return {"torque": np.zeros(actuators)}

    def apply(self, inputs: ActuatorInputs, motor: MotorEffects) -> MotorEffects:
        """Blend the torque of the last step with that of the law."""
        decay = ca.exp(-inputs.dt / ca.fmax(self.time_constant, MIN_TIME_CONSTANT))
        return motor.blended(decay, inputs.memory["torque"])

    def advance(self, inputs: ActuatorInputs, torque: SX) -> Mapping[str, SX]:
        """Store the torques of this step."""
        return {"torque": torque}
