"""What a simulation tells of where its last step led; its sensors' names and readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.errors import InvalidValue
from tarsus.program.run.backend import Array, Backend
from tarsus.program.run.samples import evaluate
from tarsus.sensing.base import Sensor
from tarsus.simulation import sensor_noise
from tarsus.simulation.by_candidate import contact_impulses
from tarsus.simulation.inputs import fetched
from tarsus.simulation.sensor_program import (
    NO_SENSORS,
    Sensing,
    look_program,
    memory_after_look,
    whole,
)
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import Scene

FOLDER = "tarsus.sensing"


def named(given: Any, scene: Scene) -> Sensing:
    """Sensors of a scene's robot by name, from a mapping, or from objects and names of kinds; a
    name given twice is numbered. TarsusError for what is no sensor, or does not fit.
    """
    if isinstance(given, str | Sensor):
        given = (given,)
    if not isinstance(given, Mapping | Sequence):
        raise InvalidValue(
            f'sensors must be a list such as ["imu"] or a dictionary, not {given!r}.', "sensors"
        )
    pairs = given.items() if isinstance(given, Mapping) else [("", part) for part in given]
    found: dict[str, Sensor] = {}
    for name, part in pairs:
        sensor = _sensor(part)
        own = str(name) or _free(_name_of(sensor), found)
        sensor.channels(whole(scene))  # does it fit the robot?
        found[own] = sensor
    return Sensing(tuple(found.items())) if found else NO_SENSORS


def _sensor(part: Any) -> Sensor:
    """A sensor by the name of its kind with its defaults, or as it is."""
    if isinstance(part, str):
        return registry.made(FOLDER, "sensor", part, Sensor)
    if not isinstance(part, Sensor):
        given = f"the class {part.__name__}" if isinstance(part, type) else repr(part)
        raise InvalidValue(
            f"a sensor must be a name such as 'imu' or an object such as Imu(frame=...), not"
            f" {given}.",
            "sensors",
        )
    return part


def _name_of(sensor: Sensor) -> str:
    """Its kind, and its frame if it has one: imu, touch_LF_foot."""
    return "_".join(filter(None, [registry.name_of(sensor), getattr(sensor, "frame", "")]))


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name, numbered if it is taken."""
    numbered = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(one for one in numbered if one not in taken)


class Sensed:
    """A simulation as what it tells of its last step: time, state, forces, the solve, readings of
    sensors.
    """

    plan: Plan
    dt: float
    worlds: int
    _worlds: Backend
    _initial: dict[str, Array]
    _moved: bool  # whether the state was written since the notices spoke of it

    @property
    def time(self) -> float:
        """Simulated time of the first world, s."""
        return float(self._worlds.first("steps")[0]) * self.dt

    @property
    def q(self) -> Array:
        """Coordinates (nq,), or (worlds, nq): a copy."""
        return self._get("q")

    @property
    def u(self) -> Array:
        """Velocities (nu,), or (worlds, nu): a copy."""
        return self._get("u")

    @property
    def contact_force(self) -> Array:
        """Mean force over the last step in contact frames, N: (n, 3), or (worlds, n, 3).

        Zero before the first, and after `reset` or `set(q=...)`.
        """
        force = contact_impulses(self.plan.scene, self._worlds) / self.dt
        return force[0] if self.worlds == 1 else force

    @property
    def iterations(self) -> Array:
        """Solver iterations of the last step: (), or (worlds,); 0 before the first."""
        return self._get("iterations")[..., 0]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether the solver met its tolerance in the last step: (), or (worlds,); False before the
        first, and after `reset` or `set(q=...)`.
        """
        return self._get("converged")[..., 0] > 0

    def _get(self, name: str) -> Array:
        values = self._worlds.output(name)
        return values[0] if self.worlds == 1 else values

    def sense(self) -> dict[str, Array]:
        """What every sensor tells now, by name: (k,), or (worlds, k).

        The channels of each, with their units, are in `sensor_channels`. Readings follow from the
        last step; before the first, and after `reset` or `set(q=...)`, from the state alone,
        without the ground's forces. A log holds them as `sensed_NAME`.
        """
        worlds, found = self._worlds, dict[str, Array]()
        for name, sensor in self.plan.sensing.sensors:
            reading = worlds.output(f"sensed.{name}")
            reading = sensor_noise.told(name, sensor, reading, worlds)
            found[name] = reading[0] if self.worlds == 1 else reading
        return found

    @property
    def sensor_channels(self) -> dict[str, dict[str, str]]:
        """The channels of every sensor, in order: {sensor: {channel: SI unit}}."""
        robot = whole(self.plan.scene)
        return {name: dict(s.channels(robot)) for name, s in self.plan.sensing.sensors}

    def _put_down(self, mask: Any) -> None:
        """Worlds whose coordinates were written: no step led there, and their contacts are new."""
        for name in self._worlds.program.sizes.keys() & {"memory", "bilateral"}:
            self._worlds.set(name, self._initial[name], mask)
        self._forget(mask)

    def _forget(self, mask: Any = None) -> None:
        """Nothing is reported of a state that no step led to, in all worlds or those of a mask."""
        for register in self._worlds.program.of_kind("report"):
            begun = self._initial.get(register.name, np.zeros(register.size))
            self._worlds.set(register.name, begun, mask)
        self._moved = True

    def _look(self, mask: Any = None, begun: bool = True) -> None:
        """Readings of the state as it is, of all worlds or of those of a mask; begun: of those too
        that have made a step since their start, whose readings speak of it.
        """
        if not self.plan.sensing:
            return
        worlds, program = self._worlds, look_program(self.plan.sensing, self.plan.scene)
        if not begun:
            fresh = np.rint(fetched(worlds, worlds.output("steps")))[:, 0] == 0
            mask = fresh if mask is None else fresh & fetched(worlds, mask)
        values = {r.name: fetched(worlds, worlds.get(r.name)) for r in program.of_kind("parameter")}
        readings = evaluate(program, values)
        for name, sensor in self.plan.sensing.sensors:
            reading = readings[f"sensed.{name}"]
            memory = memory_after_look(sensor, whole(self.plan.scene), reading)
            worlds.set(f"sensed.{name}", reading, mask)
            if memory.shape[1]:
                worlds.set(f"sensing.{name}", memory, mask)


def variables(plan: Plan, worlds: Backend, records: Mapping[str, Array]) -> dict[str, Any]:
    """The log's variables `sensed_NAME` (time, world, channel) and their channels' names."""
    found: dict[str, Any] = {}
    for name, sensor in plan.sensing.sensors:
        channels = sensor.channels(whole(plan.scene))
        units = ", ".join(dict.fromkeys(channels.values()))
        told = {"units": units, "long_name": f"reading of the sensor {name!r}"}
        readings = sensor_noise.recorded(name, sensor, records, worlds)
        found[f"sensed_{name}"] = (("time", "world", f"channel_{name}"), readings, told)
        found[f"channel_{name}"] = (f"channel_{name}", list(channels))
    return found
