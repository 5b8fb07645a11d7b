"""Squat and sway on two flat feet: a standing motion without rest.

The center of mass moves up and down, and from foot to foot, as sines of time. The torques come from
inverse dynamics (`control.inverse_dynamics`), and the forces on the feet change continuously.
Sugihara 2006 shows the contact forces of a standing motion but does not describe the motion; this
one is our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.base import ControlInputs, require_suitable
from tarsus.control.double_support import DoubleSupport
from tarsus.control.inverse_dynamics import WholeBody
from tarsus.control.stance import HEIGHT_GAIN, FlatFootedController, measure_stance
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.references.papers import SUGIHARA_2006
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Squat(FlatFootedController):
    """Controller that squats and sways repeatedly on two flat soles."""

    citation: ClassVar[Citation] = (SUGIHARA_2006.at("Figs. 7 and 8: a standing motion"),)

    depth: float = parameter(
        0.15,
        "[1]",
        "depth of a squat, as a fraction of the height of the center of mass",
        "[0, 0.8]",
    )
    sway: float = parameter(
        0.3, "[1]", "sideways motion towards each foot, as a fraction of their distance", "[0, 0.5]"
    )
    frequency: float = parameter(0.5, "Hz", "squats per second", "(0, 10]")
    ramp: float = parameter(1.0, "s", "time until full depth and sway", "(0, 100]")
    crouch: float = parameter(
        0.03, "[1]", "lowering of the trunk at the start, as a fraction of h", "[0, 0.5]"
    )

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Return an empty memory."""
        require_suitable(self, mechanism)
        return np.zeros(0)

    def torque(self, inputs: ControlInputs) -> tuple[SX, SX]:
        """Compute the torques, shape (n_actuators,), in N m; there is no memory."""
        robot = measure_stance(inputs.mechanism, self.initial_coordinates(inputs.mechanism))
        rate = sqrt(robot.gravity / robot.height)
        support = DoubleSupport(WholeBody.of(inputs.mechanism, inputs.q, inputs.u), robot, rate)

        # down and up at the frequency, left and right at half of it
        down, sideways = self.depth * robot.height / 2, self.sway * robot.width
        fast, slow = 2 * pi * self.frequency, pi * self.frequency
        ramp = ca.fmin(inputs.t / self.ramp, 1.0)
        vertical_phase, lateral_phase = fast * inputs.t, slow * inputs.t
        position = ca.vertcat(
            0, sideways * ca.sin(lateral_phase), down * (ca.cos(vertical_phase) - 1)
        )
        velocity = ca.vertcat(
            0, sideways * slow * ca.cos(lateral_phase), -down * fast * ca.sin(vertical_phase)
        )
        acceleration = ca.vertcat(
            0, -sideways * slow**2 * ca.sin(lateral_phase), -down * fast**2 * ca.cos(vertical_phase)
        )
        start = ca.vertcat(0, 0, robot.height)

        push = support.com_acceleration(
            start + ramp * position, ramp * velocity, ramp * acceleration, HEIGHT_GAIN * rate
        )
        return support.torques(push, support.fixed_soles(), support.loads(push)), inputs.memory
