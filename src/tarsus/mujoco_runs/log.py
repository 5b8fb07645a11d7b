"""The log of a run in MuJoCo: the variables of our own logs, by the same expressions."""

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
TOLERANCE = 1e-3  # N: forces smaller than this are none, to the criteria
OF_THE_LAST_STAGE = (
    "integrator RK4 evaluates each step four times: contact forces are those of the last, and their"
    " works do not add up to the change of energy."
)


@dataclass(frozen=True, eq=False)
class MujocoSetup:
    """What was run."""

    robot: Robot
    settings: MujocoSettings
    terrain: Terrain
    controller: Any
    dt: float
    """Length of a step, s."""
    normal: Array
    """Unit normal (3,) of the ground, world."""
    command: dict[str, float]
    """What the gait was told."""
    warnings: Sequence[WarningRecord]
    """What the user should know."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """What a run left."""

    arrays: dict[str, Any]
    """Those of its recorder."""
    extra: Array
    """Of every step: torques (N m), the solver's iterations, whether it converged."""
    began: float
    """Simulated time at the start, s."""
    wall: float
    """What controller and steps took, s."""

    @property
    def steps(self) -> int:
        """How many."""
        return len(self.extra)

    def first(self, steps: int) -> Recorded:
        """The first steps alone."""
        short = {
            name: value[: steps + 1] if np.ndim(value) and name != "contact_body" else value
            for name, value in self.arrays.items()
        }
        return replace(self, arrays=short, extra=self.extra[:steps])


def dataset(setup: MujocoSetup, run: Recorded) -> xr.Dataset:
    """The log of a run on level or inclined ground."""
    # contacts, energies and residuals by the expressions of our own logs
    run_hooks()
    robot, trajectory = setup.robot, _trajectory(setup, run)
    solved, seen = solved_steps(trajectory)
    assert trajectory.point is not None and trajectory.passive is not None
    found = {
        "q": (("time", "coordinate"), trajectory.q[1:]),
        "u": (("time", "velocity"), trajectory.u[1:]),
        "tau": (("time", "actuator"), run.extra[:, :-2]),
        **variables.contact_variables(
            solved, contact_frames(trajectory.normal), trajectory.point, np.ones(solved.gap.shape)
        ),
        "iterations": ("time", run.extra[:, -2].astype(np.int32)),
        "converged": ("time", run.extra[:, -1].astype(np.int8)),
        **variables.energy_variables(seen, solved),
        "passive_force": (("time", "velocity"), trajectory.passive),
        "q_start": ("coordinate", trajectory.q[0]),
        "u_start": ("velocity", trajectory.u[0]),
    }
    # with labels, units and what was run
    time = run.began + setup.dt * np.arange(1, run.steps + 1)
    log = xr.Dataset(found, variables.labels(robot, [c.name for c in robot.candidates], time))
    log = variables.add_descriptions(log)
    log.attrs.update(_attributes(setup, run))
    # what the user should know
    notices, unconverged = list(setup.warnings), int((log["converged"] == 0).sum())
    if not setup.settings.velocity_level:
        notices.append(WarningRecord(OF_THE_LAST_STAGE, "forces-of-last-stage", "RK4"))
    if unconverged:
        text = f"{unconverged} steps reached MuJoCo's limit of iterations."
        notices.append(WarningRecord(text, "steps-unconverged", "converged"))
    log.attrs["warnings"] = "\n".join(notices)
    return drop_empty(log)


def _trajectory(setup: MujocoSetup, run: Recorded) -> Trajectory:
    """The run's arrays, every candidate with its own place; open contacts by the candidates."""
    robot, given, normal = setup.robot, run.arrays, setup.normal
    n = len(robot.candidates)
    after = {name: given[name][1:, :n] for name in ("contact_force", "contact_point", "gap", "mu")}
    q = given["qpos"]
    # where MuJoCo lists no contact: the candidate's lowest point and its distance
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
        ends=tuple((c.body, WORLD) for c in robot.candidates),
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
        tolerance=TOLERANCE * setup.dt,
        instant=0.0,
        stages=given["stages"],
    )


def _attributes(setup: MujocoSetup, run: Recorded) -> dict[str, Any]:
    """What was run, by the names of our own logs; law and stepper are MuJoCo's."""
    settings, robot = setup.settings, setup.robot
    parts = {"law": settings, "terrain": setup.terrain, "gait": setup.controller}
    names = {"engine": ENGINE, "engine_version": mujoco().__version__}
    # what the criteria ask for by role
    roles = {"mean_mu": settings.coefficient, "unit_mu": "[1]", "role_mu": "friction"}
    roles |= {"mean_tolerance": TOLERANCE * setup.dt, "unit_tolerance": "N s"}
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
        "wall_time": run.wall,
    }
