"""Variables that `tarsus judge` needs from a log of `tarsus run`, and checks of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, Unsupported

Array = NDArray[np.float64]
REQUIRED_VARIABLES = (
    *("dt", "time", "q", "u", "tau", "q_start", "u_start"),
    *("force_world", "contact_normal", "contact_point", "velocity_correction"),
    *("gap", "ground_friction", "contact", "actuator"),
)


def to_float_array(name: str, data: Any) -> Array:
    """Convert to an array of numbers; raise InvalidValue for anything else."""
    try:
        value = np.asarray(data)
    except ValueError:  # rows of different lengths
        value = np.asarray("")
    if value.dtype.kind not in "fiub":
        raise InvalidValue(f"{name} must contain numbers.", name)
    return value.astype(float)


def check_loops(log: xr.Dataset, robot: Robot) -> None:
    """Raise Unsupported for a loop joint with a motor, damping or friction, which arrays lack."""
    driven, passive = {actuator.joint for actuator in robot.actuators}, "passive_force" in log
    for joint in (loop.joint for loop in robot.loops):
        if joint.name in driven or (passive and (joint.damping or joint.dry_friction)):
            raise Unsupported(
                f"the loop joint {joint.name!r} has a motor, damping or friction, which a"
                " trajectory cannot hold; read equation_residual and the energies of the log"
                " instead.",
                joint.name,
            )
