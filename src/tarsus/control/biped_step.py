"""A moment of a walk on two flat feet: which foot stands, how balance is kept, where feet go.

The capture point (Pratt 2006) says both: what the center of pressure can take back within the
standing sole it does, the rest the next foothold does, as in Englsberger 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.control.inverse_dynamics import Stander, within
from tarsus.control.pendulum import StepPattern
from tarsus.control.stance import Stance
from tarsus.control.trunk import keep_heading
from tarsus.morphology.fall import MIN_HEIGHT_SHARE
from tarsus.morphology.sole_inverse_kinematics import rotation_error

STRIDE = 0.5  # of a leg's length: the longest step
NARROW = 1.1  # of the soles' width: feet are not placed nearer to each other
WIDE = 0.5  # of a leg's length, how much farther than standing they may be
FROZEN = 0.9  # of a swing, after which the foothold is kept
FIRM = 0.5  # [1]: least growth that an error is taken back over
STILL = 1.0  # [1]: how quickly, in units of sqrt(g / h), a standing robot returns to the middle
QUICK = 0.02  # of g: speeds change by no more, m/s^2
REST = 1e-6  # m/s: speeds below are none
GIVEN_UP = 0.7  # [1] cosine of the tilt, beyond which the robot has fallen
FOOT = 6.0  # of sqrt(g / h), 1/s: stiffness and damping of a sole in the air


class WalkMemory(NamedTuple):
    """What the walk remembers.

    walking, fallen: 0 or 1
    time: in the step, s
    side: of the standing foot, +1 left, -1 right
    lifting: 0 in the step that only sways, else 1
    calm: 1 if the step began without speed
    speed: (3,) told, as far as it has been followed: forwards, to the left, turning
    heading: (2,) kept, zero before it is taken
    lifted_at, pointing: (2,) where the swinging sole left the ground, and its direction
    foothold: (2,) where it goes
    """

    walking: SX
    fallen: SX
    time: SX
    side: SX
    lifting: SX
    calm: SX
    speed: SX
    heading: SX
    lifted_at: SX
    pointing: SX
    foothold: SX

    @classmethod
    def size(cls) -> int:
        """Of the memory."""
        return sum(MEMORY)

    @classmethod
    def read(cls, memory: SX) -> WalkMemory:
        """Its parts."""
        return cls(*ca.vertsplit(memory, np.cumsum([0, *MEMORY]).tolist()))


MEMORY = (1, 1, 1, 1, 1, 1, 3, 2, 2, 2, 2)


class Balance(NamedTuple):
    """How a step goes on.

    away: (2,) from the wanted center of pressure to the center of mass, m, world axes
    carried: part of the weight on the foot before
    foothold: (2,) where the swinging foot goes, m, world axes
    """

    away: SX
    carried: SX
    foothold: SX


@dataclass(frozen=True)
class BipedStep:
    """A moment of a step: which foot stands, and what follows for balance and feet.

    standing, other: (3,) places of the standing sole and of the other, m
    pointing: (2,) the other's direction
    ahead: (2,) the heading kept
    astray: sine of its error
    """

    stander: Stander
    robot: Stance
    pattern: StepPattern
    was: WalkMemory
    dt: SX
    standing: SX
    other: SX
    pointing: SX
    ahead: SX
    astray: SX

    @classmethod
    def of(
        cls, stander: Stander, robot: Stance, pattern: StepPattern, was: WalkMemory, dt: SX
    ) -> BipedStep:
        """At an instant."""
        left, right = (stander.soles[k] for k in (robot.left, robot.right))
        on_left = was.side > 0
        pointing = ca.if_else(on_left, right.rotation[:2, 0], left.rotation[:2, 0])
        heading = stander.kin.world_rotation[0][:2, 0]
        astray, ahead = keep_heading(was.heading, heading, was.speed[2] * dt)
        feet = [(left.place, right.place), (right.place, left.place)]
        standing, other = (ca.if_else(on_left, a, b) for a, b in feet)
        return cls(stander, robot, pattern, was, dt, standing, other, pointing, ahead, astray)

    @property
    def both(self) -> SX:
        """Whether both feet stand."""
        early = self.was.time < self.pattern.double
        return 1 - (1 - early) * self.was.walking * self.was.lifting

    @property
    def progress(self) -> SX:
        """Of the swing, from 0 to 1."""
        double = self.pattern.double
        return (1 - self.both) * (self.was.time - double) / (self.pattern.step - double)

    @property
    def velocity(self) -> SX:
        """(3,) of the center of mass, m/s."""
        return self.stander.center[1]

    def balance(self, part: float) -> Balance:
        """By the capture point; part: of the sole that balancing may use."""
        was, pattern, robot = self.was, self.pattern, self.robot
        center, velocity = self.stander.center
        point = self._local(center + velocity / pattern.rate - self.standing)
        before = self._local(self.other - self.standing)
        half = ca.SX(part * robot.half)

        # the step to take, and where the capture point should be after it
        same = was.speed[:2] * pattern.step
        across = ca.vertcat(0, -was.side * robot.width)
        offset = pattern.offset(same, across)
        stride = same + across
        carried, moving = pattern.transfer(was.time)
        grown = pattern.growth_left(was.time)
        ends = grown * (point - before * moving)
        by = within((ends - stride - offset) / ca.fmax(grown - 1, FIRM), half)
        walks = before * carried + by
        # standing, it is drawn to the middle
        middle = 0.5 * before
        off = (1 + STILL) * (point - middle)
        stands = middle + within(off, half + ca.vertcat(0, ca.fabs(middle[1])))
        pressure = ca.if_else(was.walking, walks, stands)

        # the foothold takes the rest
        ends = ends - by * (grown - 1)
        foothold = (ends - offset - stride * pattern.shared) / (1 - pattern.shared)
        placed = self.standing[:2] + self._world(self._in_reach(foothold))
        kept = ca.if_else(self.progress < FROZEN, placed, was.foothold)
        away = center[:2] - self.standing[:2] - self._world(pressure)
        line = ca.fmax(ca.dot(before, before), REST)
        share = ca.fmin(ca.fmax(ca.dot(pressure, before) / line, 0.0), 1.0)
        return Balance(away, self.both * share, kept)

    def _in_reach(self, foothold: SX) -> SX:
        """A foothold (2,) against the standing foot that neither crosses it nor is too far away."""
        robot, side = self.robot, self.was.side
        longest = STRIDE * robot.length
        near, far = 2 * NARROW * robot.half[1], robot.width + WIDE * robot.length
        apart = ca.fmin(ca.fmax(-side * foothold[1], float(near)), far)
        return ca.vertcat(within(foothold[0], longest), -side * apart)

    def height(self, carried: SX) -> SX:
        """Of the center of mass above the feet that carry it, m."""
        ground = self.standing[2] + carried * (self.other[2] - self.standing[2])
        return self.stander.center[0][2] - ground

    def loads(self, carried: SX) -> list[SX]:
        """Of the legs in their order."""
        on_left = self.was.side > 0
        left = ca.if_else(on_left, 1 - carried, carried)
        return [left if k == self.robot.left else 1 - left for k in range(2)]

    def sole_motions(self, point: SX, velocity: SX) -> list[SX]:
        """Accelerations (6,) of the soles; of the swinging one towards a point (3,) m that moves
        with a velocity (3,) m/s.
        """
        stiff = FOOT * self.pattern.rate
        turned = self.was.pointing + self.progress * (self.ahead - self.was.pointing)
        x = turned / ca.sqrt(ca.fmax(ca.dot(turned, turned), REST))
        level = ca.vertcat(
            ca.horzcat(x[0], -x[1], 0), ca.horzcat(x[1], x[0], 0), ca.horzcat(0, 0, 1)
        )
        motions = []
        for k, sole in enumerate(self.stander.soles):
            swings = (1 - self.both) * (
                self.was.side < 0 if k == self.robot.left else self.was.side > 0
            )
            off = ca.vertcat(point - sole.place, rotation_error(level, sole.rotation))
            moving = ca.vertcat(velocity, SX.zeros(3))
            motions.append(swings * (stiff**2 * off + 2 * stiff * moving) - 2 * stiff * sole.twist)
        return motions

    def after(self, command: SX, foothold: SX) -> SX:
        """The memory after the step of time."""
        was, pattern, dt = self.was, self.pattern, self.dt
        wanted = command[3] > 0.5
        # speeds follow slowly
        limit = QUICK * self.robot.gravity * dt
        limits = ca.vertcat(limit, limit, limit / self.robot.width)
        speed = was.speed + within(wanted * command[:3] - was.speed, limits)
        still = ca.norm_1(speed) < REST
        # the clock
        starts = wanted * (1 - was.walking)
        time = was.time + dt
        ends = was.walking * (time >= pattern.step)
        stops = ends * (1 - wanted) * was.calm * still
        walking = ca.fmax(was.walking, starts) * (1 - stops)
        begin = pattern.step - pattern.sway_time
        time = ca.if_else(starts, begin, ca.if_else(ends, time - pattern.step, time))
        side = was.side * (1 - 2 * ends) + (was.side == 0)
        # a fall
        tilted = self.stander.kin.world_rotation[0][2, 2] < GIVEN_UP
        sunk = self.height(SX(0)) < MIN_HEIGHT_SHARE * self.robot.height
        return ca.vertcat(
            walking,
            ca.fmax(was.fallen, ca.fmax(tilted, sunk)),
            time * walking,
            side,
            ca.if_else(ends, 1, was.lifting * (1 - starts)),
            ca.if_else(ends, still, was.calm),
            speed,
            self.ahead,
            ca.if_else(self.both, self.other[:2], was.lifted_at),
            ca.if_else(self.both, self.pointing, was.pointing),
            foothold,
        )

    def _local(self, v: SX) -> SX:
        """(2,) of a vector (3,) along and across the heading."""
        x, y = self.ahead[0], self.ahead[1]
        return ca.vertcat(x * v[0] + y * v[1], x * v[1] - y * v[0])

    def _world(self, v: SX) -> SX:
        """The inverse of `_local`."""
        x, y = self.ahead[0], self.ahead[1]
        return ca.vertcat(x * v[0] - y * v[1], y * v[0] + x * v[1])
