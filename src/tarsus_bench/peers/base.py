"""Base class of the simulators that are compared with the same robot, servo and initial state."""

from __future__ import annotations

import importlib.util
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.engines.base import Session

Array = NDArray[np.float64]
FRICTION = 0.8  # friction coefficient of every contact [1]


@dataclass(frozen=True, eq=False)
class Work:
    """Task of a simulator."""

    robot: Robot
    """Robot with a floating base, hinges, and spheres as contact candidates.

    The servos hold the posture of its keyframe "stand".
    """
    q: Array
    """Initial coordinates, shape (nq,)."""
    u: Array
    """Initial velocities, shape (nu,)."""
    kp: float
    """Proportional gain of the servos, N m/rad; 0 if the motors are off."""
    kd: float
    """Derivative gain of the servos, N m s/rad; 0 if the motors are off."""
    dt: float
    """Step size, s."""

    @property
    def posture(self) -> Array:
        """Joint angles (joints,) that the servos hold, rad."""
        return np.asarray(self.robot.keyframes["stand"])[7:]

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the hinges in the order of q."""
        return self.robot.joint_names[1:]


class PeerSession(Session):
    """Base class of simulators with a task.

    To add a simulator:

    1. Create a file in ``tarsus_bench/peers`` with the name that tables show.
    2. Define in it one class that inherits from `PeerSession`. Import the simulator only inside
       methods, because the file must be readable without it.
    3. Set `package` (what Python imports) and `distributions` (what users install).
    4. Build the robot in ``__init__`` from the output of `tarsus.model.to_urdf` or `to_mjcf`. The
       floor is the plane z = 0, the friction coefficient is `FRICTION`, and self-contact is off.
    5. The servo torque tau = kp (posture - angle) - kd rate is computed at the start of a step and
       constant during it. Implement `apply_servos` (read the joints, set torques) and
       `make_step`. If the simulator can compute the servo, implement `advance` and set
       `has_own_servo`.
    6. Describe in `settings` the solver, iterations, tolerances, number format, and everything else
       in which the simulator differs from the others.
    """

    package: ClassVar[str]
    """Name of the package that Python imports."""
    distributions: ClassVar[tuple[str, ...]]
    """Names of the distributions to install."""
    variants: ClassVar[Mapping[str, str]] = {"": "defaults"}
    """Description of each variant, by name."""
    has_own_servo: ClassVar[bool] = False
    """Whether the simulator computes the servo, without Python in every step."""

    @abstractmethod
    def __init__(self, work: Work, variant: str) -> None:
        """Build the robot on the floor, ready to `reset`; the base class stores the task."""
        self._work, self.dt = work, work.dt

    @classmethod
    def installed(cls) -> bool:
        """Return whether the package is installed, without importing it."""
        return importlib.util.find_spec(cls.package) is not None

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Describe version, solver, iterations, tolerance, number format and other settings."""

    @abstractmethod
    def mass(self) -> float:
        """Return the robot's mass in kg as computed by the simulator."""

    @abstractmethod
    def reset(self) -> None:
        """Restore the initial state, including the memory of the solver."""

    def apply_servos(self) -> None:
        """Read the joints and set the torques of the servos."""
        raise NotImplementedError(f"{type(self).__name__} has no servo in Python")

    def make_step(self) -> None:
        """Make one step of the simulator."""
        raise NotImplementedError(f"{type(self).__name__} can be stepped only by advance")

    def advance(self, steps: int) -> None:
        """Make steps with the servo."""
        for _ in range(steps):
            self.apply_servos()
            self.make_step()


def world_to_body(q: Array, omega: Array) -> Array:
    """Rotate an angular velocity (3,) from world axes to the axes of the base at q."""
    w, v = q[3], -q[4:7]
    twice = 2 * np.cross(v, omega)
    return omega + w * twice + np.cross(v, twice)


def body_to_world(q: Array, omega: Array) -> Array:
    """Rotate an angular velocity (3,) from the axes of the base at q to world axes."""
    w, v = q[3], q[4:7]
    twice = 2 * np.cross(v, omega)
    return omega + w * twice + np.cross(v, twice)
