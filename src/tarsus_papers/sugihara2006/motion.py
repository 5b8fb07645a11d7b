"""The standing motion of Figs. 7 and 8: a squat and a sway, soles flat on the ground.

The paper names a "standing motion" and prints none: depth, way and period are ours.
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
    derivative_gain,
    joint_state,
    pd_torque,
    places,
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
    """HOAP-1 on both feet: its trunk goes down and up, and to both sides, upright all the time.

    The legs' angles follow in closed form: thigh and shank are of one length, the soles stay flat
    if the ankle turns back what hip and knee turn. Joint servos with the rate fed forward.
    """

    citation: ClassVar[Citation] = (SICILIANO_2009.at("chapter 8"),)
    kp: Gain = proportional_gain(40.0)
    kd: Gain = derivative_gain(1.0)
    depth: float = parameter(0.02, "m", "how far it goes down", "[0, 0.05]")
    sway: float = parameter(0.012, "m", "how far it goes to each side", "[0, 0.03]")
    period: float = parameter(2.0, "s", "of the sway; a squat takes half of it", "(0, inf)")
    start: float = parameter(1.0, "s", "until the sway has its full way", "(0, inf)")

    def torque(self, now: ControlInputs) -> tuple[SX, SX]:
        """Torques (n_actuators,) N m; no memory."""
        # targets as functions of time alone, so that their rates are exact
        t = SX.sym("t")
        desired = self._targets(now, t)
        rate = ca.jacobian(desired, t)
        desired, rate = (ca.substitute(value, t, now.t) for value in (desired, rate))
        angles, rates = joint_state(now.mechanism, now.q, now.u)
        return pd_torque(desired, rate, angles, rates, (self.kp, self.kd)), now.memory

    def _targets(self, now: ControlInputs, t: SX) -> SX:
        """Angles (n_actuators,) of all joints at time t."""
        omega = 2 * np.pi / self.period
        height = 2 * LINK * np.cos(STAND["J3_pitch"]) - self.depth * 0.5 * (
            1 - ca.cos(2 * omega * t)
        )
        begun = ca.fmin(t / self.start, 1)
        aside = self.sway * begun * begun * (3 - 2 * begun) * ca.sin(omega * t)
        length, roll = ca.sqrt(height * height + aside * aside), -ca.atan2(aside, height)
        bent = ca.acos(length / (2 * LINK))
        angles = {"J2_roll": roll, "J3_pitch": -bent, "J4_knee": 2 * bent}
        angles |= {"J5_ankle_pitch": -bent, "J6_ankle_roll": -roll}
        desired = actuated_posture(now.mechanism, self.initial_coordinates(now.mechanism))
        for leg in LEGS:
            at = places(now.mechanism, [f"{leg}_{name}" for name in angles])
            desired[at] = ca.vertcat(*angles.values())
        return desired
