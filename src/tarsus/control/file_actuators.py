"""What a user may change of a file's actuators, for all worlds or for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import array, check

Array = NDArray[np.float64]
CURVE = ("stall_torque", "no_load_speed")


@dataclass(frozen=True, eq=False)
class FileActuators:
    """The actuators of a robot's file with numbers of one's own: `actuators=FileActuators(...)`.

    Every number is one for all actuators, (actuators,) one for each, or (worlds, actuators); a
    delay is one for all worlds or (worlds,). `kp` and `kv` change servos alone. The torque-speed
    curve of every motor falls linearly from its stall torque to zero at its no-load speed, in
    either direction; both are given, or neither. Torques and speeds are those of the joint.
    """

    kp: Any = array(None, "N m/rad", "of position servos; none: the file's", "[0, 1e10]")
    kv: Any = array(None, "N m s/rad", "of servos; none: the file's", "[0, 1e10]")
    strength: Any = array(1.0, "[1]", "factor on what an actuator gives", "[0, 1000]")
    stall_torque: Any = array(None, "N m", "at rest; none: no torque-speed curve", "(0, 1e10]")
    no_load_speed: Any = array(None, "rad/s", "at which it has no torque", "(0, 1e10]")
    delay: Any = array(0, "[1]", "steps by which a control signal comes late", "[0, 100]")

    def __post_init__(self) -> None:
        check(self)
        if (self.stall_torque is None) != (self.no_load_speed is None):
            raise TarsusError(
                "a torque-speed curve takes both stall_torque and no_load_speed, or neither."
            )

    @property
    def curve(self) -> bool:
        """Whether there is a torque-speed curve."""
        return self.stall_torque is not None

    @property
    def longest_delay(self) -> int:
        """The longest delay of any world, steps."""
        return int(np.max(self.delay))

    def values(self, mechanism: Mechanism, worlds: int) -> dict[str, Array]:
        """kp, kv, strength, and those of the curve: (n,), or (worlds, n), of every actuator."""
        given = mechanism.file_actuators
        names = ["kp", "kv", "strength", *(CURVE if self.curve else ())]
        own = {"kp": [a.kp for a in given], "kv": [a.kv for a in given]}
        return {
            name: np.array(own[name])
            if getattr(self, name) is None
            else spread(mechanism, name, getattr(self, name), np.array(own.get(name, 0.0)), worlds)
            for name in names
        }


def spread(mechanism: Mechanism, name: str, given: Any, held: Array, worlds: int) -> Array:
    """A number for every actuator, (n,) or (worlds, n); kp and kv go to servos, the others keep
    what they held. TarsusError for another shape, or if no actuator has one.
    """
    # who has such a number
    mine = having(mechanism, name)
    if not mine.any():
        raise TarsusError(f"no actuator of {mechanism.name!r} is a servo with a gain {name}.")
    # one for all, or for each
    n, value = len(mine), np.asarray(given, dtype=float)
    if value.shape not in ((), (n,), (worlds, 1), (worlds, n)):
        raise TarsusError(
            f"{name} must be one number, {n}, one for each actuator, or of shape ({worlds}, {n}),"
            f" one for each world too, not of shape {value.shape}."
        )
    return np.where(mine, value, held)


def having(mechanism: Mechanism, name: str) -> NDArray[np.bool_]:
    """Which actuators (n,) have such a number of their own."""
    actuators = mechanism.file_actuators
    servos = {"kp": [a.has_kp for a in actuators], "kv": [a.has_kv for a in actuators]}
    return np.array(servos.get(name, [True] * len(actuators)), dtype=bool)
