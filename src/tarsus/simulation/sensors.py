"""Manage the sensors of a simulation: names, readings and log variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from tarsus import registry
from tarsus.errors import InvalidValue
from tarsus.program.run.backend import Array, Backend
from tarsus.program.run.evaluation import evaluate
from tarsus.sensing.base import Sensor
from tarsus.simulation import sensor_noise
from tarsus.simulation.inputs import to_numpy
from tarsus.simulation.sensor_program import (
    NO_SENSORS,
    Sensing,
    contact_free_program,
    initial_memory,
    uncut_mechanism,
)
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import Scene

SENSOR_PACKAGE = "tarsus.sensing"


def name_sensors(value: Any, scene: Scene) -> Sensing:
    """Name the sensors.

    Parameters
    ----------
    value
        A mapping by name, or a sequence of sensors and names of kinds. Names that occur twice are
        numbered.
    scene
        Scene with the robot that carries the sensors.

    Raises
    ------
    TarsusError
        If a value is not a sensor, or needs a frame or joint that the robot lacks.
    """
    if isinstance(value, str | Sensor):
        value = (value,)
    if not isinstance(value, Mapping | Sequence):
        raise InvalidValue(
            f'sensors must be a list such as ["imu"] or a dictionary, not {value!r}.', "sensors"
        )
    pairs = value.items() if isinstance(value, Mapping) else [("", part) for part in value]
    named: dict[str, Sensor] = {}
    for name, part in pairs:
        sensor = _create_sensor(part)
        sensor_name = str(name) or _unused_name(_name_of(sensor), named)
        sensor.channels(uncut_mechanism(scene))  # raises if it does not fit the robot
        named[sensor_name] = sensor
    return Sensing(tuple(named.items())) if named else NO_SENSORS


def _create_sensor(part: Any) -> Sensor:
    """Create a sensor with its defaults if a name is given."""
    if isinstance(part, str):
        return registry.create(SENSOR_PACKAGE, "sensor", part, Sensor)
    if not isinstance(part, Sensor):
        given = f"the class {part.__name__}" if isinstance(part, type) else repr(part)
        raise InvalidValue(
            f"a sensor must be a name such as 'imu' or an object such as Imu(frame=...), not"
            f" {given}.",
            "sensors",
        )
    return part


def _name_of(sensor: Sensor) -> str:
    """Name the kind of a sensor, and its frame if it has one: imu, touch_LF_foot."""
    return "_".join(filter(None, [registry.name_of(sensor), getattr(sensor, "frame", "")]))


def _unused_name(name: str, taken: Mapping[str, Any]) -> str:
    """Append a number to a name if it is taken."""
    numbered = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(one for one in numbered if one not in taken)


def read_sensors(plan: Plan, worlds: Backend) -> dict[str, Array]:
    """Read every sensor by name, (worlds, k), with noise and bias."""
    by_name = dict[str, Array]()
    for name, sensor in plan.sensing.sensors:
        reading = worlds.output(f"sensed.{name}")
        by_name[name] = sensor_noise.disturb_reading(name, sensor, reading, worlds)
    return by_name


def refresh_readings(
    plan: Plan, worlds: Backend, mask: Any = None, include_started: bool = True
) -> None:
    """Write the readings of the current state, for all worlds or those of a mask.

    Parameters
    ----------
    plan, worlds
        Compiled step and its worlds.
    mask
        Worlds, shape (worlds,), or None for all.
    include_started
        Whether to include worlds that have made a step, whose readings belong to that step.
    """
    if not plan.sensing:
        return
    program = contact_free_program(plan.sensing, plan.scene)
    if not include_started:
        fresh = np.rint(to_numpy(worlds, worlds.output("steps")))[:, 0] == 0
        mask = fresh if mask is None else fresh & to_numpy(worlds, mask)
    values = {r.name: to_numpy(worlds, worlds.get(r.name)) for r in program.of_kind("parameter")}
    reports = evaluate(program, values)
    for name, sensor in plan.sensing.sensors:
        reading = reports[f"sensed.{name}"]
        memory = initial_memory(sensor, uncut_mechanism(plan.scene), reading)
        worlds.set(f"sensed.{name}", reading, mask)
        if memory.shape[1]:
            worlds.set(f"sensing.{name}", memory, mask)


def log_variables(plan: Plan, worlds: Backend, records: Mapping[str, Array]) -> dict[str, Any]:
    """Build the log variables `sensed_NAME` (time, world, channel) and their channel names."""
    variables: dict[str, Any] = {}
    for name, sensor in plan.sensing.sensors:
        channels = sensor.channels(uncut_mechanism(plan.scene))
        units = ", ".join(dict.fromkeys(channels.values()))
        attributes = {"units": units, "long_name": f"reading of the sensor {name!r}"}
        readings = sensor_noise.disturb_record(name, sensor, records, worlds)
        variables[f"sensed_{name}"] = (("time", "world", f"channel_{name}"), readings, attributes)
        variables[f"channel_{name}"] = (f"channel_{name}", list(channels))
    return variables
