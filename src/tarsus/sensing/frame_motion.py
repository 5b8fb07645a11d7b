"""Position, attitude and velocities of a frame, as a motion capture system tells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Frame, Mechanism
from tarsus.sensing.base import (
    Seen,
    Sensor,
    along,
    at_frame,
    frame_named,
    motion,
    place,
    quaternion,
)


@dataclass(frozen=True)
class FrameMotion(Sensor):
    """Of a frame's origin and axes in the world."""

    frame: str = at_frame()

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Position, unit quaternion (w, x, y, z), linear and angular velocity, world axes."""
        frame_named(mechanism, self.frame)
        turned = {f"quaternion_{k}": "1" for k in "wxyz"}
        moving = along("velocity", "m/s") | along("angular_velocity", "rad/s")
        return along("position", "m") | turned | moving

    def read(self, seen: Seen) -> tuple[SX, SX]:
        return frame_state(seen.after, seen.frame(self.frame)), seen.memory


def frame_state(kin: Kinematics, frame: Frame) -> SX:
    """Position (m), unit quaternion (w, x, y, z), velocity (m/s) and angular velocity (rad/s) of a
    frame, world axes, (13,).
    """
    origin, _ = place(kin, frame)
    return ca.vertcat(origin, quaternion(kin, frame), *motion(kin, frame))
