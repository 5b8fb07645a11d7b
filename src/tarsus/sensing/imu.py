"""Inertial measurement unit: specific force, angular velocity, and attitude."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import casadi as ca
from casadi import SX

from tarsus.model.mechanism import Mechanism
from tarsus.parameters import choice
from tarsus.sensing.base import (
    Sensor,
    SensorInput,
    find_frame,
    frame_parameter,
    frame_pose,
    frame_quaternion,
    frame_velocity,
    vector_channels,
)

Attitude = Literal["up", "quaternion"]


@dataclass(frozen=True)
class Imu(Sensor):
    """Inertial measurement unit at a frame, in its axes.

    The specific force is the mean over the step: the change of velocity divided by dt, minus
    gravity. It shows impacts as an accelerometer with the bandwidth of a step would. It is 9.81
    m/s^2 upward at rest and zero in free fall. The attitude is the world's upward axis in the
    frame, which is all that an unaided unit can measure, or a quaternion with heading.
    """

    frame: str = frame_parameter()
    attitude: Attitude = choice(
        "up",
        "form of the attitude",
        up="the world's upward axis in the frame (3,)",
        quaternion="the frame's unit quaternion (w, x, y, z) in the world (4,)",
    )

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Name specific force, angular velocity and attitude."""
        find_frame(mechanism, self.frame)
        full = self.attitude == "quaternion"
        attitude = {f"quaternion_{k}": "1" for k in "wxyz"} if full else vector_channels("up", "1")
        return (
            vector_channels("specific_force", "m/s^2") | vector_channels("gyro", "rad/s") | attitude
        )

    def read(self, inputs: SensorInput) -> tuple[SX, SX]:
        frame = inputs.frame(self.frame)
        _, R = frame_pose(inputs.after, frame)
        (before, _), (after, omega) = (
            frame_velocity(inputs.before, frame),
            frame_velocity(inputs.after, frame),
        )
        gravity = SX(list(inputs.after.mechanism.gravity_acceleration))
        force = ca.mtimes(R.T, (after - before) / inputs.dt - gravity)
        attitude = R[2, :].T if self.attitude == "up" else frame_quaternion(inputs.after, frame)
        return ca.vertcat(force, ca.mtimes(R.T, omega), attitude), inputs.memory
