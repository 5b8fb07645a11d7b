"""Trot: diagonal legs step together, driven by a pattern generator and foot trajectories.

In Teixeira de Paula 2024, section 6.2, a central pattern generator drives the stance and swing
curves of each foot, closed-form inverse kinematics turns them into joint angles, and a PD servo (kp
= 40, kd = 1, Table I) tracks these. The trot is open loop: only joint angles and rates are fed
back. ``Trot(heading=0, tracking=0, capture=0, lean=0, support=0)`` is that trot.

The rest is our own, because on a slope of 5 degrees the open-loop trot turns away until it rolls
over:

- `lean` shifts the feet to where gravity pulls the trunk: downhill on a slope, to the low side when
  the trunk tips.
- `capture` shifts each foot in proportion to the excess velocity of the trunk at that leg (Raibert
  1986), including the turn rate.
- `heading` turns back to the initial heading plus the turns commanded since.
- `tracking` lengthens the stride while the robot is slower than commanded (an integral, limited to
  0.4 m/s).
- The feet are also placed sideways, on circles about the trunk's center when turning (the paper
  keeps the abad joints at zero).
- `support` adds feedforward torques. With such a soft servo a loaded leg sags, pushes its foot
  forwards relative to the trunk and so shortens the stride. Each stance leg therefore gets the
  joint torques that carry a part of half the weight, rising and falling over the stance. In open
  loop, Mini Cheetah commanded to trot at 0.4 m/s reaches 0.27 m/s without it and 0.40 m/s with
  `support` 1.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.control import bezier, cpg
from tarsus.control.base import ControlInputs, Controller, require_suitable
from tarsus.control.pd import (
    Gain,
    actuated_posture,
    actuator_indices,
    derivative_gain,
    joint_state,
    pd_torque,
    proportional_gain,
)
from tarsus.control.trunk import Planar, keep_heading, trunk_motion
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.leg_inverse_kinematics import displace_foot, leg_inverse_kinematics
from tarsus.morphology.legs import (
    Leg,
    diagonals,
    find_legs,
    foot_jacobian,
    stroke_upper_bound,
    why_no_diagonal_legs,
)
from tarsus.parameters import parameter
from tarsus.references.books import RAIBERT_1986
from tarsus.references.papers import TEIXEIRA_DE_PAULA_2024
from tarsus.references.reference import Citation

OFFSETS = (0.0, 0.5)  # phase offsets of the two diagonals, in cycles
TURN_LIMIT = 1.0  # rad/s: largest correction of the turn rate
SPEED_LIMIT = 0.4  # m/s: largest correction of the speed


@dataclass(frozen=True)
class Trot(Controller):
    """Trot on four three-joint legs that holds heading and speed; tuned on Mini Cheetah.

    `heading`, `tracking`, `capture` and `lean` need a floating base; zero disables each.

    The commands are `speed`, in m/s forwards, and `turn`, in rad/s to the left.
    """

    citation: ClassVar[Citation] = (
        TEIXEIRA_DE_PAULA_2024.at("section 6.2, Table I"),
        RAIBERT_1986.at("foot placement"),
    )

    frequency: float = parameter(2.5, "Hz", "step cycles of a leg per second", "(0, 100]")
    duty: float = parameter(0.55, "[1]", "fraction of a cycle in stance", "[0.01, 0.99]")
    step_height: float = parameter(0.06, "m", "height to which a foot is lifted", "[0, 10]")
    body_height: float | None = parameter(
        None, "m", "height of the base; none: that of the posture 'stand'", "(0, 100]"
    )
    support: float = parameter(
        0.75,
        "[1]",
        "feedforward load of a leg in mid-stance, as a fraction of half the weight",
        "[-10, 10]",
    )
    kp: Gain = proportional_gain(40.0)
    kd: Gain = derivative_gain(1.0)
    coupling: float = parameter(10.0, "1/s", "coupling of the legs' oscillators", "[0, 1000]")
    ramp: float = parameter(1.0, "s", "time until full speed", "(0, 1000]")
    heading: float = parameter(5.0, "1/s", "turn rate per radian of heading error", "[-1000, 1000]")
    tracking: float = parameter(1.0, "1/s", "integral gain of the speed error", "[-1000, 1000]")
    capture: float = parameter(0.08, "s", "shift of a foothold per velocity error", "[-10, 10]")
    lean: float = parameter(
        0.6,
        "[1]",
        "shift of the feet against tilt; 1: vertically below the base's origin",
        "[-10, 10]",
    )

    commands: ClassVar[Mapping[str, float]] = {"speed": 0.4, "turn": 0.0}

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        """Return why a robot lacks four legs of three hinges, or None."""
        return why_no_diagonal_legs(mechanism)

    def max_speed(self, mechanism: Mechanism) -> float:
        """Compute the speed at which stance feet sweep the whole reach of their legs, in m/s."""
        return stroke_upper_bound(mechanism) * self.frequency / self.duty

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Return the phases (cycles), the desired heading (2,) and the speed correction (m/s)."""
        require_suitable(self, mechanism)
        return np.array([*OFFSETS, 0.0, 0.0, 0.0])

    def torque(self, inputs: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Compute torques, shape (n_actuators,), in N m, and memory (see `initial_memory`)."""
        mechanism, q, u, memory, dt = inputs.mechanism, inputs.q, inputs.u, inputs.memory, inputs.dt

        # phases of the diagonals, and the desired motion of the trunk
        legs = find_legs(mechanism)
        phases = memory[:2]
        turns = cpg.phase_rates(phases, OFFSETS, self.frequency, self.coupling)
        paths = [bezier.foot_path(phases[k], self.duty) for k in range(2)]
        speed, turn = ca.vertsplit(ca.fmin(inputs.t / self.ramp, 1.0) * inputs.command)
        velocity, shift, balance_memory = (
            Planar(speed, ca.SX(0), turn),
            Planar(ca.SX(0), ca.SX(0), ca.SX(0)),
            memory[2:],
        )
        if mechanism.floating:
            velocity, shift, balance_memory = self._balance(
                self._standing_foot(legs[0])[2], q, u, velocity, balance_memory, dt
            )
        stride = velocity.scale(self.duty / self.frequency)
        positions = [stride.scale(path.x).add(shift) for path in paths]
        velocities = [
            stride.scale(path.dx * rate)
            for path, rate in zip(paths, ca.vertsplit(turns), strict=True)
        ]

        # joint targets and feedforward torques of each leg
        weight = -mechanism.mass * mechanism.gravity_acceleration[2]
        desired = actuated_posture(mechanism, self.initial_coordinates(mechanism))
        desired_rate, feedforward = ca.SX.zeros(desired.shape), ca.SX.zeros(desired.shape)
        for leg, k in zip(legs, diagonals(legs), strict=True):
            foot, actuators = self._standing_foot(leg), actuator_indices(mechanism, leg.joints)
            lift, lift_rate = (
                self.step_height * paths[k].z,
                self.step_height * (turns[k] * paths[k].dz),
            )
            point = ca.vertcat(*positions[k].of_point(foot[0], foot[1]), lift)
            rate = ca.vertcat(*velocities[k].of_point(foot[0], foot[1]), lift_rate)
            desired[actuators], desired_rate[actuators] = leg_inverse_kinematics(
                leg, *displace_foot(leg, foot - leg.hip, point, rate)
            )
            feedforward[actuators] = paths[k].load * (
                self.support * support_torques(leg, weight / 2)
            )

        # servos
        angles, rates = joint_state(mechanism, q, u)
        tau = pd_torque(desired, desired_rate, angles, rates, (self.kp, self.kd))
        return tau + feedforward, ca.vertcat(cpg.advance_phases(phases, turns, dt), balance_memory)

    def _balance(
        self, foot_height: float, q: ca.SX, u: ca.SX, commanded: Planar, memory: ca.SX, dt: ca.SX
    ) -> tuple[Planar, Planar, ca.SX]:
        """Compute the velocity to walk at, the shift of the feet, and the next memory, (3,).

        `foot_height` is the height of a standing foot in the base frame, in m.
        """
        motion = trunk_motion(q, u)
        error, heading = keep_heading(memory[:2], motion.heading, commanded.turn * dt)
        lag, lean = commanded.x - motion.velocity.x, self.lean * foot_height
        velocity = Planar(
            commanded.x + memory[2],
            commanded.y,
            commanded.turn + _clamp(self.heading * error, TURN_LIMIT),
        )
        shift = Planar(
            lean * motion.rise[0] - self.capture * lag,
            lean * motion.rise[1] + self.capture * motion.velocity.y,
            self.capture * (motion.velocity.turn - commanded.turn),
        )
        return (
            velocity,
            shift,
            ca.vertcat(heading, _clamp(memory[2] + self.tracking * dt * lag, SPEED_LIMIT)),
        )

    def _standing_foot(self, leg: Leg) -> NDArray[np.float64]:
        """Compute the position of the standing foot in the base frame, shape (3,), in m."""
        foot = leg.hip + leg.standing_foot
        if self.body_height is not None:
            foot[2] = leg.radius - self.body_height
        return foot


def _clamp(value: ca.SX, limit: float) -> ca.SX:
    return ca.fmin(ca.fmax(value, -limit), limit)


def support_torques(leg: Leg, load: float) -> NDArray[np.float64]:
    """Compute the torques, shape (3,), in N m, with which a standing leg carries a load, in N."""
    return -foot_jacobian(leg, leg.posture).T @ np.array([0.0, 0.0, load])
