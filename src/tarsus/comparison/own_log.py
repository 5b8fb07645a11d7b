"""Is a dataset a log of `tarsus run`? What is read of it must be there, and be numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError

Array = NDArray[np.float64]
LOGGED = {  # what is read of our own log, and its dimensions
    "time": ("time",),
    "q": ("time", "coordinate"),
    "u": ("time", "velocity"),
    "tau": ("time", "actuator"),
    "q_start": ("coordinate",),
    "u_start": ("velocity",),
    **dict.fromkeys(("force_world", "contact_normal", "contact_point"), ("time", "contact", "xyz")),
    "velocity_correction": ("time", "contact", "axis"),
    **dict.fromkeys(("gap", "ground_friction"), ("time", "contact")),
    "contact": ("contact",),
    "actuator": ("actuator",),
}


def check_log(log: xr.Dataset) -> None:
    """TarsusError if it is no whole log of one world."""
    missing = [name for name in LOGGED if name not in log.variables]
    if missing:
        raise TarsusError(f"this is no log of tarsus run: {', '.join(missing)} missing.")
    if not log["time"].size:
        raise TarsusError("this log holds no step: run one or more.")
    for name, dims in LOGGED.items():
        if log[name].dims != dims:
            raise TarsusError(
                f"this is no log of tarsus run: the dimensions of {name} must be"
                f" {', '.join(dims)}, not {', '.join(map(str, log[name].dims)) or 'none'}."
            )
        if name not in ("contact", "actuator"):
            floats(name, log[name].values)


def floats(name: str, given: Any) -> Array:
    """An array of numbers; TarsusError for anything else."""
    try:
        value = np.asarray(given)
    except ValueError:  # rows of different lengths
        value = np.asarray("")
    if value.dtype.kind not in "fiub":
        raise TarsusError(f"{name} must hold numbers.")
    return value.astype(float)


def check_loops(log: xr.Dataset, robot: Robot) -> None:
    """TarsusError for a joint that closes a loop with forces of its own, which no array has."""
    driven, rubbed = {actuator.joint for actuator in robot.actuators}, "passive_force" in log
    for joint in (loop.joint for loop in robot.loops):
        if joint.name in driven or (rubbed and (joint.damping or joint.dry_friction)):
            raise TarsusError(
                f"joint {joint.name!r} closes a loop with a motor, damping or friction, which no"
                " trajectory holds: the log has its equation_residual and energies itself."
            )
