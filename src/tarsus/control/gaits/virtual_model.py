"""Forces on the trunk, shared among the stance legs; feet placed to balance.

The robot of Gehring 2014 walks by the controller of Gehring 2013. This one is written in its
spirit:

- a clock lifts the diagonals in turn, 1.25 Hz on StarlETH (`control.schedule`);
- a swinging foot goes to where half a stance and the velocity error put it, an inverted pendulum
  (`control.foothold`);
- springs and dampers hold the trunk's height, attitude, velocity and way; their force and moment,
  and gravity's on the whole robot, are shared out to the stance feet within friction cones
  (`control.force_distribution`);
- a leg's torques are J^T of its foot's force, of ground or swing, and what carries its own weight.

Gains are per mass and inertia, and times scale with sqrt(height): one set serves robots of
different size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.control import schedule
from tarsus.control.base import ControlInputs, Controller, require
from tarsus.control.foothold import foothold, pendulum_times, swing
from tarsus.control.force_distribution import Cost, Feet, distribute
from tarsus.control.pd import places
from tarsus.control.schedule import Clock, Diagonal
from tarsus.control.trunk import Planar, keep_heading
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.leg_model import Foot, Standing, foot, joint_velocities, standing, weight
from tarsus.morphology.legs import Leg, diagonals, find_legs, longest_stroke, why_no_diagonal_legs
from tarsus.parameters import parameter
from tarsus.references.papers import GEHRING_2013, KAJITA_2001, QI_1993
from tarsus.references.reference import Citation
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
Pair = tuple[float, float]
PAIR = "1/s^2, 1/s"  # units of a stiffness and a damping per mass
START = (0.0, 1.0, 1.0)  # phase; loads of the diagonals: standing
AT_REST = (0.0, 0.0, 0.0, 0.0)  # way and heading kept, not yet taken
HEIGHT = 0.4024  # m, of StarlETH's base: what times and gains are given for
PUSH, TURN = (
    6.0,
    40.0,
)  # m/s^2 and rad/s^2, the most that the trunk is asked for along and about an axis


@dataclass(frozen=True)
class VirtualModel(Controller):
    """A trot, or stand, by virtual forces on the trunk; for four three-joint legs, floating base.

    `frequency` is that of StarlETH; others step at it times 0.4024 m / height. `way`, `hold`,
    `level` and `track` are pairs of stiffness (1/s^2) and damping (1/s).

    Commands:
    speed: m/s forwards
    sideways: m/s to the left
    turn: rad/s to the left
    gait: 1 to trot, 0 to stand
    """

    citation: ClassVar[Citation] = (
        GEHRING_2013.at(),
        KAJITA_2001.at("linear inverted pendulum"),
        QI_1993.at("semismooth Newton"),
    )

    frequency: float = parameter(1.25, "Hz", "cycles of a leg per second", "(0, 100]")
    duty: float = parameter(0.55, "[1]", "part of a cycle in stance", "[0.51, 0.99]")
    clearance: float = parameter(
        0.15, "[1]", "lift of a foot, as a fraction of the base's height", "[0, 10]"
    )
    friction: float = parameter(
        0.6,
        "[1]",
        "friction coefficient assumed in sharing forces; keep it below the ground's",
        "(0, 100]",
    )
    iterations: int = parameter(
        2, "[1]", "Newton iterations of the force distribution in each control step", "[1, 100]"
    )
    ramp: float = parameter(1.0, "s", "time to full speed", "(0, 1000]")
    way: Pair = parameter(
        (10.0, 6.0),
        PAIR,
        "stiffness and damping of the trunk's horizontal position, per mass",
        "[0, 1e6]",
    )
    hold: Pair = parameter(
        (80.0, 15.0), PAIR, "stiffness and damping of its height, per mass", "[0, 1e6]"
    )
    level: Pair = parameter(
        (200.0, 25.0), PAIR, "stiffness and damping of its attitude, per inertia", "[0, 1e6]"
    )
    leash: float = parameter(
        0.05, "m", "largest position error that the trunk's spring sees", "[0, 100]"
    )
    track: Pair = parameter(
        (900.0, 50.0), PAIR, "stiffness and damping of a swinging foot, per mass", "[0, 1e6]"
    )
    feedback: float = parameter(
        0.9,
        "[1]",
        "effect of the velocity error on the foothold; 1: the pendulum's capture point",
        "[-10, 10]",
    )

    commands: ClassVar[Mapping[str, float]] = {
        "speed": 0.3,
        "sideways": 0.0,
        "turn": 0.0,
        "gait": 1.0,
    }

    def suits(self, mechanism: Mechanism) -> str | None:
        """It needs four legs of three hinges on a floating base."""
        if not mechanism.floating:
            return f"{mechanism.name!r} has a fixed base: no gait can move it."
        return why_no_diagonal_legs(mechanism)

    def fastest(self, mechanism: Mechanism) -> float:
        """Its feet would sweep more than their legs reach while they stand."""
        height = standing(
            mechanism, find_legs(mechanism), self.initial_coordinates(mechanism)
        ).height
        return longest_stroke(mechanism) * self.frequency * HEIGHT / height / self.duty

    def initial_memory(self, mechanism: Mechanism) -> Array:
        """Phase and loads (3,); way (2,) and heading (2,) kept; where each foot last stood (8,);
        wrench error (6,).
        """
        require(self, mechanism)
        return np.array([*START, *AT_REST, *(14 * [0.0])])

    def torque(self, now: ControlInputs) -> tuple[ca.SX, ca.SX]:
        """Torques (n_actuators,) N m; memory: see `initial_memory`."""
        mechanism, q, u, memory, dt = now.mechanism, now.q, now.u, now.memory, now.dt

        # the robot, the clock and the ground under it
        legs, kin = find_legs(mechanism), kinematics(mechanism, q, u)
        robot = standing(mechanism, legs, self.initial_coordinates(mechanism))
        time = float(
            np.sqrt(robot.height / HEIGHT)
        )  # of two similar robots the smaller is the quicker
        clock, walk = Clock(self.frequency / time**2, self.duty), now.command[3] > 0.5
        pairs, ticked = schedule.both(clock, memory[0], memory[1:3], walk, dt)
        phases = [pairs[k] for k in diagonals(legs)]
        feet, carried = [foot(kin, leg) for leg in legs], weight(kin)
        ground = _ground(q, legs, feet, phases)

        # the wrench on the trunk, shared out to the stance feet
        asked = Planar(*ca.vertsplit(walk * ca.fmin(now.t / self.ramp, 1.0) * now.command[:3]))
        trunk, kept = self._trunk(kin, asked, memory[3:7], time, dt)
        height = self.hold[0] * (ground + robot.height - q[2]) - self.hold[1] * u[2]
        wrench = _wrench(kin, robot, carried, ca.vertcat(trunk.push, height / time**2), trunk.turn)
        cost = Cost(1.0, 4.0 / robot.height**2, 0.01, self.friction)
        arms = [at.arm - ca.vertcat(0, 0, leg.radius) for leg, at in zip(legs, feet, strict=True)]
        loads = Feet(arms, [phase.load for phase in phases])
        forces, error = distribute(loads, wrench, cost, memory[15:21], self.iterations)

        # torques of each leg: the ground's force, or the swing's
        gravity = -mechanism.gravity_acceleration[2]
        tau, stood = ca.SX.zeros(len(mechanism.actuators)), []
        for i, (leg, at, phase) in enumerate(zip(legs, feet, phases, strict=True)):
            lifted = memory[7 + 2 * i : 9 + 2 * i]
            stood.append(ca.if_else(phase.swinging, lifted, q[:2] + at.arm[:2]))
            end = self._foothold(
                q, u, trunk, robot.footing[i], (phase, clock, robot.height, gravity)
            )
            lift = (ground + leg.radius, self.clearance * robot.height)
            way = swing(lifted, end, lift, phase.progress, clock.swing_time)
            pull = self.track[0] / time**2 * (way.point - q[:3] - at.arm)
            pull += self.track[1] / time * (way.velocity - at.velocity)
            R = kin.world_rotation[0]
            carry = ca.mtimes([R, constant(robot.effective[i]), R.T, pull])
            own = carried[joint_velocities(mechanism, leg)]
            force = ca.if_else(phase.swinging, carry, -forces[i])
            tau[places(mechanism, leg.joints)] = own + ca.mtimes(at.jacobian.T, force)
        return tau, ca.vertcat(ticked, kept, *stood, error)

    def _trunk(
        self, kin: Kinematics, asked: Planar, kept: ca.SX, time: float, dt: ca.SX
    ) -> tuple[TrunkCommand, ca.SX]:
        """The command of the trunk in the plane and about its axes, and the way and heading kept
        (4,) after dt.
        """
        q, u, R = kin.q, kin.u, kin.world_rotation[0]
        heading = R[:2, 0]
        fresh = ca.dot(kept[2:], kept[2:]) < 0.5
        error, turned = keep_heading(kept[2:], heading, asked.turn * dt)
        velocity = ca.vertcat(
            heading[0] * asked.x - heading[1] * asked.y, heading[1] * asked.x + heading[0] * asked.y
        )
        behind = _within((1 - fresh) * (kept[:2] - q[:2]), self.leash)
        push = self.way[0] / time**2 * behind + self.way[1] / time * (velocity - u[:2])
        tilt = ca.vertcat(
            -R[2, 1], R[2, 0], error
        )  # body axes: turns the trunk's z towards the world's
        spin = ca.vertcat(0, 0, asked.turn) - u[3:6]
        turn = self.level[0] / time**2 * tilt + self.level[1] / time * spin
        after = ca.vertcat(q[:2] + behind + velocity * dt, turned)
        return TrunkCommand(
            heading, velocity, asked.turn, _within(push, PUSH), _within(turn, TURN)
        ), after

    def _foothold(
        self,
        q: ca.SX,
        u: ca.SX,
        trunk: TrunkCommand,
        place: Array,
        when: tuple[Diagonal, Clock, float, float],
    ) -> ca.SX:
        """Where a foot at `place` (2,) in the base at rest should touch down (2,), world axes."""
        phase, clock, height, gravity = when
        x, y = place
        cos, sin = trunk.heading[0], trunk.heading[1]
        out = ca.vertcat(cos * x - sin * y, sin * x + cos * y)
        across = ca.vertcat(-out[1], out[0])
        velocity, asked = u[:2] + across * u[5], trunk.velocity + across * trunk.rate
        steady, own = pendulum_times(height, gravity, clock.stance_time)
        times = (steady, self.feedback * own)
        return foothold(
            q[:2] + out, velocity, asked, (1 - phase.progress) * clock.swing_time, times
        )


class TrunkCommand(NamedTuple):
    """What the trunk is to do.

    heading, velocity: asked for, (2,) world axes
    rate: turn asked for, rad/s
    push: (2,) m/s^2
    turn: rad/s^2
    """

    heading: ca.SX
    velocity: ca.SX
    rate: ca.SX
    push: ca.SX
    turn: ca.SX


def _ground(q: ca.SX, legs: tuple[Leg, ...], feet: list[Foot], phases: list[Diagonal]) -> ca.SX:
    """Mean height of the ground under the standing feet, by their loads, m."""
    loads = [phase.load + 1e-3 for phase in phases]
    heights = [
        load * (at.arm[2] - leg.radius) for load, at, leg in zip(loads, feet, legs, strict=True)
    ]
    return q[2] + sum(heights, ca.SX(0)) / sum(loads, ca.SX(0))


def _wrench(kin: Kinematics, robot: Standing, carried: ca.SX, push: ca.SX, turn: ca.SX) -> ca.SX:
    """Force and moment (6,) about the base's origin, world axes, of accelerations push (world) and
    turn (body axes).
    """
    moment = ca.mtimes(constant(robot.inertia), turn) + carried[3:6]
    return ca.vertcat(robot.mass * push + carried[:3], ca.mtimes(kin.world_rotation[0], moment))


def _within(value: ca.SX, limit: float) -> ca.SX:
    return ca.fmin(ca.fmax(value, -limit), limit)
