"""Virtual model control: forces on the trunk, distributed over the stance legs, and foot placement.

The robot of Gehring 2014 walks with the controller of Gehring 2013. This one follows the same
ideas:

- A clock lifts the diagonals in turn, at 1.25 Hz on StarlETH (`control.schedule`).
- A swing foot is placed for half a stance and the velocity error, by an inverted pendulum
  (`control.foothold`).
- Virtual springs and dampers control the trunk's height, attitude, velocity and position. Their
  wrench, and that of gravity on the whole robot, is distributed over the stance feet within
  friction cones (`control.force_distribution`).
- The torques of a leg are J^T times the force of its foot, in stance or swing, and those that carry
  its own weight.

Gains are per mass and inertia, and times scale with sqrt(height): one set serves robots of
different sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.control import schedule
from tarsus.control.base import ControlInputs, Controller, require_suitable
from tarsus.control.foothold import foothold, pendulum_times, swing_target
from tarsus.control.force_distribution import Cost, Feet, distribute
from tarsus.control.pd import actuator_indices
from tarsus.control.schedule import Clock, DiagonalPair
from tarsus.control.trunk import Planar, keep_heading
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.leg_model import (
    Foot,
    StandingModel,
    foot_state,
    measure_standing,
    velocity_indices,
    weight,
)
from tarsus.morphology.legs import (
    Leg,
    diagonals,
    find_legs,
    stroke_upper_bound,
    why_no_diagonal_legs,
)
from tarsus.parameters import parameter
from tarsus.references.papers import GEHRING_2013, KAJITA_2001, QI_1993
from tarsus.references.reference import Citation
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
Pair = tuple[float, float]
PAIR = "1/s^2, 1/s"  # units of a stiffness and a damping, per mass
INITIAL_CLOCK = (0.0, 1.0, 1.0)  # phase, and loads of the diagonals: standing
INITIAL_REFERENCE = (0.0, 0.0, 0.0, 0.0)  # desired position and heading, not yet set
REFERENCE_HEIGHT = 0.4024  # m: height of StarlETH's base, for which times and gains are given
# largest accelerations of the trunk along and about an axis, in m/s^2 and rad/s^2
MAX_ACCELERATION, MAX_ANGULAR_ACCELERATION = 6.0, 40.0


@dataclass(frozen=True)
class VirtualModel(Controller):
    """Trot or stand by virtual forces on the trunk, with four three-joint legs and a floating base.

    `frequency` is that of StarlETH; other robots step at `frequency` times 0.4024 m / height.
    `position_gains`, `height_gains`, `attitude_gains` and `swing_gains` are pairs of
    stiffness (1/s^2) and damping (1/s).

    The commands are `speed`, in m/s forwards, `sideways`, in m/s to the left, `turn`, in rad/s to
    the left, and `gait`, 1 to trot or 0 to stand.
    """

    citation: ClassVar[Citation] = (
        GEHRING_2013.at(),
        KAJITA_2001.at("linear inverted pendulum"),
        QI_1993.at("semismooth Newton"),
    )

    frequency: float = parameter(1.25, "Hz", "step cycles of a leg per second", "(0, 100]")
    duty: float = parameter(0.55, "[1]", "fraction of a cycle in stance", "[0.51, 0.99]")
    clearance: float = parameter(
        0.15, "[1]", "lift of a foot, as a fraction of the height of the base", "[0, 10]"
    )
    friction: float = parameter(
        0.6,
        "[1]",
        "friction coefficient of the force distribution; keep it below the ground's",
        "(0, 100]",
    )
    iterations: int = parameter(
        2, "[1]", "Newton iterations of the force distribution in each control step", "[1, 100]"
    )
    ramp: float = parameter(1.0, "s", "time until full speed", "(0, 1000]")
    position_gains: Pair = parameter(
        (10.0, 6.0),
        PAIR,
        "stiffness and damping of the trunk's horizontal position, per mass",
        "[0, 1e6]",
    )
    height_gains: Pair = parameter(
        (80.0, 15.0), PAIR, "stiffness and damping of the trunk's height, per mass", "[0, 1e6]"
    )
    attitude_gains: Pair = parameter(
        (200.0, 25.0),
        PAIR,
        "stiffness and damping of the trunk's attitude, per inertia",
        "[0, 1e6]",
    )
    max_position_error: float = parameter(
        0.05, "m", "largest position error that acts on the trunk's spring", "[0, 100]"
    )
    swing_gains: Pair = parameter(
        (900.0, 50.0), PAIR, "stiffness and damping of a swing foot, per mass", "[0, 1e6]"
    )
    feedback: float = parameter(
        0.9,
        "[1]",
        "effect of the velocity error on the foothold; 1: the capture point",
        "[-10, 10]",
    )

    commands: ClassVar[Mapping[str, float]] = {
        "speed": 0.3,
        "sideways": 0.0,
        "turn": 0.0,
        "gait": 1.0,
    }

    def why_unsuitable(self, mechanism: Mechanism) -> str | None:
        """Return why a robot lacks four legs of three hinges or a floating base, or None."""
        if not mechanism.floating:
            return f"{mechanism.name!r} has a fixed base, so no gait can move it."
        return why_no_diagonal_legs(mechanism)

    def max_speed(self, mechanism: Mechanism) -> float:
        """Compute the speed at which stance feet sweep the whole reach of their legs, in m/s."""
        height = measure_standing(
            mechanism, find_legs(mechanism), self.initial_coordinates(mechanism)
        ).height
        return (
            stroke_upper_bound(mechanism) * self.frequency * REFERENCE_HEIGHT / height / self.duty
        )

    def initial_memory(self, mechanism: Mechanism) -> Array:
        """Return the memory.

        It holds phase and loads (3,), desired position (2,) and heading (2,), the last stance
        position of each foot (8,) and the error of the wrench (6,).
        """
        require_suitable(self, mechanism)
        return np.array([*INITIAL_CLOCK, *INITIAL_REFERENCE, *(14 * [0.0])])

    def torque(self, inputs: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Compute torques, shape (n_actuators,), in N m, and memory (see `initial_memory`)."""
        mechanism, q, u, memory, dt = inputs.mechanism, inputs.q, inputs.u, inputs.memory, inputs.dt

        # robot, clock and ground height
        legs, kin = find_legs(mechanism), kinematics(mechanism, q, u)
        robot = measure_standing(mechanism, legs, self.initial_coordinates(mechanism))
        # of two similar robots the smaller one moves faster
        time = float(np.sqrt(robot.height / REFERENCE_HEIGHT))
        clock, trotting = Clock(self.frequency / time**2, self.duty), inputs.command[3] > 0.5
        pairs, next_clock = schedule.advance_diagonals(clock, memory[0], memory[1:3], trotting, dt)
        phases = [pairs[k] for k in diagonals(legs)]
        foot_states, gravity_load = [foot_state(kin, leg) for leg in legs], weight(kin)
        ground = _ground_height(q, legs, foot_states, phases)

        # wrench on the trunk, distributed over the stance feet
        commanded = Planar(
            *ca.vertsplit(trotting * ca.fmin(inputs.t / self.ramp, 1.0) * inputs.command[:3])
        )
        trunk, reference = self._trunk(kin, commanded, memory[3:7], time, dt)
        height = self.height_gains[0] * (ground + robot.height - q[2]) - self.height_gains[1] * u[2]
        wrench = _wrench(
            kin, robot, gravity_load, ca.vertcat(trunk.push, height / time**2), trunk.turn
        )
        cost = Cost(1.0, 4.0 / robot.height**2, 0.01, self.friction)
        arms = [
            state.arm - ca.vertcat(0, 0, leg.radius)
            for leg, state in zip(legs, foot_states, strict=True)
        ]
        loads = Feet(arms, [phase.load for phase in phases])
        forces, error = distribute(loads, wrench, cost, memory[15:21], self.iterations)

        # torques of each leg, in stance or swing
        gravity = -mechanism.gravity_acceleration[2]
        tau, stance_positions = ca.SX.zeros(len(mechanism.actuators)), []
        for i, (leg, state, phase) in enumerate(zip(legs, foot_states, phases, strict=True)):
            liftoff = memory[7 + 2 * i : 9 + 2 * i]
            stance_positions.append(ca.if_else(phase.swinging, liftoff, q[:2] + state.arm[:2]))
            end = self._foothold(
                q, u, trunk, robot.footing[i], (phase, clock, robot.height, gravity)
            )
            lift = (ground + leg.radius, self.clearance * robot.height)
            target = swing_target(liftoff, end, lift, phase.progress, clock.swing_time)
            pull = self.swing_gains[0] / time**2 * (target.point - q[:3] - state.arm)
            pull += self.swing_gains[1] / time * (target.velocity - state.velocity)
            R = kin.world_rotation[0]
            swing_force = ca.mtimes([R, constant(robot.effective_mass[i]), R.T, pull])
            own_weight = gravity_load[velocity_indices(mechanism, leg)]
            force = ca.if_else(phase.swinging, swing_force, -forces[i])
            tau[actuator_indices(mechanism, leg.joints)] = own_weight + ca.mtimes(
                state.jacobian.T, force
            )
        return tau, ca.vertcat(next_clock, reference, *stance_positions, error)

    def _trunk(
        self, kin: Kinematics, commanded: Planar, reference: ca.SX, time: float, dt: ca.SX
    ) -> tuple[TrunkCommand, ca.SX]:
        """Compute the desired motion of the trunk, and its next position and heading, (4,)."""
        q, u, R = kin.q, kin.u, kin.world_rotation[0]
        heading = R[:2, 0]
        unset = ca.dot(reference[2:], reference[2:]) < 0.5
        error, turned = keep_heading(reference[2:], heading, commanded.turn * dt)
        velocity = ca.vertcat(
            heading[0] * commanded.x - heading[1] * commanded.y,
            heading[1] * commanded.x + heading[0] * commanded.y,
        )
        position_error = _clamp((1 - unset) * (reference[:2] - q[:2]), self.max_position_error)
        push = self.position_gains[0] / time**2 * position_error + self.position_gains[1] / time * (
            velocity - u[:2]
        )
        tilt = ca.vertcat(-R[2, 1], R[2, 0], error)  # body axes: from the trunk's z to the world's
        spin = ca.vertcat(0, 0, commanded.turn) - u[3:6]
        turn = self.attitude_gains[0] / time**2 * tilt + self.attitude_gains[1] / time * spin
        next_reference = ca.vertcat(q[:2] + position_error + velocity * dt, turned)
        return TrunkCommand(
            heading,
            velocity,
            commanded.turn,
            _clamp(push, MAX_ACCELERATION),
            _clamp(turn, MAX_ANGULAR_ACCELERATION),
        ), next_reference

    def _foothold(
        self,
        q: ca.SX,
        u: ca.SX,
        trunk: TrunkCommand,
        position: Array,
        timing: tuple[DiagonalPair, Clock, float, float],
    ) -> ca.SX:
        """Compute where a foot should touch down, shape (2,), in m, world axes.

        `position`, shape (2,), is its place in the base frame at rest.
        """
        phase, clock, height, gravity = timing
        x, y = position
        cos, sin = trunk.heading[0], trunk.heading[1]
        hip = ca.vertcat(cos * x - sin * y, sin * x + cos * y)
        across = ca.vertcat(-hip[1], hip[0])
        velocity, commanded = u[:2] + across * u[5], trunk.velocity + across * trunk.rate
        steady, time_constant = pendulum_times(height, gravity, clock.stance_time)
        times = (steady, self.feedback * time_constant)
        return foothold(
            q[:2] + hip, velocity, commanded, (1 - phase.progress) * clock.swing_time, times
        )


