"""Log of a run in MuJoCo, with the variables of Tarsus's own logs from the same expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import WarningRecord
from tarsus.files import json_text
from tarsus.model.mechanism import WORLD
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.simulation.recording import provenance, variables
from tarsus.simulation.recording.empty_dimensions import drop_empty
from tarsus.simulation.recording.log_hooks import run_hooks
from tarsus.simulation.recording.observed_run import Trajectory, contact_frames, solved_steps
from tarsus.terrain.base import Terrain

Array = NDArray[np.float64]
ENGINE = "mujoco"
FORCE_TOLERANCE = 1e-3  # N: the criteria treat smaller forces as zero
LAST_STAGE_MESSAGE = (
    "integrator RK4 evaluates forces four times per step; the log holds the contact forces of the"
    " last evaluation, whose work does not add up to the change of energy."
)


@dataclass(frozen=True, eq=False)
class MujocoSetup:
    """Robot, settings, ground and controller of a run in MuJoCo."""

    robot: Robot
    settings: MujocoSettings
    terrain: Terrain
    controller: Any
    dt: float
    """Length of a step, s."""
    normal: Array
    """Unit normal (3,) of the ground in world axes."""
    command: dict[str, float]
    """Commands of the gait by name."""
    warnings: Sequence[WarningRecord]
    """Warnings raised during setup."""


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """Recorded arrays and timing of a run."""

    arrays: dict[str, Any]
    """Arrays of `Recorder`, by name."""
    extra: Array
    """Torques in N m, solver iterations, and convergence flag of every step."""
    start_time: float
    """Simulated time at the start, s."""
    wall_time: float
    """Wall time of the controller and the steps, s."""

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.extra)

    def first(self, steps: int) -> RecordedRun:
        """Cut the run off after a number of steps."""
        short = {
            name: value[: steps + 1] if np.ndim(value) and name != "contact_body" else value
            for name, value in self.arrays.items()
        }
        return replace(self, arrays=short, extra=self.extra[:steps])


def build_log(setup: MujocoSetup, run: RecordedRun) -> xr.Dataset:
    """Build the log of a run on level or inclined ground."""
    # contacts, energies and residuals from the expressions of Tarsus's own logs
    run_hooks()
    robot, trajectory = setup.robot, _trajectory(setup, run)
    solved, observables = solved_steps(trajectory)
    assert trajectory.point is not None and trajectory.passive is not None
    values = {
        "q": (("time", "coordinate"), trajectory.q[1:]),
        "u": (("time", "velocity"), trajectory.u[1:]),
        "tau": (("time", "actuator"), run.extra[:, :-2]),
        **variables.contact_variables(
            solved, contact_frames(trajectory.normal), trajectory.point, np.ones(solved.gap.shape)
        ),
        "iterations": ("time", run.extra[:, -2].astype(np.int32)),
        "converged": ("time", run.extra[:, -1].astype(np.int8)),
        **variables.energy_variables(observables, solved),
        "passive_force": (("time", "velocity"), trajectory.passive),
        "q_start": ("coordinate", trajectory.q[0]),
        "u_start": ("velocity", trajectory.u[0]),
    }
    # labels, units and attributes
    time = run.start_time + setup.dt * np.arange(1, run.steps + 1)
    log = xr.Dataset(values, variables.labels(robot, [c.name for c in robot.candidates], time))
    log = variables.add_descriptions(log)
    log.attrs.update(_build_attributes(setup, run))
    # warnings
    records, unconverged = list(setup.warnings), int((log["converged"] == 0).sum())
    if not setup.settings.velocity_level:
        records.append(WarningRecord(LAST_STAGE_MESSAGE, "forces-of-last-stage", "RK4"))
    if unconverged:
        text = f"{unconverged} steps reached MuJoCo's iteration limit."
        records.append(WarningRecord(text, "steps-unconverged", "converged"))
    log.attrs["warnings"] = "\n".join(records)
    return drop_empty(log)


def _trajectory(setup: MujocoSetup, run: RecordedRun) -> Trajectory:
    """Convert the run's arrays to a trajectory with one column per candidate.

    Points and gaps of open contacts, which MuJoCo does not list, come from the candidates.
    """
    robot, given, normal = setup.robot, run.arrays, setup.normal
    n = len(robot.candidates)
    after = {name: given[name][1:, :n] for name in ("contact_force", "contact_point", "gap", "mu")}
    q = given["qpos"]
    # open contacts: the candidate's lowest point and its distance
    open_ = after["mu"] == 0
    centers = [robot.position(q[:-1], c.name) for c in robot.candidates]
    radius = np.array([c.radius for c in robot.candidates])
    lowest = np.reshape(centers, (n, run.steps, 3)).swapaxes(0, 1) - radius[:, None] * normal
    return Trajectory(
        robot=robot,
        dt=setup.dt,
        q=q,
        u=given["qvel"],
        force=after["contact_force"],
        contact_bodies=tuple((c.body, WORLD) for c in robot.candidates),
        normal=np.broadcast_to(normal, (run.steps, n, 3)),
        point=np.where(open_[..., None], lowest, after["contact_point"]),
        correction=None,
        gap=np.where(open_, lowest @ normal, after["gap"]),
        motors=given["qfrc_actuator"][1:],
        passive=given["qfrc_passive"][1:],
        constraint=None,
        mu=np.full((run.steps, n), setup.settings.coefficient),
        e_N=0.0,
        e_T=0.0,
        tolerance=FORCE_TOLERANCE * setup.dt,
        instant=0.0,
        stages=given["stages"],
    )


def _build_attributes(setup: MujocoSetup, run: RecordedRun) -> dict[str, Any]:
    """Build the attributes of the log, named as in Tarsus's own; law and stepper are MuJoCo's."""
    settings, robot = setup.settings, setup.robot
    parts = {"law": settings, "terrain": setup.terrain, "gait": setup.controller}
    names = {"engine": ENGINE, "engine_version": mujoco().__version__}
    # parameters that the criteria look up by role
    roles = {"mean_mu": settings.coefficient, "unit_mu": "[1]", "role_mu": "friction"}
    roles |= {"mean_tolerance": FORCE_TOLERANCE * setup.dt, "unit_tolerance": "N s"}
    roles |= {"role_tolerance": "absolute_tolerance"}
    instant = {"evaluation_instant": 0.0} if settings.velocity_level else {}
    return {
        **provenance.part_attributes(robot, parts),
        **names,
        "law": ENGINE,
        "stepper": settings.integrator,
        "stepper_parameters": "{}",
        "options": json_text({"contacts": [c.name for c in robot.candidates]}),
        "command": json_text(setup.command),
        **roles,
        **instant,
        "dt": setup.dt,
        "fast_steps": 0,
        "wall_time": run.wall_time,
    }
