"""Standing motion of Figs. 7 and 8: a squat and a sway with the soles flat on the ground.

The paper mentions a "standing motion" without printing it: depth, sway and period are our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.control.base import ControlInputs, Controller
from tarsus.control.pd import (
    Gain,
    actuated_posture,
    actuator_indices,
    derivative_gain,
    joint_state,
    pd_torque,
    proportional_gain,
)
from tarsus.parameters import parameter
from tarsus.references.books import SICILIANO_2009
from tarsus.references.reference import Citation
from tarsus.robots.hoap1 import KNEE_IN_THIGH, STAND

LINK = -KNEE_IN_THIGH[2]  # m: thigh and shank of HOAP-1
LEGS = ("RLEG", "LLEG")


@dataclass(frozen=True)
class SquatAndSway(Controller):
    """Squat and sway of HOAP-1 on both feet, with the trunk upright.

    The leg angles have a closed form: thigh and shank have the same length, and the soles stay flat
    if the ankle compensates hip and knee. Joint servos track them with feedforward of the rates.
    """

    citation: ClassVar[Citation] = (SICILIANO_2009.at("chapter 8"),)
    kp: Gain = proportional_gain(40.0)
    kd: Gain = derivative_gain(1.0)
    depth: float = parameter(0.02, "m", "depth of a squat", "[0, 0.05]")
    sway: float = parameter(0.012, "m", "amplitude of the sideways motion", "[0, 0.03]")
    period: float = parameter(2.0, "s", "period of the sway, twice that of a squat", "(0, inf)")
    start: float = parameter(1.0, "s", "time until full sway", "(0, inf)")

    def torque(self, inputs: ControlInputs) -> tuple[SX, SX]:
        """Return torques, shape (n_actuators,), in N m; there is no memory."""
        # targets depend on time only, so that their rates are exact
        t = SX.sym("t")
        desired = self._targets(inputs, t)
        rate = ca.jacobian(desired, t)
        desired, rate = (ca.substitute(value, t, inputs.t) for value in (desired, rate))
        angles, rates = joint_state(inputs.mechanism, inputs.q, inputs.u)
        return pd_torque(desired, rate, angles, rates, (self.kp, self.kd)), inputs.memory

    def _targets(self, inputs: ControlInputs, t: SX) -> SX:
        """Return the angles of all joints at time t, shape (n_actuators,)."""
        omega = 2 * np.pi / self.period
        height = 2 * LINK * np.cos(STAND["J3_pitch"]) - self.depth * 0.5 * (
            1 - ca.cos(2 * omega * t)
        )
        ramp = ca.fmin(t / self.start, 1)
        sideways = self.sway * ramp * ramp * (3 - 2 * ramp) * ca.sin(omega * t)
        length, roll = ca.sqrt(height * height + sideways * sideways), -ca.atan2(sideways, height)
        half_knee = ca.acos(length / (2 * LINK))
        angles = {"J2_roll": roll, "J3_pitch": -half_knee, "J4_knee": 2 * half_knee}
        angles |= {"J5_ankle_pitch": -half_knee, "J6_ankle_roll": -roll}
        desired = actuated_posture(inputs.mechanism, self.initial_coordinates(inputs.mechanism))
        for leg in LEGS:
            indices = actuator_indices(inputs.mechanism, [f"{leg}_{name}" for name in angles])
            desired[indices] = ca.vertcat(*angles.values())
        return desired
