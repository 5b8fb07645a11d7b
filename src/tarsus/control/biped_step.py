"""One step of a walk on two flat feet: stance foot, balance and foot placement.

Balance follows from the capture point (Pratt 2006): the center of pressure within the stance sole
corrects what it can, and the next foothold corrects the rest, as in Englsberger 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.control.inverse_dynamics import WholeBody, clamp
from tarsus.control.pendulum import StepPattern
from tarsus.control.stance import Stance
from tarsus.control.trunk import keep_heading
from tarsus.morphology.fall import MIN_HEIGHT_SHARE
from tarsus.morphology.sole_inverse_kinematics import rotation_error

MAX_STRIDE = 0.5  # longest step, in leg lengths
MIN_WIDTH = 1.1  # least distance of the feet, in widths of a sole
MAX_EXTRA_WIDTH = 0.5  # largest distance of the feet beyond that in standing, in leg lengths
FOOTHOLD_FREEZE = 0.9  # progress of the swing after which the foothold no longer changes
MIN_GROWTH = 0.5  # least growth of the capture point over which an error is corrected
CENTERING_RATE = 1.0  # how fast a standing robot returns to the middle, in units of sqrt(g / h)
MAX_ACCELERATION = 0.02  # change of the walking speed, in units of g
EPSILON = 1e-6  # m/s: slower counts as standing still; also guards divisions
FALLEN_COSINE = 0.7  # cosine of the tilt below which the robot has fallen
SWING_GAIN = 6.0  # gain of a sole in the air, in units of sqrt(g / h), 1/s


class WalkMemory(NamedTuple):
    """Memory of the walk.

    Attributes
    ----------
    walking, fallen
        0 or 1.
    time
        Time since the step began, in s.
    side
        Side of the stance foot: 1 left, -1 right.
    lifting
        0 in the first step, which only sways, else 1.
    started_at_rest
        1 if the step began at zero speed.
    speed
        Part of the commanded speed that is reached, shape (3,): forwards, to the left, turning.
    heading
        Desired heading, shape (2,); zero until it is set.
    liftoff, pointing
        Position at which the swing sole left the ground, and its direction, shape (2,).
    foothold
        Target position of the swing foot, shape (2,).
    """

    walking: SX
    fallen: SX
    time: SX
    side: SX
    lifting: SX
    started_at_rest: SX
    speed: SX
    heading: SX
    liftoff: SX
    pointing: SX
    foothold: SX

    @classmethod
    def size(cls) -> int:
        """Return the size of the memory."""
        return sum(MEMORY_SIZES)

    @classmethod
    def read(cls, memory: SX) -> WalkMemory:
        """Split a memory vector into its parts."""
        return cls(*ca.vertsplit(memory, np.cumsum([0, *MEMORY_SIZES]).tolist()))


MEMORY_SIZES = (1, 1, 1, 1, 1, 1, 3, 2, 2, 2, 2)


class Balance(NamedTuple):
    """Balance within a step.

    Attributes
    ----------
    com_offset
        Vector from the desired center of pressure to the center of mass, shape (2,), in m, world
        axes.
    trailing_load
        Fraction of the weight on the trailing foot.
    foothold
        Where the swing foot goes, shape (2,), in m, world axes.
    """

    com_offset: SX
    trailing_load: SX
    foothold: SX


@dataclass(frozen=True)
class BipedStep:
    """State of a step, from which balance and foot motions follow.

    Attributes
    ----------
    body
        Whole-body model at the state.
    robot
        Constants of the robot.
    pattern
        Timing of the steps.
    memory
        Memory at the start of the time step.
    dt
        Step size, in s.
    stance_foot, other_foot
        Position of the stance sole and of the other, shape (3,), in m.
    pointing
        Direction of the other sole, shape (2,).
    heading
        Desired heading, shape (2,).
    heading_error
        Sine of the error of the heading.
    """

    body: WholeBody
    robot: Stance
    pattern: StepPattern
    memory: WalkMemory
    dt: SX
    stance_foot: SX
    other_foot: SX
    pointing: SX
    heading: SX
    heading_error: SX

    @classmethod
    def of(
        cls, body: WholeBody, robot: Stance, pattern: StepPattern, memory: WalkMemory, dt: SX
    ) -> BipedStep:
        """Compute the step at a state."""
        left, right = (body.soles[k] for k in (robot.left, robot.right))
        on_left = memory.side > 0
        pointing = ca.if_else(on_left, right.rotation[:2, 0], left.rotation[:2, 0])
        actual = body.kin.world_rotation[0][:2, 0]
        heading_error, heading = keep_heading(memory.heading, actual, memory.speed[2] * dt)
        feet = [(left.position, right.position), (right.position, left.position)]
        stance_foot, other_foot = (ca.if_else(on_left, a, b) for a, b in feet)
        return cls(
            body,
            robot,
            pattern,
            memory,
            dt,
            stance_foot,
            other_foot,
            pointing,
            heading,
            heading_error,
        )

    @property
    def double_support(self) -> SX:
        """Whether both feet stand, 0 or 1."""
        early = self.memory.time < self.pattern.double
        return 1 - (1 - early) * self.memory.walking * self.memory.lifting

    @property
    def progress(self) -> SX:
        """Progress of the swing, 0 to 1."""
        start, end = self.pattern.double, self.pattern.step
        return (1 - self.double_support) * (self.memory.time - start) / (end - start)

    @property
    def velocity(self) -> SX:
        """Velocity of the center of mass, shape (3,), in m/s."""
        return self.body.center_of_mass[1]

    def balance(self, fraction: float) -> Balance:
        """Balance by the capture point, using a fraction of the sole."""
        memory, pattern, robot = self.memory, self.pattern, self.robot
        center, velocity = self.body.center_of_mass
        capture_point = self._local(center + velocity / pattern.rate - self.stance_foot)
        trailing_foot = self._local(self.other_foot - self.stance_foot)
        half = ca.SX(fraction * robot.half)

        # desired step, and the desired capture point after it
        constant = memory.speed[:2] * pattern.step
        across = ca.vertcat(0, -memory.side * robot.width)
        offset = pattern.offset(constant, across)
        stride = constant + across
        trailing, moving = pattern.transfer(memory.time)
        growth = pattern.remaining_growth(memory.time)
        ends = growth * (capture_point - trailing_foot * moving)
        correction = clamp((ends - stride - offset) / ca.fmax(growth - 1, MIN_GROWTH), half)
        walk_pressure = trailing_foot * trailing + correction
        # a standing robot returns to the middle
        middle = 0.5 * trailing_foot
        offset_from_middle = (1 + CENTERING_RATE) * (capture_point - middle)
        stand_pressure = middle + clamp(
            offset_from_middle, half + ca.vertcat(0, ca.fabs(middle[1]))
        )
        pressure = ca.if_else(memory.walking, walk_pressure, stand_pressure)

        # the foothold corrects the rest
        ends = ends - correction * (growth - 1)
        foothold = (ends - offset - stride * pattern.double_support_effect) / (
            1 - pattern.double_support_effect
        )
        placed = self.stance_foot[:2] + self._world(self._clamp_to_reach(foothold))
        chosen = ca.if_else(self.progress < FOOTHOLD_FREEZE, placed, memory.foothold)
        com_offset = center[:2] - self.stance_foot[:2] - self._world(pressure)
        line = ca.fmax(ca.dot(trailing_foot, trailing_foot), EPSILON)
        share = ca.fmin(ca.fmax(ca.dot(pressure, trailing_foot) / line, 0.0), 1.0)
        return Balance(com_offset, self.double_support * share, chosen)

    def _clamp_to_reach(self, foothold: SX) -> SX:
        """Clamp a foothold, shape (2,), relative to the stance foot, to the reach of the leg.

        The feet neither cross nor touch.
        """
        robot, side = self.robot, self.memory.side
        longest = MAX_STRIDE * robot.length
        nearest = 2 * MIN_WIDTH * robot.half[1]
        farthest = robot.width + MAX_EXTRA_WIDTH * robot.length
        distance = ca.fmin(ca.fmax(-side * foothold[1], float(nearest)), farthest)
        return ca.vertcat(clamp(foothold[0], longest), -side * distance)

    def height(self, trailing_load: SX) -> SX:
        """Compute the height of the center of mass above the loaded feet, in m."""
        ground = self.stance_foot[2] + trailing_load * (self.other_foot[2] - self.stance_foot[2])
        return self.body.center_of_mass[0][2] - ground

    def loads(self, trailing_load: SX) -> list[SX]:
        """Compute the load of each leg, in their order."""
        on_left = self.memory.side > 0
        left = ca.if_else(on_left, 1 - trailing_load, trailing_load)
        return [left if k == self.robot.left else 1 - left for k in range(2)]

    def sole_motions(self, point: SX, velocity: SX) -> list[SX]:
        """Compute the accelerations of the soles, shape (6,) each.

        The swing sole moves towards `point`, shape (3,), in m, which moves at `velocity`, shape
        (3,), in m/s.
        """
        gain = SWING_GAIN * self.pattern.rate
        turned = self.memory.pointing + self.progress * (self.heading - self.memory.pointing)
        x = turned / ca.sqrt(ca.fmax(ca.dot(turned, turned), EPSILON))
        level = ca.vertcat(
            ca.horzcat(x[0], -x[1], 0), ca.horzcat(x[1], x[0], 0), ca.horzcat(0, 0, 1)
        )
        motions = []
        for k, sole in enumerate(self.body.soles):
            swings = (1 - self.double_support) * (
                self.memory.side < 0 if k == self.robot.left else self.memory.side > 0
            )
            error = ca.vertcat(point - sole.position, rotation_error(level, sole.rotation))
            rate = ca.vertcat(velocity, SX.zeros(3))
            motions.append(swings * (gain**2 * error + 2 * gain * rate) - 2 * gain * sole.twist)
        return motions

    def next_memory(self, command: SX, foothold: SX) -> SX:
        """Compute the memory after the time step."""
        memory, pattern, dt = self.memory, self.pattern, self.dt
        walk_command = command[3] > 0.5
        # limit the change of the speeds
        limit = MAX_ACCELERATION * self.robot.gravity * dt
        limits = ca.vertcat(limit, limit, limit / self.robot.width)
        speed = memory.speed + clamp(walk_command * command[:3] - memory.speed, limits)
        still = ca.norm_1(speed) < EPSILON
        # clock
        starts = walk_command * (1 - memory.walking)
        time = memory.time + dt
        ends = memory.walking * (time >= pattern.step)
        stops = ends * (1 - walk_command) * memory.started_at_rest * still
        walking = ca.fmax(memory.walking, starts) * (1 - stops)
        begin = pattern.step - pattern.sway_time
        time = ca.if_else(starts, begin, ca.if_else(ends, time - pattern.step, time))
        side = memory.side * (1 - 2 * ends) + (memory.side == 0)
        # fall detection
        tilted = self.body.kin.world_rotation[0][2, 2] < FALLEN_COSINE
        sunk = self.height(SX(0)) < MIN_HEIGHT_SHARE * self.robot.height
        return ca.vertcat(
            walking,
            ca.fmax(memory.fallen, ca.fmax(tilted, sunk)),
            time * walking,
            side,
            ca.if_else(ends, 1, memory.lifting * (1 - starts)),
            ca.if_else(ends, still, memory.started_at_rest),
            speed,
            self.heading,
            ca.if_else(self.double_support, self.other_foot[:2], memory.liftoff),
            ca.if_else(self.double_support, self.pointing, memory.pointing),
            foothold,
        )

    def _local(self, v: SX) -> SX:
        """Convert a vector to components along and across the heading, shape (2,)."""
        x, y = self.heading[0], self.heading[1]
        return ca.vertcat(x * v[0] + y * v[1], x * v[1] - y * v[0])

    def _world(self, v: SX) -> SX:
        """Invert `_local`."""
        x, y = self.heading[0], self.heading[1]
        return ca.vertcat(x * v[0] - y * v[1], y * v[0] + x * v[1])
