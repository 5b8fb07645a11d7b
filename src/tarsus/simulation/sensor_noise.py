"""Add noise, bias and delay to sensor readings.

Noise is not state: it is computed from the sensor's seed and name, the world's number, the episode,
the step and the channel. The episode is state: four words of a seed, and the number of resets since
that seed was set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.algebra.random_numbers import WORD, hash_seed, splitmix64
from tarsus.errors import IncompatibleOptions, InvalidValue, Unsupported, unknown_name_error
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import declared_fields
from tarsus.program.ir.trace import Builder
from tarsus.program.run.backend import Backend
from tarsus.sensing.base import Sensor
from tarsus.simulation.inputs import to_numpy
from tarsus.simulation.sensor_program import Sensing, max_delay
from tarsus.simulation.settings import Setting, SettingGroup

Array = NDArray[np.float64]
DISTURBANCES = ("noise", "bias")  # of sensors that are not exact
FIELDS = (*DISTURBANCES, "delay")
EPISODE = "episode"  # register: four words of a seed, and the resets since
DEFAULT_SEED = 0  # of a new simulation


def declare_registers(sensing: Sensing, mechanism: Mechanism, b: Builder) -> None:
    """Declare the parameters noise.NAME and bias.NAME (k,), and the state episode (5,).

    No step uses them; readings are disturbed afterwards.
    """
    for name, sensor in sensing.sensors:
        for field in () if sensor.exact else DISTURBANCES:
            b.parameter(f"{field}.{name}", len(sensor.channels(mechanism)))
    if sensing:
        b.declare(EPISODE, len(hash_seed(DEFAULT_SEED)) + 1)


def initial_registers(sensing: Sensing, mechanism: Mechanism, worlds: int) -> dict[str, Array]:
    """Create the initial noise.NAME, bias.NAME, delay.NAME and episode.

    Shape (size,) for all worlds, or (worlds, size).

    Raises
    ------
    InvalidValue
        If a value has the wrong shape.
    """
    values: dict[str, Array] = {EPISODE: _create_episode(DEFAULT_SEED)} if sensing else {}
    for name, sensor in sensing.sensors:
        k = len(sensor.channels(mechanism))
        made = {
            field: _register_shape(name, field, getattr(sensor, field), k, worlds)
            for field in FIELDS
        }
        values |= {
            f"{field}.{name}": made[field] for field in FIELDS if _has_register(sensor, field)
        }
    return values


def delay_parameters(sensing: Sensing) -> dict[str, Array]:
    """Create the parameters delay.NAME (1,) of delayed sensors, the same in all worlds."""
    late = {name: max_delay(sensor) for name, sensor in sensing.sensors}
    return {f"delay.{name}": np.full(1, float(steps)) for name, steps in late.items() if steps}


def sensor_settings(sensing: Sensing, mechanism: Mechanism) -> SettingGroup:
    """Create the setting `sensors`: {sensor: {"noise": ..., "bias": ..., "delay": ...}}."""
    if not sensing.sensors:
        text = 'this simulation has no sensors; create it with, for example, sensors=["imu"].'
        return SettingGroup("sensors", (), lambda worlds, values, mask: {}, {"sensors": text})

    def write(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
        return _new_registers(sensing, values["sensors"], mechanism, worlds)

    registers = tuple(
        f"{field}.{name}"
        for name, s in sensing.sensors
        for field in FIELDS
        if _has_register(s, field)
    )
    meaning = "noise, bias and delay by sensor"
    setting = Setting("sensors", registers, None, meaning=meaning)
    return SettingGroup("sensors", (setting,), write)


def _new_registers(
    sensing: Sensing, changes: Any, mechanism: Mechanism, worlds: Backend
) -> dict[str, Array]:
    """Update the registers; raise TarsusError for unknown or invalid values."""
    known = dict(sensing.sensors)
    if not isinstance(changes, Mapping) or not all(
        isinstance(v, Mapping) for v in changes.values()
    ):
        raise InvalidValue(
            "sensors must be a dictionary of the numbers to change by sensor, such as"
            f' {{"{next(iter(known))}": {{"delay": 2}}}}, not {changes!r}.',
            "sensors",
        )
    # check sensor by sensor
    values: dict[str, Array] = {}
    for name, settings in changes.items():
        if name not in known:
            raise unknown_name_error("sensor", name, known)
        k = len(known[name].channels(mechanism))
        for field, value in settings.items():
            _check_settable(name, known[name], field)
            values[f"{field}.{name}"] = _new_register(name, known[name], field, value, (worlds, k))
    return values


def _new_register(
    name: str, sensor: Sensor, field: str, value: Any, sizes: tuple[Backend, int]
) -> Array:
    """Update a register; `sizes` are the worlds and the number of channels."""
    worlds, k = sizes
    numbers = getattr(worlds.arrays, "asnumpy", _identity)(value)
    declared_fields(Sensor)[field].check(f"the sensor {name!r}", numbers)
    new, longest = _register_shape(name, field, numbers, k, worlds.count), max_delay(sensor)
    if field == "delay" and np.any(new > longest):
        raise InvalidValue(
            f"the delay of the sensor {name!r} must be at most {longest} steps, its delay when the"
            f" simulation was created, not {np.max(numbers)}.",
            "delay",
        )
    return new


def _identity(value: Any) -> Any:
    return value


def _check_settable(name: str, sensor: Sensor, field: str) -> None:
    """Raise TarsusError unless this quantity of the sensor can be set."""
    if field == "seed":
        raise Unsupported(
            f"the seed of the sensor {name!r} cannot be changed; call reset(seed=...) for other"
            " noise.",
            "seed",
        )
    if field not in FIELDS:
        raise unknown_name_error(f"number to set of the sensor {name!r}", field, FIELDS)
    if sensor.exact and field in DISTURBANCES:
        raise Unsupported(sensor.why_exact, field)
    if not _has_register(sensor, field):
        raise IncompatibleOptions(
            f"the sensor {name!r} was created without a delay; create it with the longest that you"
            " will set, such as delay=4.",
            "delay",
        )


def _has_register(sensor: Sensor, field: str) -> bool:
    """Return whether a sensor has a register for a quantity."""
    return max_delay(sensor) > 0 if field == "delay" else not sensor.exact


def _register_shape(name: str, field: str, setting: ArrayLike, k: int, worlds: int) -> Array:
    """Broadcast one value, one per world, or one per channel to the shape of a register."""
    value, size = np.asarray(setting, float), 1 if field == "delay" else k
    by_channel = field != "delay" and value.shape in ((1, k), (worlds, k))
    if value.shape not in ((), (worlds,)) and not by_channel:
        each = "" if field == "delay" else f", (1, {k}) for one per channel, or ({worlds}, {k})"
        raise InvalidValue(
            f"{field} of the sensor {name!r} must be one number, or an array of shape ({worlds},)"
            f" for one per world{each}, not {value.shape}.",
            field,
        )
    if value.ndim == 0:
        return np.full(size, value)
    return value if by_channel else np.broadcast_to(value[:, None], (worlds, size))


def begin_episode(worlds: Backend, mask: Any, seed: int | None) -> None:
    """Start the next episode of the worlds in a mask, or the first episode of a seed.

    Raises
    ------
    TarsusError
        If the seed is not valid, or the simulation has no sensors.
    """
    if seed is not None and EPISODE not in worlds:
        raise IncompatibleOptions(
            "seed sets the noise of sensors, and this simulation has none; call reset() without"
            " it.",
            "seed",
        )
    if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
        raise InvalidValue(f"seed must be a whole number of at least 0, not {seed!r}.", "seed")
    if EPISODE in worlds:
        after = worlds.get(EPISODE)
        after[:, -1] += 1
        worlds.set(EPISODE, after if seed is None else _create_episode(int(seed)), mask)


def _create_episode(seed: int) -> Array:
    """Create the register of the first episode of a seed, shape (5,)."""
    return np.append(hash_seed(seed), 0.0)


def disturb_reading(name: str, sensor: Sensor, reading: Any, worlds: Backend) -> Any:
    """Add noise and bias to a current reading (worlds, k), on the device of the worlds."""
    if sensor.exact or not any(worlds.any(f"{field}.{name}") for field in DISTURBANCES):
        return reading
    disturbance = _draw_disturbance(name, worlds)
    when = {register: worlds.get(register) for register in ("steps", EPISODE)}
    return worlds.arrays.asarray(
        add_noise(name, sensor, to_numpy(worlds, reading), disturbance, when)
    )


def disturb_record(name: str, sensor: Sensor, records: Mapping[str, Any], worlds: Backend) -> Array:
    """Add the current noise and bias to recorded readings (steps, worlds, k)."""
    reading = records[f"sensed.{name}"]
    if sensor.exact:
        return reading
    return add_noise(name, sensor, reading, _draw_disturbance(name, worlds), records)


def _draw_disturbance(name: str, worlds: Backend) -> dict[str, Array]:
    """Draw noise and bias of a sensor, shape (worlds, k), or a zero if it has none."""
    fields = {field: f"{field}.{name}" for field in DISTURBANCES}
    return {f: worlds.get(r) if worlds.any(r) else np.zeros(1) for f, r in fields.items()}


def add_noise(
    name: str,
    sensor: Sensor,
    reading: Array,
    disturbance: Mapping[str, Any],
    when: Mapping[str, Any],
) -> Array:
    """Add noise and bias to readings (..., worlds, k).

    Parameters
    ----------
    name, sensor
        The sensor.
    reading
        Exact readings.
    disturbance
        "noise" and "bias", shape (worlds, k) or (1,).
    when
        Registers "steps" (..., worlds, 1) and "episode" (..., worlds, 5).
    """
    noise, bias = (np.asarray(disturbance[field], float) for field in DISTURBANCES)
    if not np.any(noise):
        return reading + bias
    worlds, k = reading.shape[-2:]
    steps, episode = (np.rint(when[r]).astype(np.uint64) for r in ("steps", EPISODE))
    # hash sensor, world, episode and step; then two numbers per channel
    words = episode[..., :4] @ np.array([WORD**n for n in range(4)], np.uint64)
    start = splitmix64(splitmix64(words) ^ episode[..., 4])
    seed = np.uint64(sensor.seed) ^ splitmix64(np.uint64(crc32(name.encode())))
    each = splitmix64(splitmix64(splitmix64(seed) ^ np.arange(worlds, dtype=np.uint64)) ^ start)
    each = splitmix64(each ^ steps[..., 0])
    channel = splitmix64(each[..., None] ^ splitmix64(np.arange(2 * k, dtype=np.uint64)))
    uniform = (channel >> np.uint64(11)).astype(float) * 2.0**-53
    # normal distribution, by the Box-Muller transform
    radius = np.sqrt(-2 * np.log1p(-uniform[..., :k]))
    return reading + bias + noise * radius * np.cos(2 * np.pi * uniform[..., k:])
