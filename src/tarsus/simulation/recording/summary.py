"""A run in a few numbers."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import xarray as xr

from tarsus.contact import criteria
from tarsus.contact.criteria import Solved
from tarsus.contact.ledger import SHARES
from tarsus.model.mechanism import Mechanism
from tarsus.morphology import fall
from tarsus.simulation.recording import provenance
from tarsus.simulation.recording.empty_dimensions import add_empty
from tarsus.simulation.recording.energy_gain import energy_gained
from tarsus.simulation.recording.log import mean_of_role
from tarsus.simulation.recording.outcome import classify_motion
from tarsus.simulation.recording.step_observables import energy_totals
from tarsus.simulation.recording.variables import ROBOT_SHARES

SINGLE_SOLVE_RESIDUALS = (
    "signorini_J",
    "dissipation_J",
    "creep_m_per_s",
)  # what sums of several solutions need not obey


REQUIRED = (  # of a log, attributes and variables
    *("robot", "dt", "warnings", "q", "q_start", "iterations", "converged", "equation_residual"),
    *("contact_point", "force_contact", "gap", "impulse_contact", "ground_friction", "state"),
    *("velocity_before", "velocity_after", "velocity_correction"),
    *("kinetic_energy", "potential_energy", "energy_start"),
    *(f"energy_{share}" for share in (*SHARES, *ROBOT_SHARES)),
)


class StepperLike(Protocol):
    """What a summary asks of a stepper, or of another engine."""

    @property
    def velocity_level(self) -> bool:
        """Whether one balance of momentum makes a step."""
        ...

    @property
    def solves_once(self) -> bool:
        """Whether the impulses of a step are one solution."""
        ...


class SimulationLike(Protocol):
    """What a summary asks of a simulation: `Simulation`, or one on another engine."""

    @property
    def robot(self) -> Mechanism:
        """The robot."""
        ...

    @property
    def dt(self) -> float:
        """Length of a step, s."""
        ...

    @property
    def stepper(self) -> StepperLike:
        """What makes a step."""
        ...


def summary(simulation: SimulationLike, log: xr.Dataset) -> dict[str, Any]:
    """The output of `tarsus run --json` for one world: lengths in m, speeds in m/s, None where a
    figure does not apply.
    """
    # how well the contact conditions hold
    log = add_empty(log)
    solved = solved_contacts(log)
    residuals: dict[str, float | None] = dict(criteria.residuals(solved))
    residuals["equation_N"] = (
        float(log["equation_residual"].max()) if simulation.stepper.velocity_level else None
    )
    if not simulation.stepper.solves_once:
        residuals |= dict.fromkeys(SINGLE_SOLVE_RESIDUALS)
    # how far and how high the base went
    base, start = log["q"].values[:, :3], log["q_start"].values[:3]
    floating = simulation.robot.floating
    distance = float(np.linalg.norm(base[-1, :2] - start[:2])) if floating else 0.0
    duration = float(log.sizes["time"] * log.attrs["dt"])
    did = classify_motion(simulation.robot, log)
    # the numbers by name
    wall = float(log.attrs.get("wall_time", 0.0)) or np.nan  # of a partial log it is not known
    return {
        **provenance.parse_attributes(log.attrs),
        "dt": simulation.dt,
        "contacts": log.sizes["contact"],
        "duration": duration,
        "deed": did.deed,
        "fell_at": did.fell_at,
        "way": did.distance,
        "jumps": did.jumps,
        "lowest": did.lowest,
        "distance": distance,
        "mean_speed": distance / duration,
        "height_min": float(base[:, 2].min()) if floating else None,
        "height_final": float(base[-1, 2]) if floating else None,
        "penetration_max": residuals["penetration_m"],
        "creep_max": residuals["creep_m_per_s"],
        "iterations_mean": float(log["iterations"].mean()),
        "iterations_max": int(log["iterations"].max()),
        "unconverged_steps": int((log["converged"] == 0).sum()),
        "fell": did.fell_at is not None,
        "hangs": is_below_contacts(simulation.robot, log),
        "normal_force_max": float(log["force_contact"].values[..., 0].max(initial=0.0)),
        "realtime_factor": duration / wall,
        "steps_per_second": log.sizes["time"] / wall,
        "drift_max": float(log["drift"].max()) if "drift" in log else None,
        "residuals": residuals,
        "energy": energy_ledger(log),
        "energy_gained": energy_gained(log),
        "sensors": sensor_summary(log),
        "warnings": log.attrs["warnings"].splitlines(),
    }


def has_fallen(robot: Mechanism, log: xr.Dataset) -> bool:
    """Whether the base tipped over or sank towards the lowest contact point, if there is one."""
    if not robot.floating:
        return False
    q, lowest = log["q"].values, log["contact_point"].values[..., 2].min(axis=1, initial=np.inf)
    return log.sizes["contact"] > 0 and fall.has_fallen(robot, q, q[:, 2] - lowest)


def is_below_contacts(robot: Mechanism, log: xr.Dataset) -> bool:
    """Whether at the end the base is below all points that may touch, though more of the robot
    might.
    """
    contacts = set(log["contact"].values.tolist())
    if not robot.floating or not contacts or contacts >= {c.name for c in robot.candidates}:
        return False
    return bool(log["q"].values[-1, 2] < log["contact_point"].values[-1, :, 2].min())


def sensor_summary(log: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Of each sensor in a log of one world its units, and of its channels by name what they told at
    the end ("last") and on average ("mean").
    """
    found = {}
    for variable in map(str, log.data_vars):
        name = variable.removeprefix("sensed_")
        if name == variable:
            continue
        readings, channels = log[variable].values, [str(c) for c in log[f"channel_{name}"].values]
        found[name] = {
            "units": log[variable].attrs["units"],
            "last": dict(zip(channels, readings[-1].tolist(), strict=True)),
            "mean": dict(zip(channels, readings.mean(axis=0).tolist(), strict=True)),
        }
    return found


def solved_contacts(log: xr.Dataset) -> Solved:
    """The log's contact problems and solutions for the yardstick."""
    ground = log["ground_friction"].values
    mu, own = mean_of_role(log, "friction"), mean_of_role(log, "kinetic_friction", missing=None)
    mu_K = mean_of_role(log, "kinetic_ratio", missing=1.0) * mu if own is None else own
    material: dict[str, Any] = {
        "mu": mu * ground,
        "mu_K": mu_K * ground,
        "e_N": mean_of_role(log, "restitution_normal"),
        "e_T": mean_of_role(log, "restitution_tangential"),
    }
    tolerance = mean_of_role(log, "absolute_tolerance")
    contact = [
        log[name].values for name in ("gap", "impulse_contact", "velocity_before", "velocity_after")
    ]
    material["correction"] = log["velocity_correction"].values
    return Solved(*contact, dt=log.attrs["dt"], tolerance=tolerance, **material)


def energy_ledger(log: xr.Dataset) -> dict[str, float]:
    """The energy ledger of a log of one world, J: its shares, `change` and `unbalanced`.

    See `energy_totals`; for a run of ours `unbalanced` is round-off.
    """
    shares = {share: log[f"energy_{share}"].values for share in (*SHARES, *ROBOT_SHARES)}
    change = (log["kinetic_energy"] + log["potential_energy"] - log["energy_start"]).values
    return energy_totals(shares, change)
