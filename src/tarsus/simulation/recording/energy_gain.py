"""Energy that a run gained from nothing: more than it began with and its motors and pushes gave."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tarsus.model.mechanism import Mechanism

ALLOWED = 0.01  # m: what lifting the robot so high takes is gained without a warning


def energy_gained(log: xr.Dataset) -> float:
    """The most energy, J, that a world of a log had at any time beyond that of its start and the
    work of motors and pushes; energy in the ground's springs counts as the robot's.

    Infinite where a world is no longer finite.
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


def gain_warnings(robot: Mechanism, gained: float) -> list[str]:
    """A warning where the energy gained would lift the robot by more than ALLOWED."""
    weight = robot.mass * float(np.linalg.norm(robot.gravity_acceleration))
    if not gained > ALLOWED * weight:
        return []
    return [
        f"the run gained {gained:.3g} J that no motor or push gave it, enough to lift the robot by"
        f" {gained / weight:.2g} m: its result is not physical; use a smaller dt or another law."
    ]
