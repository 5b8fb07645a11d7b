"""Changes that a user makes to the actuators of a robot's file, for all worlds or for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.control.actuators.base import ActuatorModel
from tarsus.errors import IncompatibleOptions, InvalidValue, unknown_name_error
from tarsus.model.file_actuators import FileActuator
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import Parameter, array, check, component, declared_fields, name_of

Array = NDArray[np.float64]
CURVE = ("stall_torque", "no_load_speed")
RANGES = ("control_lower", "control_upper", "force_lower", "force_upper")
FILE_NUMBERS = ("gear", *RANGES, "speed")  # numbers that every actuator of a file has
UNLIMITED = 1e30  # stands for infinity: times a strength of 0 it is 0


@dataclass(frozen=True, eq=False)
class FileActuators:
    """Changes to the actuators of a robot's file: ``actuators=FileActuators(...)``.

    A number may be given once for all actuators, as (actuators,) for each actuator, as (worlds, 1)
    for each world, or as (worlds, actuators). The shape (n,) is rejected if there are n actuators
    and n worlds, but a `delay` of shape (worlds,) is one per world. `kp` and `kv` change servos
    only.

    The torque-speed curve of each motor falls linearly from `stall_torque` to zero at
    `no_load_speed`, in both directions; give both or neither. Torques and speeds are those of the
    joint.

    Gears, ranges and speed limits that are omitted keep the values of the file, as constants of the
    compiled step. Those listed in `by_world` start at the values of the file and may be changed
    with ``set``.

    `models` lists models of real motors (`tarsus list actuators`), which act in this order.
    """

    kp: Any = array(
        None, "N m/rad", "position gain of position servos; none: the file's", "[0, 1e10]"
    )
    kv: Any = array(None, "N m s/rad", "velocity gain of servos; none: the file's", "[0, 1e10]")
    strength: Any = array(1.0, "[1]", "factor on the force of an actuator", "[0, 1000]")
    stall_torque: Any = array(
        None, "N m", "torque at zero speed; none: no torque-speed curve", "(0, 1e10]"
    )
    no_load_speed: Any = array(None, "rad/s", "speed at which the torque is zero", "(0, 1e10]")
    delay: Any = array(
        None, "[1]", "delay of the control signals, in steps; none: the file's", "[0, 100]"
    )
    gear: Any = array(None, "[1]", "gear ratio to the joint; none: the file's", "[-1e6, 1e6]")
    control_lower: Any = array(
        None, "[1]", "lower limit of the control signal; none: the file's", "[-1e30, 1e30]"
    )
    control_upper: Any = array(
        None, "[1]", "upper limit of the control signal; none: the file's", "[-1e30, 1e30]"
    )
    force_lower: Any = array(
        None, "N m", "lower limit of the force before the gear; none: the file's", "[-1e30, 1e30]"
    )
    force_upper: Any = array(
        None, "N m", "upper limit of the force before the gear; none: the file's", "[-1e30, 1e30]"
    )
    speed: Any = array(
        None, "rad/s", "highest joint speed that is driven; none: the file's", "(0, 1e30]"
    )
    by_world: Any = component(
        (), "names of gears, ranges and speed limits that may be set for each world"
    )
    models: Any = component((), "models of real motors, in order")

    def __post_init__(self) -> None:
        check(self)
        if (self.stall_torque is None) != (self.no_load_speed is None):
            missing = "stall_torque" if self.stall_torque is None else "no_load_speed"
            raise IncompatibleOptions(
                "a torque-speed curve needs both stall_torque and no_load_speed: give"
                f" {missing} too.",
                missing,
            )
        names = (self.by_world,) if isinstance(self.by_world, str) else tuple(self.by_world)
        for name in names:
            if name not in FILE_NUMBERS:
                raise unknown_name_error("actuator setting", str(name), FILE_NUMBERS)
        object.__setattr__(self, "by_world", names)
        object.__setattr__(self, "models", tuple(self.models))
        for k, model in enumerate(self.models):
            if not isinstance(model, ActuatorModel):
                raise InvalidValue(
                    f"models must contain actuator models, such as DcMotor(), not {model!r}.",
                    "models",
                )
            if name_of(model) in [name_of(other) for other in self.models[:k]]:
                raise InvalidValue(f"the actuator model {name_of(model)} is given twice.", "models")

    @property
    def optional(self) -> tuple[str, ...]:
        """Names of the settings, besides gains and strengths, that are compiled in per world."""
        curve = CURVE if self.stall_torque is not None else ()
        changed = [n for n in FILE_NUMBERS if n in self.by_world or getattr(self, n) is not None]
        return (*curve, *changed)

    @property
    def declared(self) -> dict[str, Parameter]:
        """All declared fields by name, those of the models too."""
        return {
            name: declaration
            for part in (*reversed(self.models), self)
            for name, declaration in declared_fields(type(part)).items()
        }

    @property
    def longest_delay(self) -> int:
        """The longest delay of any world, in whole steps."""
        return 0 if self.delay is None else int(np.ceil(np.max(self.delay)))

    def values(self, mechanism: Mechanism, worlds: int) -> dict[str, Array]:
        """Return `kp`, `kv`, `strength` and the `optional` numbers of every actuator.

        Returns
        -------
        dict
            Arrays of shape (actuators,) or (worlds, actuators), by name.
        """
        from_file = {
            name: [file_number(a, name) for a in mechanism.file_actuators] for name in FILE_NUMBERS
        }
        from_file |= {
            name: [getattr(a, name) for a in mechanism.file_actuators] for name in ("kp", "kv")
        }
        values = {
            name: np.array(from_file[name])
            if getattr(self, name) is None
            else broadcast(
                mechanism, name, getattr(self, name), np.array(from_file.get(name, 0.0)), worlds
            )
            for name in ("kp", "kv", "strength", *self.optional)
        }
        check_ranges(mechanism, values)
        return values

    def model_values(self, mechanism: Mechanism, worlds: int) -> list[tuple[ActuatorModel, Any]]:
        """Pair every model with its numbers by name, (actuators,) or (worlds, actuators) each."""
        zeros = np.zeros(len(mechanism.file_actuators))
        return [
            (
                model,
                {
                    name: broadcast(mechanism, name, getattr(model, name), zeros, worlds)
                    for name in model.numbers
                },
            )
            for model in self.models
        ]


def broadcast(mechanism: Mechanism, name: str, setting: Any, current: Array, worlds: int) -> Array:
    """Broadcast a setting to every actuator, shape (actuators,) or (worlds, actuators).

    Only actuators that have this number change; `kp` and `kv` belong to servos alone. The others
    keep their `current` values.

    Raises
    ------
    InvalidValue
        For any other shape, or if no actuator has such a number.
    """
    # the actuators that have such a number
    affected = has_number(mechanism, name)
    if not affected.any():
        raise InvalidValue(
            f"no actuator of {mechanism.name!r} is a servo with a gain {name}: leave {name} out.",
            name,
        )
    # one number for all of them, or one for each
    n, value = len(affected), np.asarray(setting, dtype=float)
    if value.shape == (n,) == (worlds,) and n > 1:
        raise InvalidValue(
            f"{name} of shape ({n},) is ambiguous with {n} actuators and {n} worlds: give shape"
            f" (1, {n}) for one number per actuator, or ({n}, 1) for one per world.",
            name,
        )
    if value.shape not in ((), (n,), (1, n), (worlds, 1), (worlds, n)):
        raise InvalidValue(
            f"{name} must be one number, {n} numbers (one per actuator), or an array of shape"
            f" ({worlds}, {n}) (worlds by actuators), not of shape {value.shape}.",
            name,
        )
    return np.where(affected, value, current)


def has_number(mechanism: Mechanism, name: str) -> NDArray[np.bool_]:
    """Return a mask, shape (actuators,), of the actuators that have a number of this name."""
    actuators = mechanism.file_actuators
    servos = {"kp": [a.has_kp for a in actuators], "kv": [a.has_kv for a in actuators]}
    return np.array(servos.get(name, [True] * len(actuators)), dtype=bool)


def check_ranges(mechanism: Mechanism, values: Mapping[str, Array]) -> None:
    """Check ranges and speed limits.

    Parameters
    ----------
    mechanism
        The robot.
    values
        Arrays of shape (actuators,) or (worlds, actuators), by name. The file provides those that
        are missing.

    Raises
    ------
    InvalidValue
        If a range is reversed, or a speed limit has no force limits.
    """
    actuators = mechanism.file_actuators
    numbers = {
        name: np.array([file_number(a, name) for a in actuators]) for name in (*RANGES, "speed")
    }
    numbers |= {name: values[name] for name in numbers if name in values}
    # reversed ranges, and speed limits without a force limit
    unlimited = (numbers["force_lower"] <= -UNLIMITED) | (numbers["force_upper"] >= UNLIMITED)
    problems = {
        "control_lower": (
            "{}: control_lower is above control_upper",
            numbers["control_lower"] > numbers["control_upper"],
        ),
        "force_lower": (
            "{}: force_lower is above force_upper",
            numbers["force_lower"] > numbers["force_upper"],
        ),
        "speed": (
            "{}: a speed limit needs force_lower and force_upper too",
            unlimited & (numbers["speed"] < UNLIMITED),
        ),
    }
    for name, (text, mask) in problems.items():
        if mask.any():
            index = int(np.flatnonzero(np.atleast_2d(mask).any(0))[0])
            raise InvalidValue(f"{text.format(f'actuator {actuators[index].name!r}')}.", name)


def file_number(actuator: FileActuator, name: str) -> float:
    """Return a number of `FILE_NUMBERS` from the file, clipped to `UNLIMITED`."""
    if name in RANGES:
        quantity, end = name.split("_")
        value = getattr(actuator, quantity)[end == "upper"]
    else:
        value = getattr(actuator, name)
    return float(np.clip(value, -UNLIMITED, UNLIMITED))
