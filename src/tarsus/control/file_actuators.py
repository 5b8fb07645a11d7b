"""What a user may change of a file's actuators, for all worlds or for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import IncompatibleOptions, InvalidValue, unknown_name
from tarsus.model.file_actuators import FileActuator
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import array, check, component

Array = NDArray[np.float64]
CURVE = ("stall_torque", "no_load_speed")
RANGES = ("control_lower", "control_upper", "force_lower", "force_upper")
OF_FILE = ("gear", *RANGES, "speed")  # of every actuator of a file
ENDLESS = 1e30  # in place of infinity: times a strength of 0 it is 0


@dataclass(frozen=True, eq=False)
class FileActuators:
    """The actuators of a robot's file with numbers of one's own: `actuators=FileActuators(...)`.

    Every number is one for all actuators, (actuators,) one for each, (worlds, 1) one for each world
    or (worlds, actuators); (n,) is refused where there are n of both. A delay is one for all worlds
    or (worlds,). `kp` and `kv` change servos alone. The torque-speed
    curve of every motor falls linearly from its stall torque to zero at its no-load speed, in
    either direction; both are given, or neither. Torques and speeds are those of the joint.
    Gears, ranges and speeds that are left out are the file's, constants of the step; by_world names
    those that begin with the file's and may be `set`.
    """

    kp: Any = array(None, "N m/rad", "of position servos; none: the file's", "[0, 1e10]")
    kv: Any = array(None, "N m s/rad", "of servos; none: the file's", "[0, 1e10]")
    strength: Any = array(1.0, "[1]", "factor on what an actuator gives", "[0, 1000]")
    stall_torque: Any = array(None, "N m", "at rest; none: no torque-speed curve", "(0, 1e10]")
    no_load_speed: Any = array(None, "rad/s", "at which it has no torque", "(0, 1e10]")
    delay: Any = array(0, "[1]", "steps by which a control signal comes late", "[0, 100]")
    gear: Any = array(None, "[1]", "ratio to the joint; none: the file's", "[-1e6, 1e6]")
    control_lower: Any = array(None, "[1]", "least signal; none: the file's", "[-1e30, 1e30]")
    control_upper: Any = array(None, "[1]", "greatest signal; none: the file's", "[-1e30, 1e30]")
    force_lower: Any = array(
        None, "N m", "least force before its gear; none: the file's", "[-1e30, 1e30]"
    )
    force_upper: Any = array(
        None, "N m", "greatest force before its gear; none: the file's", "[-1e30, 1e30]"
    )
    speed: Any = array(
        None, "rad/s", "of the joint, that it drives no faster; none: the file's", "(0, 1e30]"
    )
    by_world: Any = component((), "names of gear, ranges and speed that begin as in the file")

    def __post_init__(self) -> None:
        check(self)
        if (self.stall_torque is None) != (self.no_load_speed is None):
            missing = "stall_torque" if self.stall_torque is None else "no_load_speed"
            raise IncompatibleOptions(
                "a torque-speed curve needs both stall_torque and no_load_speed: give"
                f" {missing} too.",
                missing,
            )
        named = (self.by_world,) if isinstance(self.by_world, str) else tuple(self.by_world)
        for name in named:
            if name not in OF_FILE:
                raise unknown_name("number of a file's actuators", str(name), OF_FILE)
        object.__setattr__(self, "by_world", named)

    @property
    def optional(self) -> tuple[str, ...]:
        """What is compiled in as a number of each world, besides gains and strengths."""
        curve = CURVE if self.stall_torque is not None else ()
        own = [n for n in OF_FILE if n in self.by_world or getattr(self, n) is not None]
        return (*curve, *own)

    @property
    def longest_delay(self) -> int:
        """The longest delay of any world, steps."""
        return int(np.max(self.delay))

    def values(self, mechanism: Mechanism, worlds: int) -> dict[str, Array]:
        """kp, kv, strength, and what is `optional`: (n,), or (worlds, n), of every actuator."""
        own = {name: [of_file(a, name) for a in mechanism.file_actuators] for name in OF_FILE}
        own |= {name: [getattr(a, name) for a in mechanism.file_actuators] for name in ("kp", "kv")}
        found = {
            name: np.array(own[name])
            if getattr(self, name) is None
            else spread(mechanism, name, getattr(self, name), np.array(own.get(name, 0.0)), worlds)
            for name in ("kp", "kv", "strength", *self.optional)
        }
        in_order(mechanism, found)
        return found


def spread(mechanism: Mechanism, name: str, given: Any, held: Array, worlds: int) -> Array:
    """A number for every actuator, (n,) or (worlds, n); kp and kv go to servos, the others keep
    what they held. InvalidValue for any other shape, or if no actuator has one.
    """
    # who has such a number
    mine = having(mechanism, name)
    if not mine.any():
        raise InvalidValue(
            f"no actuator of {mechanism.name!r} is a servo with a gain {name}: leave {name} out.",
            name,
        )
    # one for all, or for each
    n, value = len(mine), np.asarray(given, dtype=float)
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
    return np.where(mine, value, held)


def having(mechanism: Mechanism, name: str) -> NDArray[np.bool_]:
    """Which actuators (n,) have such a number of their own."""
    actuators = mechanism.file_actuators
    servos = {"kp": [a.has_kp for a in actuators], "kv": [a.has_kv for a in actuators]}
    return np.array(servos.get(name, [True] * len(actuators)), dtype=bool)


def in_order(mechanism: Mechanism, values: Mapping[str, Array]) -> None:
    """Raise InvalidValue if a range is reversed or a speed limit has no force limit; values: of
    ranges and speed, (n,) or (worlds, n), the file's for names that are not in it.
    """
    actuators = mechanism.file_actuators
    own = {name: np.array([of_file(a, name) for a in actuators]) for name in (*RANGES, "speed")}
    own |= {name: values[name] for name in own if name in values}
    # whose range is none, whose speed has no force to fall
    unlimited = (own["force_lower"] <= -ENDLESS) | (own["force_upper"] >= ENDLESS)
    wrong = {
        "control_lower": (
            "{}: control_lower is above control_upper",
            own["control_lower"] > own["control_upper"],
        ),
        "force_lower": (
            "{}: force_lower is above force_upper",
            own["force_lower"] > own["force_upper"],
        ),
        "speed": (
            "{}: a speed limit needs force_lower and force_upper too",
            unlimited & (own["speed"] < ENDLESS),
        ),
    }
    for name, (text, where) in wrong.items():
        if where.any():
            which = int(np.flatnonzero(np.atleast_2d(where).any(0))[0])
            raise InvalidValue(f"{text.format(f'actuator {actuators[which].name!r}')}.", name)


def of_file(actuator: FileActuator, name: str) -> float:
    """A number of `OF_FILE` as its file has it, `ENDLESS` in place of infinity."""
    if name in RANGES:
        what, end = name.split("_")
        value = getattr(actuator, what)[end == "upper"]
    else:
        value = getattr(actuator, name)
    return float(np.clip(value, -ENDLESS, ENDLESS))
