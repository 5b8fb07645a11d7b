"""Detect energy that a run gained without motors or pushes."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tarsus.errors import WarningRecord
from tarsus.model.mechanism import Mechanism

MAX_LIFT = 0.01  # m; energy gain without a warning, as height of the robot
MAX_SHARE = 0.01  # of the initial kinetic energy, without gravity


def energy_gain(log: xr.Dataset) -> float:
    """Compute the largest energy gain of any world at any time, in J.

    That is the energy beyond that at the start and the work of motors and pushes; energy in the
    ground's springs counts as the robot's. Infinite if a world is no longer finite.
    """
    given = sum(
        (log[f"energy_{share}"] for share in ("motors", "pushes") if f"energy_{share}" in log),
        xr.zeros_like(log["kinetic_energy"]),
    )
    if "energy_elastic" in log:
        given = given + log["energy_elastic"].sum("contact")
    with np.errstate(invalid="ignore", over="ignore"):
        change = log["kinetic_energy"] + log["potential_energy"] - log["energy_start"]
        gained = (change - given.cumsum("time")).values
    return float(np.where(np.isfinite(gained), gained, np.inf).max(initial=0.0))


def gain_warnings(robot: Mechanism, log: xr.Dataset) -> list[WarningRecord]:
    """Warn if the energy gain would lift the robot by more than `MAX_LIFT`.

    Without gravity the limit is the share `MAX_SHARE` of the initial kinetic energy.
    """
    gained = float(log.attrs["energy_gained"])
    weight = robot.mass * float(np.linalg.norm(robot.gravity_acceleration))
    if weight > 0:
        allowed, compared = (
            MAX_LIFT * weight,
            f"enough to lift the robot by {gained / weight:.2g} m",
        )
    else:
        start = float(log["kinetic_energy"].isel(time=0).max())
        allowed, compared = MAX_SHARE * start, f"it started with {start:.3g} J of kinetic energy"
    if not gained > allowed:
        return []
    text = (
        f"the run gained {gained:.3g} J that no motor or push supplied ({compared}), so its result"
        " is not physical; use a smaller dt or another law."
    )
    return [WarningRecord(text, "energy-gained", robot.name)]
