"""DC motor: back-EMF, limits of voltage and current, and the temperature of its winding.

The motor turns with N times the rate u of its joint. With K = N k, the torque per current at the
joint, which is also the back-EMF per rate, the current i that the supply V can drive is limited by

    R(T) i + K u <= V,      i <= I d(T),

so that the torque along the motion is at most min(K V / R - K^2 u / R, K I d), and not below zero.
The speed at which it vanishes is V / K. The winding heats as a body of first order,

    tau_th T' = T_a + R_th R(T) i^2 - T,      R(T) = R (1 + 0.00393 (T - 25)),

and the drive lowers the limit of the current linearly to zero over the last kelvins below the
largest temperature: d(T) = clip((T_max - T) / range, 0, 1).

A brushless motor is the DC motor of its quadrature axis. Inductance is not modeled; `lag` stands
for the bandwidth of the current loop. A motor that is driven faster than V / K does not brake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.control.actuators.base import ActuatorInputs, ActuatorModel, Array
from tarsus.dynamics.actuator_force import MotorEffects, TorqueSpeedLine
from tarsus.parameters import array
from tarsus.references.data import CHEETAH_SOFTWARE
from tarsus.references.reference import Citation

COPPER = 0.00393  # 1/K: relative increase of the resistance of copper
REFERENCE_TEMPERATURE = 25.0  # degrees Celsius, of `resistance`


@dataclass(frozen=True, eq=False)
class DcMotor(ActuatorModel):
    """DC motor behind a gear; the defaults are a hip motor of Mini Cheetah.

    `getTorque` of its source has the torque 1.5 F i and the back-EMF 2 F w, with the flux linkage
    F = 0.05 V s/rad and 0.173 ohm. A DC motor with 2 F and 2 / 1.5 times that resistance has the
    same torque-speed curve. The numbers of the winding's temperature are estimates.
    """

    citation: ClassVar[Citation] = (CHEETAH_SOFTWARE.at("getTorque; temperatures: ESTIMATE"),)

    torque_constant: Any = array(
        0.1, "N m/A", "torque per current of the motor, and back-EMF per rate", "(0, 1e3]"
    )
    resistance: Any = array(0.2307, "ohm", "resistance of the winding at 25 C", "(0, 1e6]")
    voltage: Any = array(24.0, "V", "supply voltage", "(0, 1e6]")
    max_current: Any = array(30.0, "A", "limit of the current", "(0, 1e6]")
    reduction: Any = array(6.0, "[1]", "turns of the motor per turn of the joint", "(0, 1e5]")
    thermal_resistance: Any = array(
        0.0, "K/W", "temperature rise per loss; 0: the winding stays cool", "[0, 1e4]"
    )
    thermal_time_constant: Any = array(60.0, "s", "time constant of the winding", "(0, 1e6]")
    ambient_temperature: Any = array(25.0, "C", "temperature of the air", "[-200, 500]")
    max_temperature: Any = array(
        125.0, "C", "temperature of the winding at which the current is zero", "[-200, 1000]"
    )
    derating_range: Any = array(
        25.0, "K", "range below it in which the limit of the current falls", "(0, 1e3]"
    )

    def initial_memory(self, actuators: int) -> Mapping[str, Array]:
        """Return the temperatures of the windings, those of the air."""
        return {"temperature": np.zeros(actuators) + self.ambient_temperature}

    def apply(self, inputs: ActuatorInputs, motor: MotorEffects) -> MotorEffects:
        """Limit the torque by voltage and current."""
        K, temperature = self.reduction * self.torque_constant, inputs.memory["temperature"]
        cool = (self.max_temperature - temperature) / self.derating_range
        current = self.max_current * ca.fmin(ca.fmax(cool, 0), 1)
        line = TorqueSpeedLine(
            K * current, K * self.voltage / self._hot_resistance(inputs), self.voltage / K
        )
        return motor.with_line(line)

    def advance(self, inputs: ActuatorInputs, torque: SX) -> Mapping[str, SX]:
        """Heat the windings: exact for constant losses during the step."""
        current = torque / (self.reduction * self.torque_constant)
        loss = self._hot_resistance(inputs) * current * current
        final = self.ambient_temperature + self.thermal_resistance * loss
        decay = ca.exp(-inputs.dt / self.thermal_time_constant)
        return {"temperature": final + (inputs.memory["temperature"] - final) * decay}

    def _hot_resistance(self, inputs: ActuatorInputs) -> SX:
        """Compute the resistance of the windings at their temperatures, in ohm."""
        return self.resistance * (
            1 + COPPER * (inputs.memory["temperature"] - REFERENCE_TEMPERATURE)
        )
