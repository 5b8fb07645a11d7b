"""Summarize a run in a few numbers."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import xarray as xr

from tarsus.contact import criteria
from tarsus.contact.criteria import SolvedContacts
from tarsus.contact.ledger import SHARES
from tarsus.model.base_motion import base_position
from tarsus.model.mechanism import Mechanism
from tarsus.morphology import fall
from tarsus.simulation.recording import provenance
from tarsus.simulation.recording.empty_dimensions import add_empty
from tarsus.simulation.recording.energy_gain import energy_gain
from tarsus.simulation.recording.log import mean_of_role
from tarsus.simulation.recording.outcome import classify_motion
from tarsus.simulation.recording.step_observables import energy_totals
from tarsus.simulation.recording.variables import ROBOT_SHARES

SINGLE_SOLVE_RESIDUALS = (
    "signorini_J",
    "dissipation_J",
    "creep_m_per_s",
)  # not defined for sums of several solves


REQUIRED = (  # attributes and variables of a log
    *("robot", "dt", "warnings", "q", "q_start", "iterations", "converged", "equation_residual"),
    *("contact_point", "force_contact", "gap", "impulse_contact", "ground_friction", "state"),
    *("velocity_before", "velocity_after", "velocity_correction"),
    *("kinetic_energy", "potential_energy", "energy_start"),
    *(f"energy_{share}" for share in (*SHARES, *ROBOT_SHARES)),
)


class StepperLike(Protocol):
    """Attributes of a stepper, or another engine, that a summary needs."""

    @property
    def velocity_level(self) -> bool:
        """Whether one balance of momentum makes a step."""
        ...

    @property
    def solves_once(self) -> bool:
        """Whether one contact solve gives the impulses of a step."""
        ...


class SimulationLike(Protocol):
    """Attributes of a `Simulation`, or a simulation on another engine, that a summary needs."""

    @property
    def robot(self) -> Mechanism:
        """The robot."""
        ...

    @property
    def dt(self) -> float:
        """Time step, in s."""
        ...

    @property
    def stepper(self) -> StepperLike:
        """The stepper."""
        ...


def summary(simulation: SimulationLike, log: xr.Dataset) -> dict[str, Any]:
    """Summarize the log of one world, as `tarsus run --json` prints it.

    Parameters
    ----------
    simulation : Simulation
        The simulation that made the log.
    log : xarray.Dataset
        Log of one world.

    Returns
    -------
    dict
        Figures by name in SI units: distance, speed, height, contact residuals, energies, sensor
        readings, warnings and what was run. None where a figure does not apply.

    Examples
    --------
    >>> import tarsus
    >>> sim = tarsus.Simulation("mini_cheetah", controller="trot")
    >>> figures = tarsus.summary(sim, sim.run(0.1))
    >>> figures["fell"]
    False
    >>> figures["residuals"]["cone_Ns"] < 1e-9
    True
    """
    # contact residuals
    log = add_empty(log)
    solved = solved_contacts(log)
    residuals: dict[str, float | None] = dict(criteria.residuals(solved))
    residuals["equation_N"] = (
        float(log["equation_residual"].max()) if simulation.stepper.velocity_level else None
    )
    if not simulation.stepper.solves_once:
        residuals |= dict.fromkeys(SINGLE_SOLVE_RESIDUALS)
    # motion of the base
    robot, distance = simulation.robot, 0.0
    if robot.mobile:
        base, start = (base_position(robot, log[name].values) for name in ("q", "q_start"))
        distance = float(np.linalg.norm(base[-1, :2] - start[:2]))
    else:
        base = None
    duration = float(log.sizes["time"] * log.attrs["dt"])
    outcome = classify_motion(simulation.robot, log)
    # figures by name
    wall = float(log.attrs.get("wall_time", 0.0)) or np.nan  # of a partial log it is not known
    return {
        **provenance.parse_attributes(log.attrs),
        "dt": simulation.dt,
        "contacts": log.sizes["contact"],
        "duration": duration,
        "motion": outcome.motion,
        "fall_time": outcome.fall_time,
        "distance_to_fall": outcome.distance,
        "jumps": outcome.jumps,
        "lowest": outcome.lowest,
        "distance": distance,
        "mean_speed": distance / duration,
        "height_min": None if base is None else float(base[:, 2].min()),
        "height_final": None if base is None else float(base[-1, 2]),
        "penetration_max": residuals["penetration_m"],
        "creep_max": residuals["creep_m_per_s"],
        "iterations_mean": float(log["iterations"].mean()),
        "iterations_max": int(log["iterations"].max()),
        "unconverged_steps": int((log["converged"] == 0).sum()),
        "fell": outcome.fall_time is not None,
        "hangs": is_below_contacts(simulation.robot, log),
        "normal_force_max": float(log["force_contact"].values[..., 0].max(initial=0.0)),
        "realtime_factor": duration / wall,
        "steps_per_second": log.sizes["time"] / wall,
        "drift_max": float(log["drift"].max()) if "drift" in log else None,
        "residuals": residuals,
        "energy": energy_ledger(log),
        "energy_gained": energy_gain(log),
        "sensors": sensor_summary(log),
        "warnings": log.attrs["warnings"].splitlines(),
    }


def has_fallen(robot: Mechanism, log: xr.Dataset) -> bool:
    """Return whether the base tipped over or sank towards the lowest contact point."""
    if not robot.mobile:
        return False
    q, lowest = log["q"].values, log["contact_point"].values[..., 2].min(axis=1, initial=np.inf)
    height = base_position(robot, q)[:, 2] - lowest
    return log.sizes["contact"] > 0 and fall.has_fallen(robot, q, height)


def is_below_contacts(robot: Mechanism, log: xr.Dataset) -> bool:
    """Return whether the base ends below all contact candidates, though other parts could touch."""
    contacts = set(log["contact"].values.tolist())
    if not robot.mobile or not contacts or contacts >= {c.name for c in robot.candidates}:
        return False
    height = base_position(robot, log["q"].values[-1])[2]
    return bool(height < log["contact_point"].values[-1, :, 2].min())


def sensor_summary(log: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Collect units, last and mean reading of each sensor in a log of one world."""
    sensors = {}
    for variable in map(str, log.data_vars):
        name = variable.removeprefix("sensed_")
        if name == variable:
            continue
        readings, channels = log[variable].values, [str(c) for c in log[f"channel_{name}"].values]
        sensors[name] = {
            "units": log[variable].attrs["units"],
            "last": dict(zip(channels, readings[-1].tolist(), strict=True)),
            "mean": dict(zip(channels, readings.mean(axis=0).tolist(), strict=True)),
        }
    return sensors


def solved_contacts(log: xr.Dataset) -> SolvedContacts:
    """Compute the contact problems and solutions of a log, for the residual criteria."""
    ground = log["ground_friction"].values
    mu, kinetic_friction = (
        mean_of_role(log, "friction"),
        mean_of_role(log, "kinetic_friction", missing=None),
    )
    mu_K = (
        mean_of_role(log, "kinetic_ratio", missing=1.0) * mu
        if kinetic_friction is None
        else kinetic_friction
    )
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
    return SolvedContacts(*contact, dt=log.attrs["dt"], tolerance=tolerance, **material)


def energy_ledger(log: xr.Dataset) -> dict[str, float]:
    """Compute the energy ledger of a log of one world, in J.

    It holds the shares, `change` and `unbalanced` of `energy_totals`; in our own runs `unbalanced`
    is round-off.
    """
    shares = {share: log[f"energy_{share}"].values for share in (*SHARES, *ROBOT_SHARES)}
    change = (log["kinetic_energy"] + log["potential_energy"] - log["energy_start"]).values
    return energy_totals(shares, change)
