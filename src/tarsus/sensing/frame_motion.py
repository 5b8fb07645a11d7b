"""Position, orientation and velocities of a frame, as from a motion capture system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Frame, Mechanism
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


@dataclass(frozen=True)
class FrameMotion(Sensor):
    """Pose and velocity of a frame in the world."""

    frame: str = frame_parameter()

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Name position, quaternion (w, x, y, z), linear and angular velocity, world axes."""
        find_frame(mechanism, self.frame)
        orientation = {f"quaternion_{k}": "1" for k in "wxyz"}
        velocity = vector_channels("velocity", "m/s") | vector_channels("angular_velocity", "rad/s")
        return vector_channels("position", "m") | orientation | velocity

    def read(self, inputs: SensorInput) -> tuple[SX, SX]:
        return frame_state(inputs.after, inputs.frame(self.frame)), inputs.memory


def frame_state(kin: Kinematics, frame: Frame) -> SX:
    """Compute position (m), quaternion, velocity (m/s) and angular velocity (rad/s), (13,)."""
    origin, _ = frame_pose(kin, frame)
    return ca.vertcat(origin, frame_quaternion(kin, frame), *frame_velocity(kin, frame))
