"""Options for joints, self-collision and sensors, shared by commands."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from tarsus import registry
from tarsus.commands.base import ArgumentCheck, Flag, Group, argument, name_check, number_argument
from tarsus.errors import IncompatibleOptions, InvalidValue

if TYPE_CHECKING:
    from tarsus.sensing.base import Sensor
    from tarsus.simulation.options import Options

SENSORS = "tarsus.sensing"
SENSOR = name_check("sensor", SENSORS)


@dataclass(frozen=True)
class JointFlags(Group):
    """Options for joint limits, dry joint friction and self-collision."""

    no_limits: Flag = False
    """Skip joint limits."""
    bounce: Annotated[float, number_argument("NUMBER"), argument("NUMBER")] = 0.0
    """Coefficient of restitution at joint limits, 0 to 1."""
    no_stiction: Flag = False
    """Skip static joint friction: it becomes viscous damping, and a step takes half the time."""
    self_collision: Flag = False
    """Simulate contact between the robot's own spheres, capsules, boxes and cylinders."""

    @property
    def options(self) -> Options:
        """Keyword arguments for `Simulation`."""
        return {
            "limits": not self.no_limits,
            "bounce": self.bounce,
            "stiction": not self.no_stiction,
            "self_collision": self.self_collision,
        }

    @property
    def changed_options(self) -> list[str]:
        """Options that differ from their defaults, as the user types them."""
        names = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        return [f"--{name.replace('_', '-')}" for name in names]

    def check(self) -> None:
        """Raise TarsusError for a restitution out of range, or one without joint limits."""
        if not 0 <= self.bounce <= 1:
            raise InvalidValue(f"--bounce must be from 0 to 1, not {self.bounce:g}.", "--bounce")
        if self.bounce and self.no_limits:
            raise IncompatibleOptions(
                "--bounce needs joint limits: remove --no-limits.", "--bounce"
            )


Joints = Annotated[JointFlags, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="Joint")]


def _check_sensors(text: str) -> None:
    """Raise TarsusError unless every name is a sensor or a Python file."""
    for word in text.split(","):
        SENSOR.check(word.partition(":")[0].strip())


SensorNames = Annotated[str | None, argument("NAME[:FRAME],..."), ArgumentCheck(_check_sensors)]


def sensors(text: str | None) -> list[Sensor]:
    """Create the sensors in a list such as "imu,touch:FR_foot".

    Parameters
    ----------
    text
        Names separated by commas, each with an optional frame after a colon.

    Raises
    ------
    InvalidValue
        If a frame is given for a sensor that has none.
    """
    from tarsus.sensing.base import Sensor

    made = list[Sensor]()
    for word in text.split(",") if text else ():
        name, colon, frame = (part.strip() for part in word.partition(":"))
        kind: Any = registry.import_class(SENSORS, "sensor", name, Sensor)
        if colon and "frame" not in {f.name for f in fields(kind)}:
            raise InvalidValue(
                f"the sensor {name!r} has no frame: write {name!r}, not {f'{name}:{frame}'!r}.",
                name,
            )
        made.append(kind(frame=frame) if colon else kind())
    return made
