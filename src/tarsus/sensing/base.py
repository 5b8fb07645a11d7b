"""Base class of sensors: readings as expressions of the state, contact loads and the ground.

To add a sensor, write one file in `tarsus/sensing` with one frozen dataclass that derives from
`Sensor`; the file's name is the sensor's name. `channels` declares its readings, `read` computes
them, and `initial_memory` initializes its memory. A sensor is compiled into the step of simulations
that use it, and costs nothing in others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import coordinates, jacobian
from tarsus.dynamics.kinematics import Kinematics
from tarsus.errors import IncompatibleOptions
from tarsus.model.mechanism import Frame, Mechanism
from tarsus.model.poses import quaternion_from_rotation
from tarsus.parameters import Value, check, component, parameter
from tarsus.spatial.quaternion import product
from tarsus.spatial.rotation import constant

AXES = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class Load:
    """Contact force on a body in the last step.

    Attributes
    ----------
    point
        Point of application (3,), in m, world frame.
    force
        Mean force (3,) over the step, in N, world axes.
    """

    point: SX
    force: SX


@dataclass(frozen=True, eq=False)
class SensorInput:
    """Quantities that sensors can read after a step, as symbols.

    Attributes
    ----------
    before, after
        Kinematics at the start and the end of the step, with velocities.
    contact_kinematics
        Kinematics where the step evaluates contacts.
    loads
        Function that returns the contact forces on a body, by its name, evaluated at
        `contact_kinematics`.
    dt
        Step size in s.
    heights
        Function that returns the height of the ground (m) below points (3,) of the world.
    ranges
        Function (point, directions, reach, spacing) that returns distances (k,) to the ground along
        k unit directions (3,), in m.
    memory
        Memory (m,) of the sensor.
    """

    before: Kinematics
    after: Kinematics
    contact_kinematics: Kinematics
    loads: Callable[[str], list[Load]]
    dt: SX
    heights: Callable[[list[SX]], list[SX]]
    ranges: Callable[[SX, list[SX], float, float], SX]
    memory: SX

    @property
    def elapsed(self) -> SX:
        """Time from `before` to `after`, s; 0 before the first step."""
        return SX(0) if self.before is self.after else self.dt

    def frame(self, name: str) -> Frame:
        """Find a frame of the robot by name; "" is that of its base."""
        return find_frame(self.after.mechanism, name)


@dataclass(frozen=True, kw_only=True)
class Sensor(ABC):
    """Sensor; implementations are frozen dataclasses.

    The output is the reading of `delay` steps ago, plus `bias`, plus noise. Noise is normal and
    independent in time and between channels. The same seed gives the same noise in the same world,
    episode and step, for any number of worlds. Each parameter is one number, or one per world;
    noise and bias also one per world and channel (worlds, k), or one per channel (1, k).

    Attributes
    ----------
    exact
        Whether readings have neither noise nor bias, as those of flags and times.
    """

    exact: ClassVar[bool] = False

    noise: Value = parameter(
        0.0, "[1]", "standard deviation, in the units of the channel", "[0, inf)"
    )
    bias: Value = parameter(0.0, "[1]", "offset, in the units of the channel")
    delay: int | NDArray[np.int64] = parameter(0, "[1]", "delay of readings, in steps", "[0, 1000]")
    seed: int = parameter(0, "[1]", "seed of the noise", "[0, inf)")

    def __post_init__(self) -> None:
        check(self)
        if self.exact and (np.any(self.noise) or np.any(self.bias)):
            raise IncompatibleOptions(self.why_exact, "noise" if np.any(self.noise) else "bias")

    @property
    def why_exact(self) -> str:
        """Error message for noise or bias of an exact sensor."""
        return (
            f"{type(self).__name__} has no noise or bias: add them to a LoadCell at the same frame,"
            " and compare its force with a threshold."
        )

    @abstractmethod
    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Return the channels for a robot, {name: SI unit}.

        Raises
        ------
        TarsusError
            If the sensor does not fit the robot.
        """

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Return the memory (m,) at time zero; empty by default."""
        return np.zeros(0)

    @abstractmethod
    def read(self, inputs: SensorInput) -> tuple[SX, SX]:
        """Compute the readings (k,) after a step, and the memory (m,)."""


def frame_parameter() -> Any:
    """Declare the frame of a sensor: its name, "" for that of the base."""
    return component("", "frame, contact candidate or body; the base by default")


def find_frame(mechanism: Mechanism, name: str) -> Frame:
    """Find a frame of the robot by name; "" is that of its base."""
    return mechanism.frame(name or mechanism.base_name)


def frame_pose(kin: Kinematics, frame: Frame) -> tuple[SX, SX]:
    """Compute the origin (3,), in m, and rotation (3, 3) of a frame in the world."""
    R = kin.world_rotation[frame.body]
    origin = kin.world_position[frame.body] + ca.mtimes(R, constant(frame.position))
    return origin, ca.mtimes(R, constant(frame.rotation))


def frame_quaternion(kin: Kinematics, frame: Frame) -> SX:
    """Compute the unit quaternion (w, x, y, z) of a frame in the world."""
    frame_rotation = constant(quaternion_from_rotation(frame.rotation))
    return product(coordinates.quaternions(kin)[frame.body], frame_rotation)


def frame_velocity(kin: Kinematics, frame: Frame) -> tuple[SX, SX]:
    """Compute the velocity (m/s) and angular velocity (rad/s) of a frame, (3,) each, world axes."""
    point = constant(frame.position)
    columns = jacobian.point_jacobian(kin, frame.body, point)
    angular = jacobian.angular_jacobian(kin, frame.body)
    return _multiply(columns, kin.u), _multiply(angular, kin.u)


def _multiply(columns: jacobian.Columns, u: SX) -> SX:
    return sum((column * u[k] for k, column in columns.items()), SX.zeros(3))


def vector_channels(name: str, unit: str) -> dict[str, str]:
    """Name the channels of a vector (3,)."""
    return {f"{name}_{axis}": unit for axis in AXES}
