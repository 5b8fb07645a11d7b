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
    Seen,
    Sensor,
    along,
    at_frame,
    frame_named,
    motion,
    place,
    quaternion,
)

Attitude = Literal["up", "quaternion"]


@dataclass(frozen=True)
class Imu(Sensor):
    """At a frame, in its axes.

    The specific force is the mean over the step, the change of velocity by dt less gravity: it
    shows impacts as an accelerometer with the bandwidth of a step would, 9.81 m/s^2 upward at rest
    and zero in free fall. The attitude is told as the world's upward axis seen from the frame, as
    much as an unaided unit can know of it; attitude="quaternion": as (w, x, y, z), heading and all.
    """

    frame: str = at_frame()
    attitude: Attitude = choice(
        "up",
        "how the attitude is told",
        up="the world's upward axis seen from the frame (3,)",
        quaternion="the frame's unit quaternion (w, x, y, z) in the world (4,)",
    )

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Specific force, angular velocity, attitude."""
        frame_named(mechanism, self.frame)
        whole = self.attitude == "quaternion"
        told = {f"quaternion_{k}": "1" for k in "wxyz"} if whole else along("up", "1")
        return along("specific_force", "m/s^2") | along("gyro", "rad/s") | told

    def read(self, seen: Seen) -> tuple[SX, SX]:
        frame = seen.frame(self.frame)
        _, R = place(seen.after, frame)
        (before, _), (after, omega) = motion(seen.before, frame), motion(seen.after, frame)
        gravity = SX(list(seen.after.mechanism.gravity_acceleration))
        force = ca.mtimes(R.T, (after - before) / seen.dt - gravity)
        told = R[2, :].T if self.attitude == "up" else quaternion(seen.after, frame)
        return ca.vertcat(force, ca.mtimes(R.T, omega), told), seen.memory
