"""`tarsus judge`: check a run of any simulator by the criteria used for every contact law.

Only the run's arrays and the robot are needed. The expressions are those of Tarsus's own logs,
`simulation.recording.observed_run`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus import robots
from tarsus.comparison.imported import read_run
from tarsus.comparison.integrators import add_implicit_forces, check_integrator, file_integrator
from tarsus.comparison.states import add_mujoco_forces, has_only_states
from tarsus.comparison.time_grid import steps_between
from tarsus.comparison.trajectory import build_trajectory, log_to_arrays
from tarsus.comparison.verdicts import (
    NEEDS_FRICTION,
    NOT_JUDGED,
    OF_MOTION,
    PASS,
    judge_criteria,
    measure_scale,
)
from tarsus.contact import criteria
from tarsus.contact.criteria import SolvedContacts
from tarsus.contact.ledger import SHARES, compute_ledger
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions
from tarsus.simulation.recording.log_robot import robot_of, scale_masses
from tarsus.simulation.recording.log_schema import check_log
from tarsus.simulation.recording.observed_run import Trajectory, solved_steps
from tarsus.simulation.recording.step_observables import energy_totals

Array = NDArray[np.float64]
SETTLING_TIME = 0.02  # s in which a landing foot comes to rest, as in `criteria.creep`


def judge(
    run: str | Path | Mapping[str, Any] | xr.Dataset,
    robot: Robot | str | Path | None = None,
    friction: float | None = None,
    integrator: str | None = None,
) -> dict[str, Any]:
    """Check a run for the contact conditions, the equation of motion and the energy balance.

    docs/judge.md describes the format of runs.

    Parameters
    ----------
    run
        A file (.nc, .npz, .csv, .parquet, a ROS 2 bag), arrays by name, or a log.
    robot
        A Robot, the name of a built-in one, or a model file. A log of Tarsus names its own.
    friction
        Friction coefficient mu [1], if the run does not hold it.
    integrator
        MuJoCo's integrator, such as "implicitfast", if `qfrc_actuator` was copied from `mjData`.
        The default is the run's array `integrator`, or that of the MJCF file if momentum does not
        balance without it.

    Returns
    -------
    dict
        residuals: largest violation of each criterion; None if it cannot be judged, for the reason
        in not_judged. verdicts: "pass", "doubtful", "fail" or "not judged" by criterion, with the
        limits "good" and "bad" for this robot. energy: energy ledger in J.

    Raises
    ------
    TarsusError
        If the arrays are inconsistent, or required data are missing.
    """
    # which robot moved?
    model = robot if isinstance(robot, Robot) else robots.load(robot) if robot else None
    data: Any = read_run(Path(run), model) if isinstance(run, str | Path) else run
    reasons: dict[str, str] = {}
    if integrator is not None and check_integrator(integrator) and isinstance(data, xr.Dataset):
        raise IncompatibleOptions(
            "integrator does not apply to a log of tarsus run, which names its own; omit it.",
            "integrator",
        )
    model = None if model is None else _with_recorded_joints(model, data)
    if has_only_states(data) and model is not None:
        data, reasons = add_mujoco_forces(data, model.origin.file, integrator)
        data = {"integrator": "Euler"} | data  # these forces need no correction
        integrator = None
    if isinstance(data, xr.Dataset):
        check_log(data)
    model = model or robot_of(data)
    if isinstance(data, xr.Dataset):
        model = scale_masses(model, data)
    # the run in the format of the report
    arrays = dict(log_to_arrays(data, model) if isinstance(data, xr.Dataset) else data)
    if friction is not None:
        arrays["mu"] = friction
    named = check_integrator(str(arrays.pop("integrator"))) if "integrator" in arrays else None
    if stated := integrator or named:
        arrays, more = add_implicit_forces(arrays, model, stated)
        return report(build_trajectory(arrays, model), reasons | more)
    card = report(build_trajectory(arrays, model), reasons)
    # are these the forces at the start of the step, copied from MuJoCo's data?
    balanced = card["verdicts"]["equation_N"]["verdict"] in (PASS, NOT_JUDGED)
    final = balanced or isinstance(data, xr.Dataset)
    return card if final else _repeat_with_file_settings(card, arrays, model)


def _with_recorded_joints(robot: Robot, run: Any) -> Robot:
    """Return the robot with the joints of its file if a run's arrays are in their coordinates.

    A base on slides and a ball or hinges is read as one free joint, but MuJoCo keeps its joints.
    """
    if not robot.merged_joints or not robot.origin.file or isinstance(run, xr.Dataset):
        return robot
    options = {**robot.origin.options, "merge_base": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as when the robot was read before
        unmerged = robots.load(robot.origin.file, **options)
    widths = [np.shape(run[name])[-1:] for name in ("qpos", "qvel") if name in run]
    return unmerged if widths == [(unmerged.nq,), (unmerged.nu,)] else robot


def _repeat_with_file_settings(
    card: dict[str, Any], arrays: dict[str, Any], robot: Robot
) -> dict[str, Any]:
    """Repeat a report whose momentum does not balance with the settings of the robot's file.

    The integrator or the time step of the file may explain the imbalance; otherwise the given card
    is returned.
    """
    dt = robot.timestep
    if dt and "dt" not in arrays and (count := steps_between(card["dt"], dt)) > 1:
        reason = (
            f"the file's time step is {dt:g} s, so rows may be {count} steps apart: add the array"
            " dt with the length of a step in s"
        )
        return report(
            build_trajectory(arrays | {"dt": dt}, robot), dict.fromkeys(OF_MOTION, reason)
        )
    integrator = file_integrator(robot)
    if integrator in (None, "Euler"):
        return card
    corrected, reasons = add_implicit_forces(arrays, robot, str(integrator))
    return report(build_trajectory(corrected, robot), reasons)


def report(run: Trajectory, reasons: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Build the report card of a checked run.

    Parameters
    ----------
    run
        Checked run.
    reasons
        Reasons why criteria cannot be judged, by criterion.
    """
    # everything that can be computed
    solved, observables = solved_steps(run)
    residuals: dict[str, float | None] = dict(criteria.residuals(solved))
    residuals["equation_N"] = float(observables["residual"].max())

    # criteria whose data are missing are not judged
    missing = _list_missing_criteria(run) | dict(reasons or {})
    if run.row_interval > 1:
        creep = criteria.creep(solved, SETTLING_TIME / run.row_interval)
        residuals["creep_m_per_s"] = float(np.nanmax(creep, initial=0.0))
    residuals |= dict.fromkeys((name for name in missing if name in residuals), None)
    energy = None if "energy" in missing else _energy_ledger(solved, observables)
    judged = residuals | {"energy": energy["unbalanced"] if energy else None}
    return {
        "robot": run.robot.name,
        "steps": run.steps * run.row_interval,
        "dt": run.dt,
        "duration": run.steps * run.row_interval * run.dt,
        "contacts": len(run.contact_bodies),
        "penetration_max": residuals["penetration_m"],
        "creep_max": residuals["creep_m_per_s"],
        "normal_force_max": float(solved.impulse[..., 0].max(initial=0.0)) / run.dt,
        "residuals": residuals,
        "verdicts": judge_criteria(judged, measure_scale(run, energy)),
        "energy": energy,
        "not_judged": missing,
    }


