"""Inverse dynamics of a robot on flat feet: torques for a motion, and the ground forces they need.

The motion is given by the accelerations of the center of mass, of the base's attitude and of each
sole; servos control the other joints. The joint accelerations of a leg follow from those of its
sole and of the base (damped least squares). The recursive Newton-Euler algorithm gives the force
and moment that the motion needs from the ground, and the loaded feet share them: each foot acts at
a center of pressure inside its sole, with a moment about the vertical. What a flat foot cannot
provide is cut off, first from the attitude, then from the center of mass. The torques of a leg are
those of the motion, less J^T times the force of its foot.

All gains are per mass and inertia: no number here is tuned to a robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.pd import actuated_indices
from tarsus.dynamics import energy, jacobian, rnea
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.dynamics.free_motion import armature
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.sole_inverse_kinematics import damped_least_squares
from tarsus.morphology.sole_leg import SoleLeg, find_sole_legs
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
SOLE_FRACTION = (
    0.95  # fraction of the sole's half length and width usable by the center of pressure
)
MIN_LOAD = 0.1  # least fraction of the weight on the ground while feet stand
MIN_FORCE = 1e-6  # N: guards a division
ASSUMED_FRICTION = 0.5  # friction coefficient


class Sole(NamedTuple):
    """Pose, velocity and Jacobians of a sole, in world axes.

    Attributes
    ----------
    position
        Middle of the sole, shape (3,), in m.
    rotation
        Rotation matrix, shape (3, 3).
    twist
        Linear and angular velocity, shape (6,), in m/s and rad/s.
    base_jacobian
        Jacobian with respect to the velocity of the base, shape (6, 6).
    leg_jacobian
        Jacobian with respect to the n joints of the leg, shape (6, n).
    """

    position: SX
    rotation: SX
    twist: SX
    base_jacobian: SX
    leg_jacobian: SX


class WholeBodyMotion(NamedTuple):
    """Desired accelerations of the whole body.

    Attributes
    ----------
    com
        Acceleration of the center of mass, shape (3,), in m/s^2.
    base
        Angular acceleration of the base, shape (3,), in rad/s^2, base axes.
    soles
        Accelerations of each foot, shape (6,), in m/s^2 and rad/s^2.
    joints
        Accelerations of joints outside the legs, and of redundant leg joints, shape (nu,), in
        rad/s^2.
    momentum_damping
        Rate at which the angular momentum is removed, in 1/s, instead of controlling the attitude.
        0: the attitude is controlled.
    """

    com: SX
    base: SX
    soles: list[SX]
    joints: SX
    momentum_damping: SX | float = 0.0


@dataclass(frozen=True)
class WholeBody:
    """Whole-body model of a robot on flat feet, at one state."""

    kin: Kinematics
    legs: tuple[SoleLeg, ...]

    @classmethod
    def of(cls, mechanism: Mechanism, q: SX, u: SX) -> WholeBody:
        """Build the model at coordinates q, shape (nq,), and velocities u, shape (nu,)."""
        return cls(kinematics(mechanism, q, u), find_sole_legs(mechanism))

    @cached_property
    def mass(self) -> float:
        """Total mass, in kg."""
        return self.kin.mechanism.mass

    @cached_property
    def gravity(self) -> float:
        """Gravitational acceleration, in m/s^2, positive downwards."""
        return -self.kin.mechanism.gravity_acceleration[2]

    @cached_property
    def center_of_mass(self) -> tuple[SX, SX]:
        """Position, shape (3,), in m, and velocity, shape (3,), in m/s, of the center of mass."""
        inertias = base_parameters(self.kin.mechanism)
        momentum = energy.momentum(self.kin, inertias)[:3]
        return energy.center_of_mass(self.kin, inertias), momentum / self.mass

    @cached_property
    def angular_momentum(self) -> SX:
        """Angular momentum about the center of mass, shape (3,), in kg m^2/s."""
        inertias = base_parameters(self.kin.mechanism)
        linear, angular = ca.vertsplit(energy.momentum(self.kin, inertias), 3)
        return angular - ca.cross(self.center_of_mass[0], linear)

    @cached_property
    def soles(self) -> list[Sole]:
        """Sole of each leg."""
        return [self._sole(leg) for leg in self.legs]

    def _sole(self, leg: SoleLeg) -> Sole:
        kin, body, point = self.kin, leg.bodies[-1], constant(leg.sole)
        columns = [
            jacobian.dense(jacobian_columns, kin.mechanism.nu)
            for jacobian_columns in (
                jacobian.point_jacobian(kin, body, point),
                jacobian.angular_jacobian(kin, body),
            )
        ]
        J = ca.vertcat(*columns)
        return Sole(
            jacobian.position(kin, body, point),
            ca.mtimes(kin.world_rotation[body], constant(leg.level.T)),
            ca.mtimes(J, kin.u),
            J[:, :6],
            J[:, self.leg_indices(leg)],
        )

    def leg_indices(self, leg: SoleLeg) -> list[int]:
        """Return the indices of a leg's joints in u."""
        return [self.kin.mechanism.u_slices[i].start for i in leg.bodies]

    def servo(self, posture: Array, stiffness: float, damping: float) -> SX:
        """Compute joint accelerations, shape (nu,), that bring joints to a posture, shape (nq,).

        `stiffness` is in 1/s^2, `damping` in 1/s.
        """
        mechanism, accelerations = self.kin.mechanism, SX.zeros(self.kin.mechanism.nu)
        for i, body in enumerate(mechanism.bodies):
            if body.joint.kind in ("hinge", "slide"):
                u_index, q_index = mechanism.u_slices[i].start, mechanism.q_slices[i].start
                error = float(posture[q_index]) - self.kin.q[q_index]
                accelerations[u_index] = stiffness * error - damping * self.kin.u[u_index]
        return accelerations

    def motor_entries(self, values: SX) -> SX:
        """Return the entries of a vector, shape (nu,), that belong to the actuators."""
        return ca.vec(values[actuated_indices(self.kin.mechanism)[1]])

    def torques(self, motion: WholeBodyMotion, loads: list[SX]) -> SX:
        """Compute the torques for a motion, shape (n_actuators,), in N m.

        Parameters
        ----------
        motion
            Desired accelerations.
        loads
            Share of the ground force on each foot. The shares sum to 1, or are all zero in flight.
        """
        # generalized forces of the motion
        kin, mechanism = self.kin, self.kin.mechanism
        base = ca.vertcat(motion.com, motion.base)
        accelerations = SX(motion.joints)
        accelerations[:6] = base
        for leg, sole, target in zip(self.legs, self.soles, motion.soles, strict=True):
            indices = self.leg_indices(leg)
            solution = damped_least_squares(
                sole.leg_jacobian, target - ca.mtimes(sole.base_jacobian, base), leg.length
            )
            accelerations[indices] = solution.of(accelerations[indices])
        forces = rnea.inverse_dynamics(kin, base_parameters(mechanism), accelerations)
        forces += armature(mechanism) * accelerations

        # less those of the ground on each foot
        contact = self._foot_wrenches(motion, forces, loads)
        for leg, sole, (force, moment) in zip(self.legs, self.soles, contact, strict=True):
            indices = self.leg_indices(leg)
            forces[indices] -= ca.mtimes(sole.leg_jacobian.T, ca.vertcat(force, moment))
        return self.motor_entries(forces)

    def _foot_wrenches(
        self, motion: WholeBodyMotion, forces: SX, loads: list[SX]
    ) -> list[tuple[SX, SX]]:
        """Compute the force and moment about the middle of each sole, in N and N m, world axes."""
        # total force, and moment about the center of mass
        standing = sum(loads, SX(0))
        force = self._ground_force(motion.com) * standing
        R, origin = self.kin.world_rotation[0], self.kin.q[:3]
        arm = self.center_of_mass[0] - origin
        moment = ca.mtimes(R, forces[3:6]) - ca.cross(arm, forces[:3])
        if not SX(motion.momentum_damping).is_zero():
            moment = ca.if_else(
                motion.momentum_damping > 0,
                -motion.momentum_damping * self.angular_momentum,
                moment,
            )
        # its center of pressure, relative to the middle of the loaded feet
        middle = sum(
            (load * sole.position for load, sole in zip(loads, self.soles, strict=True)),
            SX.zeros(3),
        )
        above, upward = self.center_of_mass[0] - middle, ca.fmax(force[2], MIN_FORCE)
        shift = ca.vertcat(force[0] * above[2] + moment[1], force[1] * above[2] - moment[0])
        pressure_offset = above[:2] - shift / upward
        vertical_moment = moment[2] + shift[0] / upward * force[1] - shift[1] / upward * force[0]
        # share of each foot
        wrenches = []
        for leg, sole, load in zip(self.legs, self.soles, loads, strict=True):
            foot_force = load * force
            pressure_center = _clamp_to_sole(
                sole.rotation, pressure_offset, leg.half * SOLE_FRACTION
            )
            twist = clamp(
                load * vertical_moment, ASSUMED_FRICTION * float(min(leg.half)) * foot_force[2]
            )
            wrenches.append(
                (foot_force, ca.cross(pressure_center, foot_force) + ca.vertcat(0, 0, twist))
            )
        return wrenches

    def _ground_force(self, acceleration: SX) -> SX:
        """Compute the ground force for an acceleration of the center of mass, shape (3,), in N.

        The ground only pushes, and the force stays within friction.
        """
        up = ca.fmax(acceleration[2] + self.gravity, MIN_LOAD * self.gravity)
        horizontal = [clamp(acceleration[k], ASSUMED_FRICTION * up) for k in range(2)]
        return self.mass * ca.vertcat(*horizontal, up)


