"""Diagonal legs step together, by a pattern generator and foot paths.

Teixeira de Paula 2024, section 6.2: a central pattern generator drives the stance and swing
curves of each foot, closed-form inverse kinematics turns them into joint angles, a PD servo
(kp = 40, kd = 1, Table I) follows them. It is open loop: only joint angles and rates are fed back.
Trot(heading=0, tracking=0, capture=0, lean=0, support=0) is that trot.

The rest is ours, because the open-loop trot turns away on a slope of 5 degrees until it rolls over:

- `lean` shifts the feet to where gravity pulls the trunk: downhill on a slope, to the low side when
  it tips;
- `capture` shifts each foot with the excess velocity of the trunk at that leg (Raibert 1986),
  turning included;
- `heading` turns back to the heading at the start, plus the turns commanded since;
- `tracking` lengthens the stride while the robot is slower than commanded (an integral, of 0.4 m/s
  at most);
- the feet are also placed sideways, on circles about the trunk's center when turning (the paper:
  abad joints at zero);
- `support`: with so soft a servo a loaded leg sags, pushes its foot forwards against the trunk and
  so shortens the stride. Each stance leg gets, besides the servo, the joint torques that carry half
  the weight, rising and falling over the stance. In open loop, Mini Cheetah commanded to trot at
  0.4 m/s reaches 0.27 m/s without it, 0.40 m/s with 1.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.control import bezier, cpg
from tarsus.control.base import ControlInputs, Controller, require
from tarsus.control.pd import (
    Gain,
    actuated_posture,
    derivative_gain,
    joint_state,
    pd_torque,
    places,
    proportional_gain,
)
from tarsus.control.trunk import Planar, keep_heading, trunk
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.leg_inverse_kinematics import displaced_foot, leg_inverse_kinematics
from tarsus.morphology.legs import (
    Leg,
    diagonals,
    find_legs,
    foot_jacobian,
    longest_stroke,
    why_no_diagonal_legs,
)
from tarsus.parameters import parameter
from tarsus.references.books import RAIBERT_1986
from tarsus.references.papers import TEIXEIRA_DE_PAULA_2024
from tarsus.references.reference import Citation

OFFSETS = (0.0, 0.5)  # turns, of the two diagonals
TURN_LIMIT = 1.0  # rad/s, at most, on top of the command, to regain the heading
SPEED_LIMIT = 0.4  # m/s, at most, on top of the command, to regain the speed


@dataclass(frozen=True)
class Trot(Controller):
    """A trot for four three-joint legs that holds heading and speed; tuned on Mini Cheetah.

    `heading`, `tracking`, `capture` and `lean` need a floating base; zero switches each off.

    Commands:
    speed: m/s forwards
    turn: rad/s to the left
    """

    citation: ClassVar[Citation] = (
        TEIXEIRA_DE_PAULA_2024.at("section 6.2, Table I"),
        RAIBERT_1986.at("foot placement"),
    )

    frequency: float = parameter(2.5, "Hz", "cycles of a leg per second", "(0, 100]")
    duty: float = parameter(0.55, "[1]", "part of a cycle in stance", "[0.01, 0.99]")
    step_height: float = parameter(0.06, "m", "how high a foot is lifted", "[0, 10]")
    body_height: float | None = parameter(
        None, "m", "of the base above the ground; none: that of the posture 'stand'", "(0, 100]"
    )
    support: float = parameter(
        0.75,
        "[1]",
        "part of half the weight that a leg carries by feedforward in mid-stance",
        "[-10, 10]",
    )
    kp: Gain = proportional_gain(40.0)
    kd: Gain = derivative_gain(1.0)
    coupling: float = parameter(10.0, "1/s", "of the legs' oscillators", "[0, 1000]")
    ramp: float = parameter(1.0, "s", "time to full speed", "(0, 1000]")
    heading: float = parameter(5.0, "1/s", "turn rate per heading error", "[-1000, 1000]")
    tracking: float = parameter(1.0, "1/s", "integral gain of the speed error", "[-1000, 1000]")
    capture: float = parameter(0.08, "s", "shift of a foothold per velocity error", "[-10, 10]")
    lean: float = parameter(
        0.6,
        "[1]",
        "shift of the feet against a tilt; 1: straight below the base's origin",
        "[-10, 10]",
    )

    commands: ClassVar[Mapping[str, float]] = {"speed": 0.4, "turn": 0.0}

    def suits(self, mechanism: Mechanism) -> str | None:
        """It needs four legs of three hinges."""
        return why_no_diagonal_legs(mechanism)

    def fastest(self, mechanism: Mechanism) -> float:
        """Its feet would sweep more than their legs reach while they stand."""
        return longest_stroke(mechanism) * self.frequency / self.duty

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """The diagonals' phases, turns; the heading kept (2,); the speed's correction, m/s."""
        require(self, mechanism)
        return np.array([*OFFSETS, 0.0, 0.0, 0.0])

    def torque(self, now: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Torques (n_actuators,) N m; memory: see `initial_memory`."""
        mechanism, q, u, memory, dt = now.mechanism, now.q, now.u, now.memory, now.dt

        # phases of the diagonals, and what is asked of the trunk
        legs = find_legs(mechanism)
        phases = memory[:2]
        turns = cpg.phase_rates(phases, OFFSETS, self.frequency, self.coupling)
        paths = [bezier.foot_path(phases[k], self.duty) for k in range(2)]
        speed, turn = ca.vertsplit(ca.fmin(now.t / self.ramp, 1.0) * now.command)
        velocity, shift, kept = (
            Planar(speed, ca.SX(0), turn),
            Planar(ca.SX(0), ca.SX(0), ca.SX(0)),
            memory[2:],
        )
        if mechanism.floating:
            velocity, shift, kept = self._balanced(
                self._standing(legs[0])[2], q, u, velocity, kept, dt
            )
        stride = velocity.times(self.duty / self.frequency)
        moved = [stride.times(path.x).plus(shift) for path in paths]
        moving = [
            stride.times(path.dx * rate)
            for path, rate in zip(paths, ca.vertsplit(turns), strict=True)
        ]

        # joint targets and carrying torques of each leg
        weight = -mechanism.mass * mechanism.gravity_acceleration[2]
        desired = actuated_posture(mechanism, self.initial_coordinates(mechanism))
        desired_rate, carrying = ca.SX.zeros(desired.shape), ca.SX.zeros(desired.shape)
        for leg, k in zip(legs, diagonals(legs), strict=True):
            foot, at = self._standing(leg), places(mechanism, leg.joints)
            up, rising = self.step_height * paths[k].z, self.step_height * (turns[k] * paths[k].dz)
            point = ca.vertcat(*moved[k].at(foot[0], foot[1]), up)
            rate = ca.vertcat(*moving[k].at(foot[0], foot[1]), rising)
            desired[at], desired_rate[at] = leg_inverse_kinematics(
                leg, *displaced_foot(leg, foot - leg.hip, point, rate)
            )
            carrying[at] = paths[k].load * (self.support * carrying_torques(leg, weight / 2))

        # the servos
        angles, rates = joint_state(mechanism, q, u)
        tau = pd_torque(desired, desired_rate, angles, rates, (self.kp, self.kd))
        return tau + carrying, ca.vertcat(cpg.advance(phases, turns, dt), kept)

    def _balanced(
        self, foot: float, q: ca.SX, u: ca.SX, asked: Planar, kept: ca.SX, dt: ca.SX
    ) -> tuple[Planar, Planar, ca.SX]:
        """Velocity to walk at, shift of the feet, and memory (3,) after the step; foot: height in
        the base, m.
        """
        now = trunk(q, u)
        error, heading = keep_heading(kept[:2], now.heading, asked.turn * dt)
        slow, lean = asked.x - now.velocity.x, self.lean * foot
        velocity = Planar(
            asked.x + kept[2], asked.y, asked.turn + _within(self.heading * error, TURN_LIMIT)
        )
        shift = Planar(
            lean * now.rise[0] - self.capture * slow,
            lean * now.rise[1] + self.capture * now.velocity.y,
            self.capture * (now.velocity.turn - asked.turn),
        )
        return (
            velocity,
            shift,
            ca.vertcat(heading, _within(kept[2] + self.tracking * dt * slow, SPEED_LIMIT)),
        )

    def _standing(self, leg: Leg) -> NDArray[np.float64]:
        """The foot (3,) in the base, m, where it stands when the robot does."""
        foot = leg.hip + leg.standing_foot
        if self.body_height is not None:
            foot[2] = leg.radius - self.body_height
        return foot


def _within(value: ca.SX, limit: float) -> ca.SX:
    return ca.fmin(ca.fmax(value, -limit), limit)


def carrying_torques(leg: Leg, load: float) -> NDArray[np.float64]:
    """Joint torques (3,) N m with which the standing leg carries a vertical load (N) on its
    foot.
    """
    return -foot_jacobian(leg, leg.posture).T @ np.array([0.0, 0.0, load])
