"""A jump on two flat feet: crouch, push, flight, compliant landing, and standing after it.

The center of mass is told where to be while it crouches and with which acceleration to rise while
it pushes. In the air the soles are carried along level, at the distance from the center of mass
that they left the ground with. When they meet the ground, the height's servo, soft against the
impact, takes the robot back to where it stood. Everything is by inverse dynamics
(`control.inverse_dynamics`). Sugihara 2006 shows a jump without saying how; this one is ours.

While it pushes, the trunk gives way so that no angular momentum is left when the feet leave the
ground: nothing could stop it in the air.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
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

CALM = 6.0  # of sqrt(g / h), 1/s: how soon a push is to leave no angular momentum
SETTLED = 0.3  # of the crouch's time, in which it waits at the bottom
LANDED = 0.002  # of h: soles nearer to the ground have landed
WAITS, PUSHES, FLIES, LANDS = range(4)


@dataclass(frozen=True)
class Jump(OnFlatFeet):
    """Jumps once with two legs on flat soles, and stands."""

    citation: ClassVar[Citation] = (SUGIHARA_2006.at("Fig. 12: a jump"),)

    start: float = parameter(0.3, "s", "when it begins to crouch", "[0, 1000]")
    duration: float = parameter(0.8, "s", "of the crouch", "(0, 100]")
    depth: float = parameter(
        0.2, "[1]", "how far the center of mass goes down, as a part of its height", "(0, 0.8]"
    )
    thrust: float = parameter(1.2, "[1]", "acceleration of the push, as a part of g", "(0, 20]")
    leave: float = parameter(
        0.97, "[1]", "height at which the push ends, as a part of that it stands at", "(0, 1]"
    )
    crouch: float = parameter(0.03, "[1]", "lowering of the trunk at the start", "[0, 0.5]")

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Stage; height of the ground; the soles against the center of mass at take-off (6,), m."""
        require(self, mechanism)
        return np.zeros(8)

    def torque(self, now: ControlInputs) -> tuple[SX, SX]:
        """Torques (n_actuators,) N m; memory: see `initial_memory`."""
        robot = stance(now.mechanism, self.initial_coordinates(now.mechanism))
        rate = sqrt(robot.gravity / robot.height)
        feet = TwoFeet(Stander.of(now.mechanism, now.q, now.u), robot, rate)
        stage, ground = now.memory[0], now.memory[1]
        center, velocity = feet.stander.center
        soles = [sole.place for sole in feet.stander.soles]
        flies = stage == FLIES

        # on the ground: down, up, and back to standing
        still, high = SX.zeros(3), robot.height
        s = ca.fmin(ca.fmax((now.t - self.start) / ((1 - SETTLED) * self.duration), 0.0), 1.0)
        down = self.depth * high * s * s * (3 - 2 * s)
        held = ca.vertcat(0, 0, high - ca.if_else(stage == WAITS, down, 0.0))
        push = feet.push(held, still, still, HIGH * rate)
        push[2] = ca.if_else(stage == PUSHES, self.thrust * robot.gravity, push[2])

        # in the air: the soles go with the center of mass
        falling = SX([0, 0, -robot.gravity])
        carried = [center + now.memory[2 + 3 * k : 5 + 3 * k] for k in range(2)]
        aloft = feet.carried(carried, velocity, falling)
        resting = feet.resting()
        asked = ca.if_else(flies, falling, push)
        motions = [ca.if_else(flies, a, b) for a, b in zip(aloft, resting, strict=True)]
        loads = [(1 - flies) * load for load in feet.loads(push)]
        calm = (stage == PUSHES) * (CALM * rate)
        tau = feet.torques(asked, motions, loads, calm)

        # the next stage
        above = center[2] - feet.middle[2]
        low = ca.fmin(*(sole[2] for sole in soles)) - ground < LANDED * high
        ends = [
            now.t >= self.start + self.duration,
            above >= self.leave * high,
            low * (velocity[2] < 0),
        ]
        after = stage + sum((stage == k) * end for k, end in enumerate(ends))
        kept = [ca.if_else(flies, now.memory[1], feet.middle[2])]
        kept += [
            ca.if_else(flies, now.memory[2 + 3 * k : 5 + 3 * k], sole - center)
            for k, sole in enumerate(soles)
        ]
        return tau, ca.vertcat(after, *kept)
