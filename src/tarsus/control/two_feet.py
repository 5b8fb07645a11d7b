"""Standing on two flat feet: the balance that motions on the spot share."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.control.inverse_dynamics import Stander, WholeBodyMotion, attitude
from tarsus.control.stance import Stance
from tarsus.morphology.sole_inverse_kinematics import rotation_error

STEADY, UPRIGHT, FOOT, POSTURE = 1.5, 2.0, 6.0, 3.0  # of sqrt(g / h), 1/s: stiffness and damping
TINY = 1e-6  # m^2


@dataclass(frozen=True)
class TwoFeet:
    """A robot above its two soles; `robot` are its constants, `rate` is sqrt(g / h), 1/s."""

    stander: Stander
    robot: Stance
    rate: float

    @property
    def left(self) -> SX:
        """The left sole's middle (3,), m."""
        return self.stander.soles[self.robot.left].place

    @property
    def right(self) -> SX:
        """The right sole's middle (3,), m."""
        return self.stander.soles[self.robot.right].place

    @property
    def middle(self) -> SX:
        """Between the soles (3,), m."""
        return 0.5 * (self.left + self.right)

    @property
    def ahead(self) -> SX:
        """(2,) where the feet point."""
        both = sum((sole.rotation[:2, 0] for sole in self.stander.soles), SX.zeros(2))
        return both / ca.sqrt(ca.fmax(ca.dot(both, both), TINY))

    def push(self, place: SX, velocity: SX, acceleration: SX, stiffness: SX | float) -> SX:
        """Acceleration (3,) of the center of mass, m/s^2, that follows a motion against `middle`.

        place, velocity, acceleration: (3,) ahead, to the left, up
        stiffness: 1/s, of the height's servo, critically damped
        """
        center, speed = self.stander.center
        firm = ca.vertcat(STEADY * self.rate, STEADY * self.rate, stiffness)
        off = self._world(place) - (center - self.middle)
        slow = self._world(velocity) - speed
        return self._world(acceleration) + firm**2 * off + 2 * firm * slow

    def loads(self, push: SX) -> list[SX]:
        """Share of each leg, in their order, that puts the feet's push below this acceleration."""
        center = self.stander.center[0] - self.right
        upward = ca.fmax(push[2] + self.robot.gravity, 0.1 * self.robot.gravity)
        pressure = center[:2] - push[:2] * (center[2] / upward)
        way = (self.left - self.right)[:2]
        left = ca.dot(pressure, way) / ca.fmax(ca.dot(way, way), TINY)
        left = ca.fmin(ca.fmax(left, 0.0), 1.0)
        return [left if k == self.robot.left else 1 - left for k in range(2)]

    def torques(self, push: SX, soles: list[SX], loads: list[SX], calm: SX | float = 0.0) -> SX:
        """Torques (n_actuators,), N m: the trunk upright and ahead, other joints in the posture.

        calm: see `WholeBodyMotion`
        """
        kin, x = self.stander.kin, self.ahead
        heading = kin.world_rotation[0][:2, 0]
        astray = heading[0] * x[1] - heading[1] * x[0]
        firm, soft = UPRIGHT * self.rate, POSTURE * self.rate
        turn = attitude(kin, astray, SX(0), firm**2, 2 * firm)
        joints = self.stander.servo(self.robot.posture, soft**2, 2 * soft)
        return self.stander.torques(WholeBodyMotion(push, turn, soles, joints, calm), loads)

    def resting(self) -> list[SX]:
        """Accelerations (6,) of soles that stay where they are."""
        return [-2 * FOOT * self.rate * sole.twist for sole in self.stander.soles]

    def carried(self, places: list[SX], velocity: SX, acceleration: SX) -> list[SX]:
        """Accelerations (6,) of soles that go, level, to places (3,) which move alike."""
        firm, x = FOOT * self.rate, self.ahead
        level = ca.vertcat(
            ca.horzcat(x[0], -x[1], 0), ca.horzcat(x[1], x[0], 0), ca.horzcat(0, 0, 1)
        )
        still = SX.zeros(3)
        return [
            firm**2 * ca.vertcat(place - sole.place, rotation_error(level, sole.rotation))
            + 2 * firm * (ca.vertcat(velocity, still) - sole.twist)
            + ca.vertcat(acceleration, still)
            for place, sole in zip(places, self.stander.soles, strict=True)
        ]

    def _world(self, v: SX) -> SX:
        """(3,) of a vector (3,) ahead, to the left, up."""
        x = self.ahead
        return ca.vertcat(x[0] * v[0] - x[1] * v[1], x[1] * v[0] + x[0] * v[1], v[2])
