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
from tarsus.comparison.imported import holds_states_alone, run_of, with_forces_of_mujoco
from tarsus.comparison.trajectory import arrays_of, trajectory
from tarsus.contact import criteria
from tarsus.contact.criteria import Solved
from tarsus.contact.ledger import SHARES, ledger
from tarsus.dynamics.robot import Robot
from tarsus.simulation.recording.log_schema import checked
from tarsus.simulation.recording.observed_run import Trajectory, solved_steps
from tarsus.simulation.recording.step_observables import energy_totals
from tarsus.simulation.recording.whose import as_heavy, robot_of

Array = NDArray[np.float64]
NEEDS_FRICTION = ("cone_Ns", "dissipation_J", "creep_m_per_s")


def judge(
    run: str | Path | Mapping[str, Any] | xr.Dataset,
    robot: Robot | str | Path | None = None,
    friction: float | None = None,
) -> dict[str, Any]:
    """The report card of a run: a file (.nc, .npz, .csv, .parquet, a ROS 2 bag), its arrays by
    name, or a log.

    docs/judge.md has the format.

    robot: a Robot, the name of a built-in one, or a model file; not needed for a log of
        Tarsus, which names its own.
    friction: coefficient mu [1], if the run does not hold it.

    Returns a dictionary:

    residuals: violations of the contact conditions; None: cannot be judged.
    not_judged: why not, by the name of the residual.
    penetration_max: m.
    creep_max: m/s.
    normal_force_max: N.
    energy: the energy ledger, J.

    Raises TarsusError, in one sentence, if the arrays are inconsistent.
    """
    # whose run is it?
    whose = robot if isinstance(robot, Robot) else robots.load(robot) if robot else None
    given: Any = run_of(Path(run), whose) if isinstance(run, str | Path) else run
    if holds_states_alone(given) and whose is not None:
        given = with_forces_of_mujoco(given, Path(whose.origin.file))
    if isinstance(given, xr.Dataset):
        checked(given)
    whose = whose or robot_of(given)
    if isinstance(given, xr.Dataset):
        whose = as_heavy(whose, given)
    # the run in the format of the report
    arrays = dict(arrays_of(given, whose) if isinstance(given, xr.Dataset) else given)
    if friction is not None:
        arrays["mu"] = friction
    return report(trajectory(arrays, whose))


def report(run: Trajectory) -> dict[str, Any]:
    """The report card of a checked run."""
    # everything that can be computed
    solved, seen = solved_steps(run)
    residuals: dict[str, float | None] = dict(criteria.residuals(solved))
    residuals["equation_N"] = float(seen["residual"].max())

    # what the run does not hold cannot be judged
    reasons: dict[str, str] = {}
    if run.mu is None:
        reasons |= dict.fromkeys(NEEDS_FRICTION, "no friction coefficient mu is given")
    if run.motors is None:
        reasons["equation_N"] = reasons["energy"] = (
            "no qfrc_actuator is given: the motors' forces are not known"
        )
    elif run.robot.constrained and run.passive is None and run.constraint is None:
        reasons["equation_N"] = reasons["energy"] = (
            "no qfrc_passive is given: the forces of joints that close loops or follow others are"
            " not known"
        )
    elif run.stages > 1:
        reasons["equation_N"] = "several evaluations a step: no single balance of momentum holds"
    residuals |= dict.fromkeys((name for name in reasons if name in residuals), None)
    return {
        "robot": run.robot.name,
        "steps": run.steps,
        "dt": run.dt,
        "duration": run.steps * run.dt,
        "contacts": len(run.ends),
        "penetration_max": residuals["penetration_m"],
        "creep_max": residuals["creep_m_per_s"],
        "normal_force_max": float(solved.impulse[..., 0].max(initial=0.0)) / run.dt,
        "residuals": residuals,
        "energy": None if "energy" in reasons else _energy(solved, seen),
        "not_judged": reasons,
    }


def _energy(solved: Solved, seen: dict[str, Array]) -> dict[str, float]:
    """The energy ledger of the run, J; `unbalanced` is what its forces do not explain."""
    entries = ledger(solved)
    shares = {share: getattr(entries, share) for share in SHARES}
    shares |= {share: seen[f"work_{share}"] for share in ("motors", "joints", "drift")}
    change = seen["kinetic"] + seen["potential"] - seen["energy_before"][0]
    return energy_totals(shares, change[:, 0])