def _list_missing_criteria(run: Trajectory) -> dict[str, str]:
    """List the criteria that lack data, with the reason for each."""
    reasons: dict[str, str] = {}
    if run.mu is None:
        reasons |= dict.fromkeys(NEEDS_FRICTION, "no friction coefficient: give mu, or --friction")
    if run.row_interval > 1:
        reason = f"rows are {run.row_interval} steps apart: record every step"
        restitution = ("signorini_J", "dissipation_J") if run.e_N or run.e_T else ()
        reasons |= dict.fromkeys((*OF_MOTION, *restitution), reason)
    elif run.motors is None:
        reasons |= dict.fromkeys(OF_MOTION, "no motor forces: give qfrc_actuator")
    elif run.robot.constrained and run.passive is None and run.constraint is None:
        reason = "no forces of loop joints or mimic joints: give qfrc_passive"
        reasons |= dict.fromkeys(OF_MOTION, reason)
    elif run.stages > 1:
        reasons["equation_N"] = "the integrator evaluates forces several times per step"
    return reasons


def _energy_ledger(solved: SolvedContacts, observables: dict[str, Array]) -> dict[str, float]:
    """Compute the energy ledger in J; `unbalanced` is the change that no force explains."""
    entries = compute_ledger(solved)
    shares = {share: getattr(entries, share) for share in SHARES}
    shares |= {share: observables[f"work_{share}"] for share in ("motors", "joints", "drift")}
    change = observables["kinetic"] + observables["potential"] - observables["energy_before"][0]
    return energy_totals(shares, change[:, 0])
