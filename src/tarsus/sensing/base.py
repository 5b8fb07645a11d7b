"""The base class of sensors: readings as expressions of the state, the loads and the ground.

To add a sensor: one file in `tarsus/sensing` with one frozen dataclass that derives from `Sensor`;
the file's name is the sensor's name. It says what it reads in `channels`, and reads in `read`; what
it remembers begins as `initial_memory`. It is compiled into the step of the simulations that ask
for it, and costs nothing in others.
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
    """The force on a body over the last step, at one contact with the ground or another body.

    point (3,): where it acts, world, m
    force (3,): the mean over the step, world axes, N
    """

    point: SX
    force: SX


@dataclass(frozen=True, eq=False)
class Seen:
    """What sensors may look at after a step, as symbols.

    before, after: the robot at the step's start and end, with velocities
    pressed: the robot where the step looks at its contacts
    loads: of the contacts on a body, by its name, seen there
    dt: the step, s
    heights: of the ground above z = 0 (m) below points (3,) of the world
    ranges: distances (k,), m, of the ground from a point (3,) along k unit directions (3,), with
        the greatest that is told and the spacing of looks, m
    memory (m,): the sensor's own
    """

    before: Kinematics
    after: Kinematics
    pressed: Kinematics
    loads: Callable[[str], list[Load]]
    dt: SX
    heights: Callable[[list[SX]], list[SX]]
    ranges: Callable[[SX, list[SX], float, float], SX]
    memory: SX

    @property
    def passed(self) -> SX:
        """How long it took from before to after, s: 0 where no step was made yet."""
        return SX(0) if self.before is self.after else self.dt

    def frame(self, name: str) -> Frame:
        """A frame of the robot; "" is its first body's. TarsusError with near names."""
        return frame_named(self.after.mechanism, name)


@dataclass(frozen=True, kw_only=True)
class Sensor(ABC):
    """A sensor; implementations are frozen dataclasses.

    What it tells is its reading, `delay` steps old, plus `bias`, plus noise: normal, independent in
    time and from channel to channel. The same seed gives the same noise in the same world, episode
    and step, however many worlds there are. Each may be one number, or one a world; noise and bias
    also one a world and channel (worlds, k), or one a channel (1, k).

    exact: whether its readings, such as truths and times, take neither noise nor bias
    """

    exact: ClassVar[bool] = False

    noise: Value = parameter(0.0, "[1]", "standard deviation, in the units read", "[0, inf)")
    bias: Value = parameter(0.0, "[1]", "what is added, in the units read")
    delay: int | NDArray[np.int64] = parameter(
        0, "[1]", "steps from motion to reading", "[0, 1000]"
    )
    seed: int = parameter(0, "[1]", "a noise of its own for each number", "[0, inf)")

    def __post_init__(self) -> None:
        check(self)
        if self.exact and (np.any(self.noise) or np.any(self.bias)):
            raise IncompatibleOptions(self.why_exact, "noise" if np.any(self.noise) else "bias")

    @property
    def why_exact(self) -> str:
        """What to tell who asks an exact sensor for noise or bias."""
        return (
            f"{type(self).__name__} is exact and takes no noise or bias: give them to a LoadCell at"
            " the same frame, and compare its force yourself."
        )

    @abstractmethod
    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """What it reads of this robot: {name: SI unit}; TarsusError if it does not fit."""

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """The memory (m,) at time zero; empty by default."""
        return np.zeros(0)

    @abstractmethod
    def read(self, seen: Seen) -> tuple[SX, SX]:
        """The channels (k,) after a step, and the memory (m,)."""


def at_frame() -> Any:
    """The declaration of a sensor's frame: its name, "" for the first body's."""
    return component("", "frame, contact candidate or body; the first body if left out")


def frame_named(mechanism: Mechanism, name: str) -> Frame:
    """A frame of the robot by name, "" its first body's own; TarsusError with near names."""
    return mechanism.frame(name or mechanism.bodies[0].name)


def place(kin: Kinematics, frame: Frame) -> tuple[SX, SX]:
    """Origin (3,), m, and rotation (3, 3) of a frame in the world."""
    R = kin.world_rotation[frame.body]
    origin = kin.world_position[frame.body] + ca.mtimes(R, constant(frame.position))
    return origin, ca.mtimes(R, constant(frame.rotation))


def quaternion(kin: Kinematics, frame: Frame) -> SX:
    """The unit quaternion (w, x, y, z) of a frame in the world."""
    own = constant(quaternion_from_rotation(frame.rotation))
    return product(coordinates.quaternions(kin)[frame.body], own)


def motion(kin: Kinematics, frame: Frame) -> tuple[SX, SX]:
    """Velocity (3,), m/s, of a frame's origin and its angular velocity (3,), rad/s, world axes."""
    point = constant(frame.position)
    columns = jacobian.point_jacobian(kin, frame.body, point)
    turning = jacobian.angular_jacobian(kin, frame.body)
    return _times(columns, kin.u), _times(turning, kin.u)


def _times(columns: jacobian.Columns, u: SX) -> SX:
    return sum((column * u[k] for k, column in columns.items()), SX.zeros(3))


def along(name: str, unit: str) -> dict[str, str]:
    """The channels of a vector."""
    return {f"{name}_{axis}": unit for axis in AXES}
