"""`tarsus judge`: a run made elsewhere, measured by the criteria that judge every law.

It needs the run's arrays and the robot alone. The expressions are those of Tarsus's own logs,
`simulation.recording.observed_run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus import robots
from tarsus.comparison.imported import run_of
from tarsus.comparison.integrators import checked_integrator, integrator_of_file, with_implicit_part
from tarsus.comparison.states import holds_states_alone, with_forces_of_mujoco
from tarsus.comparison.time_grid import steps_between
from tarsus.comparison.trajectory import arrays_of, trajectory
from tarsus.comparison.verdicts import (
    NEEDS_FRICTION,
    NOT_JUDGED,
    OF_MOTION,
    PASS,
    scale_of,
    verdicts,
)
from tarsus.contact import criteria
from tarsus.contact.criteria import Solved
from tarsus.contact.ledger import SHARES, ledger
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions
from tarsus.simulation.recording.log_robot import robot_of, scale_masses
from tarsus.simulation.recording.log_schema import check_log
from tarsus.simulation.recording.observed_run import Trajectory, solved_steps
from tarsus.simulation.recording.step_observables import energy_totals

Array = NDArray[np.float64]
SETTLED = 0.02  # s in which a landing foot comes to rest, as `criteria.creep` has it


def judge(
    run: str | Path | Mapping[str, Any] | xr.Dataset,
    robot: Robot | str | Path | None = None,
    friction: float | None = None,
    integrator: str | None = None,
) -> dict[str, Any]:
    """Judge a run by the contact conditions, the equation of motion and the balance of energy.

    docs/judge.md has the format of runs.

    Parameters
    ----------
    run
        A file (.nc, .npz, .csv, .parquet, a ROS 2 bag), arrays by name, or a log.
    robot
        A Robot, the name of a built-in one, or a model file; a log of Tarsus names its own.
    friction
        Coefficient mu [1], if the run does not hold it.
    integrator
        MuJoCo's, such as "implicitfast", where `qfrc_actuator` is that of `mjData`. By default the
        run's array `integrator`; if momentum does not balance without it, that of the MJCF file.

    Returns
    -------
    dict
        residuals: largest violations by criterion; None where it cannot be judged, for the reason
        in not_judged. verdicts: "pass", "doubtful", "fail" or "not judged" by criterion, with the
        limits "good" and "bad" for this robot. energy: the energy ledger, J.

    Raises
    ------
    TarsusError
        If the arrays are inconsistent, or something that is needed is missing.
    """
    # whose run is it?
    whose = robot if isinstance(robot, Robot) else robots.load(robot) if robot else None
    given: Any = run_of(Path(run), whose) if isinstance(run, str | Path) else run
    reasons: dict[str, str] = {}
    if integrator is not None and checked_integrator(integrator) and isinstance(given, xr.Dataset):
        raise IncompatibleOptions(
            "integrator does not apply to a log of tarsus run, which names its own; leave it out.",
            "integrator",
        )
    if holds_states_alone(given) and whose is not None:
        given, reasons = with_forces_of_mujoco(given, whose.origin.file, integrator)
        given = {"integrator": "Euler"} | given  # its forces are those that acted
        integrator = None
    if isinstance(given, xr.Dataset):
        check_log(given)
    whose = whose or robot_of(given)
    if isinstance(given, xr.Dataset):
        whose = scale_masses(whose, given)
    # the run in the format of the report
    arrays = dict(arrays_of(given, whose) if isinstance(given, xr.Dataset) else given)
    if friction is not None:
        arrays["mu"] = friction
    named = checked_integrator(str(arrays.pop("integrator"))) if "integrator" in arrays else None
    if stated := integrator or named:
        arrays, more = with_implicit_part(arrays, whose, stated)
        return report(trajectory(arrays, whose), reasons | more)
    card = report(trajectory(arrays, whose), reasons)
    # forces of the start of the step, as MuJoCo's data hold them?
    balanced = card["verdicts"]["equation_N"]["verdict"] in (PASS, NOT_JUDGED)
    known = balanced or isinstance(given, xr.Dataset)
    return card if known else _of_the_file(card, arrays, whose)


def _of_the_file(card: dict[str, Any], arrays: dict[str, Any], robot: Robot) -> dict[str, Any]:
    """The card with the integrator and time step of the robot's file, where these may explain that
    momentum does not balance.
    """
    dt = robot.timestep
    if dt and "dt" not in arrays and (count := steps_between(card["dt"], dt)) > 1:
        reason = (
            f"rows may be {count} steps of the file's {dt:g} s apart: add the array dt, the length"
            " of a step in s"
        )
        return report(trajectory(arrays | {"dt": dt}, robot), dict.fromkeys(OF_MOTION, reason))
    asked = integrator_of_file(robot)
    if asked in (None, "Euler"):
        return card
    made, reasons = with_implicit_part(arrays, robot, str(asked))
    return report(trajectory(made, robot), reasons)


def report(run: Trajectory, reasons: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The report card of a checked run; reasons: why criteria cannot be judged, by name."""
    # everything that can be computed
    solved, seen = solved_steps(run)
    residuals: dict[str, float | None] = dict(criteria.residuals(solved))
    residuals["equation_N"] = float(seen["residual"].max())

    # what the run does not hold cannot be judged
    missing = _missing(run) | dict(reasons or {})
    if run.every > 1:
        settled = criteria.creep(solved, SETTLED / run.every)
        residuals["creep_m_per_s"] = float(np.nanmax(settled, initial=0.0))
    residuals |= dict.fromkeys((name for name in missing if name in residuals), None)
    energy = None if "energy" in missing else _energy(solved, seen)
    found = residuals | {"energy": energy["unbalanced"] if energy else None}
    return {
        "robot": run.robot.name,
        "steps": run.steps * run.every,
        "dt": run.dt,
        "duration": run.steps * run.every * run.dt,
        "contacts": len(run.ends),
        "penetration_max": residuals["penetration_m"],
        "creep_max": residuals["creep_m_per_s"],
        "normal_force_max": float(solved.impulse[..., 0].max(initial=0.0)) / run.dt,
        "residuals": residuals,
        "verdicts": verdicts(found, scale_of(run, energy)),
        "energy": energy,
        "not_judged": missing,
    }


