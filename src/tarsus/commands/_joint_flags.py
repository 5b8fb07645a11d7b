"""The flags on what a robot's joints and bodies do beside its motors, shared by commands."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from tarsus import registry
from tarsus.commands.base import Checked, Flag, Group, called, name_of, number
from tarsus.errors import IncompatibleOptions, InvalidValue

if TYPE_CHECKING:
    from tarsus.sensing.base import Sensor
    from tarsus.simulation.options import Options

SENSORS = "tarsus.sensing"
SENSOR = name_of("sensor", SENSORS)


@dataclass(frozen=True)
class JointFlags(Group):
    """Limits and dry friction of joints, and contact between a robot's own bodies."""

    no_limits: Flag = False
    """Skip the stops at the ends of the joints' ranges."""
    bounce: Annotated[float, number("NUMBER"), called("NUMBER")] = 0.0
    """Coefficient of restitution at joint limits, 0 to 1."""
    no_stiction: Flag = False
    """Skip dry friction at rest: it is a damper then, and a step takes half the time."""
    self_collision: Flag = False
    """Spheres, capsules, boxes and cylinders of the robot touch each other."""

    @property
    def options(self) -> Options:
        """Those of a `Simulation`."""
        return {
            "limits": not self.no_limits,
            "bounce": self.bounce,
            "stiction": not self.no_stiction,
            "self_collision": self.self_collision,
        }

    @property
    def changed(self) -> list[str]:
        """The flags that differ from their defaults, as they are typed."""
        found = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        return [f"--{name.replace('_', '-')}" for name in found]

    def check(self) -> None:
        """TarsusError for a number out of its range, before anything heavy is imported."""
        if not 0 <= self.bounce <= 1:
            raise InvalidValue(f"--bounce must be from 0 to 1, not {self.bounce:g}.", "--bounce")
        if self.bounce and self.no_limits:
            raise IncompatibleOptions(
                "--bounce needs joint limits: leave out --no-limits.", "--bounce"
            )


Joints = Annotated[JointFlags, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="Joints")]


def _check_sensors(given: str) -> None:
    """TarsusError with near names unless every name is a kind of sensor, or a file (.py)."""
    for word in given.split(","):
        SENSOR.check(word.partition(":")[0].strip())


SensorNames = Annotated[str | None, called("NAME[:FRAME],..."), Checked(_check_sensors)]


def sensors(given: str | None) -> list[Sensor]:
    """The sensors named, each at the frame after its colon; TarsusError for one that takes none."""
    from tarsus.sensing.base import Sensor

    found = list[Sensor]()
    for word in given.split(",") if given else ():
        name, colon, frame = (part.strip() for part in word.partition(":"))
        kind: Any = registry.class_named(SENSORS, "sensor", name, Sensor)
        if colon and "frame" not in {f.name for f in fields(kind)}:
            raise InvalidValue(
                f"the sensor {name!r} has no frame: write {name!r}, not {f'{name}:{frame}'!r}.",
                name,
            )
        found.append(kind(frame=frame) if colon else kind())
    return found
