"""Jump on two flat feet: crouch, push-off, flight, compliant landing and standing.

The center of mass follows a position during the crouch and an upward acceleration during the
push-off. In flight the soles stay level, at the distance from the center of mass that they had at
take-off. After touch-down the height servo, soft against the impact, returns the robot to where it
stood. All torques come from inverse dynamics (`control.inverse_dynamics`). Sugihara 2006 shows a
jump but does not describe its controller.

During the push-off the trunk may tilt, so that no angular momentum remains at take-off; it could
not be removed in the air.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
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

MOMENTUM_DAMPING = 6.0  # rate of momentum removal in push-off, in units of sqrt(g / h), 1/s
BOTTOM_SHARE = 0.3  # share of the crouch's duration spent at the bottom
LANDING_HEIGHT = 0.002  # height of a sole below which it has landed, in units of h
CROUCH, PUSH_OFF, FLIGHT, LANDING = range(4)


@dataclass(frozen=True)
class Jump(FlatFootedController):
    """Controller that jumps once on two flat soles, and then stands."""

    citation: ClassVar[Citation] = (SUGIHARA_2006.at("Fig. 12: a jump"),)

    start: float = parameter(0.3, "s", "time at which the crouch begins", "[0, 1000]")
    duration: float = parameter(0.8, "s", "duration of the crouch", "(0, 100]")
    depth: float = parameter(
        0.2,
        "[1]",
        "depth of the crouch, as a fraction of the height of the center of mass",
        "(0, 0.8]",
    )
    thrust: float = parameter(1.2, "[1]", "acceleration of the push-off, in units of g", "(0, 20]")
    takeoff_height: float = parameter(
        0.97,
        "[1]",
        "height at which the push-off ends, as a fraction of the standing height",
        "(0, 1]",
    )
    crouch: float = parameter(
        0.03, "[1]", "lowering of the trunk at the start, as a fraction of h", "[0, 0.5]"
    )

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Return the stage, the ground height and the soles at take-off, in m.

        The soles, six numbers, are relative to the center of mass.
        """
        require_suitable(self, mechanism)
        return np.zeros(8)

    def torque(self, inputs: ControlInputs) -> tuple[SX, SX]:
        """Compute torques, shape (n_actuators,), in N m, and memory (see `initial_memory`)."""
        robot = measure_stance(inputs.mechanism, self.initial_coordinates(inputs.mechanism))
        rate = sqrt(robot.gravity / robot.height)
        support = DoubleSupport(WholeBody.of(inputs.mechanism, inputs.q, inputs.u), robot, rate)
        stage, ground = inputs.memory[0], inputs.memory[1]
        center, velocity = support.body.center_of_mass
        soles = [sole.position for sole in support.body.soles]
        flying = stage == FLIGHT

        # on the ground: down, up, and back to standing height
        zero, height = SX.zeros(3), robot.height
        s = ca.fmin(
            ca.fmax((inputs.t - self.start) / ((1 - BOTTOM_SHARE) * self.duration), 0.0), 1.0
        )
        down = self.depth * height * s * s * (3 - 2 * s)
        target = ca.vertcat(0, 0, height - ca.if_else(stage == CROUCH, down, 0.0))
        push = support.com_acceleration(target, zero, zero, HEIGHT_GAIN * rate)
        push[2] = ca.if_else(stage == PUSH_OFF, self.thrust * robot.gravity, push[2])

        # in the air: the soles move with the center of mass
        falling = SX([0, 0, -robot.gravity])
        targets = [center + inputs.memory[2 + 3 * k : 5 + 3 * k] for k in range(2)]
        flight_soles = support.moving_soles(targets, velocity, falling)
        standing_soles = support.fixed_soles()
        acceleration = ca.if_else(flying, falling, push)
        motions = [
            ca.if_else(flying, a, b) for a, b in zip(flight_soles, standing_soles, strict=True)
        ]
        loads = [(1 - flying) * load for load in support.loads(push)]
        momentum_damping = (stage == PUSH_OFF) * (MOMENTUM_DAMPING * rate)
        tau = support.torques(acceleration, motions, loads, momentum_damping)

        # the next stage
        above = center[2] - support.middle[2]
        touching = ca.fmin(*(sole[2] for sole in soles)) - ground < LANDING_HEIGHT * height
        ends = [
            inputs.t >= self.start + self.duration,
            above >= self.takeoff_height * height,
            touching * (velocity[2] < 0),
        ]
        next_stage = stage + sum((stage == k) * end for k, end in enumerate(ends))
        remembered = [ca.if_else(flying, inputs.memory[1], support.middle[2])]
        remembered += [
            ca.if_else(flying, inputs.memory[2 + 3 * k : 5 + 3 * k], sole - center)
            for k, sole in enumerate(soles)
        ]
        return tau, ca.vertcat(next_stage, *remembered)
