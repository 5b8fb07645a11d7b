"""Double support: balance of a robot that stands on two flat feet."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.control.inverse_dynamics import WholeBody, WholeBodyMotion, attitude_acceleration
from tarsus.control.stance import Stance
from tarsus.morphology.sole_inverse_kinematics import rotation_error

# gains of the servos, in units of sqrt(g / h), 1/s
COM_GAIN, ATTITUDE_GAIN, FOOT_GAIN, POSTURE_GAIN = 1.5, 2.0, 6.0, 3.0
MIN_SQUARE = 1e-6  # m^2: guards a division


@dataclass(frozen=True)
class DoubleSupport:
    """Robot in double support on flat feet.

    Attributes
    ----------
    body
        Whole-body model at the state.
    robot
        Constants of the robot.
    rate
        sqrt(g / h), in 1/s.
    """

    body: WholeBody
    robot: Stance
    rate: float

    @property
    def left(self) -> SX:
        """Middle of the left sole, shape (3,), in m."""
        return self.body.soles[self.robot.left].position

    @property
    def right(self) -> SX:
        """Middle of the right sole, shape (3,), in m."""
        return self.body.soles[self.robot.right].position

    @property
    def middle(self) -> SX:
        """Point halfway between the soles, shape (3,), in m."""
        return 0.5 * (self.left + self.right)

    @property
    def heading(self) -> SX:
        """Mean direction of the feet, shape (2,)."""
        mean = sum((sole.rotation[:2, 0] for sole in self.body.soles), SX.zeros(2))
        return mean / ca.sqrt(ca.fmax(ca.dot(mean, mean), MIN_SQUARE))

    def com_acceleration(
        self, position: SX, velocity: SX, acceleration: SX, stiffness: SX | float
    ) -> SX:
        """Compute the acceleration with which the center of mass follows a motion above `middle`.

        Parameters
        ----------
        position, velocity, acceleration
            Desired motion relative to `middle`, shape (3,): ahead, to the left, up.
        stiffness
            Gain of the critically damped height servo, in 1/s.

        Returns
        -------
        casadi.SX
            Acceleration, shape (3,), in m/s^2, world axes.
        """
        center_of_mass, speed = self.body.center_of_mass
        gains = ca.vertcat(COM_GAIN * self.rate, COM_GAIN * self.rate, stiffness)
        error = self._world(position) - (center_of_mass - self.middle)
        rate_error = self._world(velocity) - speed
        return self._world(acceleration) + gains**2 * error + 2 * gains * rate_error

    def loads(self, com_acceleration: SX) -> list[SX]:
        """Compute the load share of each leg for which the feet can provide this acceleration."""
        center = self.body.center_of_mass[0] - self.right
        upward = ca.fmax(com_acceleration[2] + self.robot.gravity, 0.1 * self.robot.gravity)
        pressure = center[:2] - com_acceleration[:2] * (center[2] / upward)
        between = (self.left - self.right)[:2]
        left = ca.dot(pressure, between) / ca.fmax(ca.dot(between, between), MIN_SQUARE)
        left = ca.fmin(ca.fmax(left, 0.0), 1.0)
        return [left if k == self.robot.left else 1 - left for k in range(2)]

    def torques(
        self,
        com_acceleration: SX,
        soles: list[SX],
        loads: list[SX],
        momentum_damping: SX | float = 0.0,
    ) -> SX:
        """Compute the torques, shape (n_actuators,), in N m, of a motion with the trunk upright.

        The trunk faces `heading`, and joints outside the legs stay in the posture.

        Parameters
        ----------
        com_acceleration
            Acceleration of the center of mass, shape (3,), in m/s^2.
        soles
            Accelerations of the soles, shape (6,).
        loads
            Share of the ground force on each foot.
        momentum_damping
            See `WholeBodyMotion`.
        """
        kin, x = self.body.kin, self.heading
        direction = kin.world_rotation[0][:2, 0]
        error = direction[0] * x[1] - direction[1] * x[0]
        attitude_gain, posture_gain = ATTITUDE_GAIN * self.rate, POSTURE_GAIN * self.rate
        turn = attitude_acceleration(kin, error, SX(0), attitude_gain**2, 2 * attitude_gain)
        joints = self.body.servo(self.robot.posture, posture_gain**2, 2 * posture_gain)
        return self.body.torques(
            WholeBodyMotion(com_acceleration, turn, soles, joints, momentum_damping), loads
        )

    def fixed_soles(self) -> list[SX]:
        """Compute the accelerations of soles that stay in place, shape (6,) each."""
        return [-2 * FOOT_GAIN * self.rate * sole.twist for sole in self.body.soles]

    def moving_soles(self, positions: list[SX], velocity: SX, acceleration: SX) -> list[SX]:
        """Compute the accelerations, shape (6,) each, of level soles that follow moving targets.

        Parameters
        ----------
        positions
            Target of each sole, shape (3,), in m.
        velocity, acceleration
            Velocity and acceleration of all targets, shape (3,).
        """
        gain, x = FOOT_GAIN * self.rate, self.heading
        level = ca.vertcat(
            ca.horzcat(x[0], -x[1], 0), ca.horzcat(x[1], x[0], 0), ca.horzcat(0, 0, 1)
        )
        still = SX.zeros(3)
        return [
            gain**2 * ca.vertcat(position - sole.position, rotation_error(level, sole.rotation))
            + 2 * gain * (ca.vertcat(velocity, still) - sole.twist)
            + ca.vertcat(acceleration, still)
            for position, sole in zip(positions, self.body.soles, strict=True)
        ]

    def _world(self, v: SX) -> SX:
        """Convert a vector, shape (3,), from ahead, left and up to world axes."""
        x = self.heading
        return ca.vertcat(x[0] * v[0] - x[1] * v[1], x[1] * v[0] + x[0] * v[1], v[2])
