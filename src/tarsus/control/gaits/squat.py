"""Squat and sway on two flat feet: a standing motion that never rests.

The center of mass goes down and up, and from foot to foot, as sines of time; the torques are those
of inverse dynamics (`control.inverse_dynamics`), the forces on the feet change all the time.
Sugihara 2006 shows contact forces of a standing motion without saying which; this one is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.base import ControlInputs, require
from tarsus.control.inverse_dynamics import Stander
from tarsus.control.stance import HIGH, OnFlatFeet, stance
from tarsus.control.two_feet import TwoFeet
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.references.papers import SUGIHARA_2006
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Squat(OnFlatFeet):
    """Squats and sways with two legs on flat soles, again and again."""

    citation: ClassVar[Citation] = (SUGIHARA_2006.at("Figs. 7 and 8: a standing motion"),)

    depth: float = parameter(
        0.15, "[1]", "how far the center of mass goes down, as a part of its height", "[0, 0.8]"
    )
    sway: float = parameter(
        0.3, "[1]", "how far it goes to either foot, as a part of their distance", "[0, 0.5]"
    )
    frequency: float = parameter(0.5, "Hz", "squats per second", "(0, 10]")
    ramp: float = parameter(1.0, "s", "time to full depth and sway", "(0, 100]")
    crouch: float = parameter(0.03, "[1]", "lowering of the trunk at the start", "[0, 0.5]")

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Empty."""
        require(self, mechanism)
        return np.zeros(0)

    def torque(self, now: ControlInputs) -> tuple[SX, SX]:
        """Torques (n_actuators,) N m; no memory."""
        robot = stance(now.mechanism, self.initial_coordinates(now.mechanism))
        rate = sqrt(robot.gravity / robot.height)
        feet = TwoFeet(Stander.of(now.mechanism, now.q, now.u), robot, rate)

        # down and up once, left and right every second time
        down, aside = self.depth * robot.height / 2, self.sway * robot.width
        fast, slow = 2 * pi * self.frequency, pi * self.frequency
        grown = ca.fmin(now.t / self.ramp, 1.0)
        own, across = fast * now.t, slow * now.t
        place = ca.vertcat(0, aside * ca.sin(across), down * (ca.cos(own) - 1))
        moving = ca.vertcat(0, aside * slow * ca.cos(across), -down * fast * ca.sin(own))
        bent = ca.vertcat(0, -aside * slow**2 * ca.sin(across), -down * fast**2 * ca.cos(own))
        start = ca.vertcat(0, 0, robot.height)

        push = feet.push(start + grown * place, grown * moving, grown * bent, HIGH * rate)
        return feet.torques(push, feet.resting(), feet.loads(push)), now.memory