def attitude_acceleration(
    kin: Kinematics, error: SX, rate: SX, stiffness: float, damping: float
) -> SX:
    """Compute the angular acceleration that turns the base upright and to its heading.

    Parameters
    ----------
    kin
        Kinematics at the state.
    error
        Sine of the angle, to the left, from the heading to the desired heading.
    rate
        Desired turn rate, in rad/s, to the left.
    stiffness, damping
        Gains, in 1/s^2 and 1/s.

    Returns
    -------
    casadi.SX
        Angular acceleration, shape (3,), in rad/s^2, base axes.
    """
    R, spin = kin.world_rotation[0], kin.u[3:6]
    tilt = ca.vertcat(-R[2, 1], R[2, 0], error)
    return stiffness * tilt + damping * (ca.vertcat(0, 0, rate) - spin)


def _clamp_to_sole(R: SX, offset: SX, half: Array) -> SX:
    """Clamp a point, shape (2,), relative to the middle of a sole, to the edges of that sole.

    The result has shape (3,), in world axes.
    """
    along = [ca.dot(R[:2, k], offset) for k in range(2)]
    x, y = (clamp(value, float(h)) for value, h in zip(along, half, strict=True))
    return R[:, 0] * x + R[:, 1] * y


def clamp(value: SX, limit: float | SX) -> SX:
    """Clamp a value to [-limit, limit]."""
    return ca.fmin(ca.fmax(value, -limit), limit)
