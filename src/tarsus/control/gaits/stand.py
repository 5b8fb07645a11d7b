"""Hold the initial posture with joint servos."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca

from tarsus.control.base import ControlInputs, Controller
from tarsus.control.pd import (
    Gain,
    actuated_posture,
    derivative_gain,
    joint_state,
    pd_torque,
    per_motor,
    proportional_gain,
)
from tarsus.parameters import array
from tarsus.references.books import SICILIANO_2009
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Stand(Controller):
    """Controller that holds `initial_coordinates`.

    Each gain, and the torque `feedforward` that supports the robot's weight, is one number or one
    per actuator.
    """

    citation: ClassVar[Citation] = (SICILIANO_2009.at("chapter 8"),)
    kp: Gain = proportional_gain(40.0)
    kd: Gain = derivative_gain(1.0)
    feedforward: Gain = array(
        0.0, "N m", "torque added to that of the servos, one or one per motor"
    )

    def torque(self, inputs: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Compute the torques, shape (n_actuators,), in N m; the gait has no memory."""
        desired = actuated_posture(inputs.mechanism, self.initial_coordinates(inputs.mechanism))
        angles, rates = joint_state(inputs.mechanism, inputs.q, inputs.u)
        still = ca.SX.zeros(desired.shape)
        torque = pd_torque(desired, still, angles, rates, (self.kp, self.kd))
        return torque + per_motor("feedforward", self.feedforward, angles.numel()), inputs.memory