def _missing(run: Trajectory) -> dict[str, str]:
    """Why criteria cannot be judged for what the run does not hold, by name."""
    reasons: dict[str, str] = {}
    if run.mu is None:
        reasons |= dict.fromkeys(NEEDS_FRICTION, "no friction coefficient: give mu, or --friction")
    if run.every > 1:
        reason = f"rows are {run.every} steps apart: record every step"
        restitution = ("signorini_J", "dissipation_J") if run.e_N or run.e_T else ()
        reasons |= dict.fromkeys((*OF_MOTION, *restitution), reason)
    elif run.motors is None:
        reasons |= dict.fromkeys(OF_MOTION, "no forces of the motors: give qfrc_actuator")
    elif run.robot.constrained and run.passive is None and run.constraint is None:
        reason = "no forces of joints that close loops or follow others: give qfrc_passive"
        reasons |= dict.fromkeys(OF_MOTION, reason)
    elif run.stages > 1:
        reasons["equation_N"] = "the integrator evaluates forces several times per step"
    return reasons


def _energy(solved: Solved, seen: dict[str, Array]) -> dict[str, float]:
    """The energy ledger of the run, J; `unbalanced` is what its forces do not explain."""
    entries = ledger(solved)
    shares = {share: getattr(entries, share) for share in SHARES}
    shares |= {share: seen[f"work_{share}"] for share in ("motors", "joints", "drift")}
    change = seen["kinetic"] + seen["potential"] - seen["energy_before"][0]
    return energy_totals(shares, change[:, 0])