class TrunkCommand(NamedTuple):
    """Desired motion of the trunk.

    Attributes
    ----------
    heading, velocity
        Heading and commanded velocity, shape (2,), world axes.
    rate
        Commanded turn rate, in rad/s.
    push
        Horizontal acceleration, shape (2,), in m/s^2.
    turn
        Angular acceleration, shape (3,), in rad/s^2, body axes.
    """

    heading: ca.SX
    velocity: ca.SX
    rate: ca.SX
    push: ca.SX
    turn: ca.SX


def _ground_height(
    q: ca.SX, legs: tuple[Leg, ...], feet: list[Foot], phases: list[DiagonalPair]
) -> ca.SX:
    """Compute the mean height of the ground under the feet, weighted by their loads, in m."""
    loads = [phase.load + 1e-3 for phase in phases]
    heights = [
        load * (state.arm[2] - leg.radius)
        for load, state, leg in zip(loads, feet, legs, strict=True)
    ]
    return q[2] + sum(heights, ca.SX(0)) / sum(loads, ca.SX(0))


def _wrench(
    kin: Kinematics, robot: StandingModel, gravity_load: ca.SX, push: ca.SX, turn: ca.SX
) -> ca.SX:
    """Compute the force and moment about the base's origin, shape (6,), world axes.

    The trunk accelerates by `push` (world axes) and `turn` (body axes); `carried` is the gravity
    load.
    """
    moment = ca.mtimes(constant(robot.inertia), turn) + gravity_load[3:6]
    return ca.vertcat(
        robot.mass * push + gravity_load[:3], ca.mtimes(kin.world_rotation[0], moment)
    )


def _clamp(value: ca.SX, limit: float) -> ca.SX:
    return ca.fmin(ca.fmax(value, -limit), limit)
