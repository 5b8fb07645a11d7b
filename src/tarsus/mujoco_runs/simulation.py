"""Closed-loop simulation of a robot and its controller in MuJoCo, a counterpart of `Simulation`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.laws.moreau import Moreau
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, Unsupported, WarningRecord
from tarsus.model.poses import quaternion_from_rotation
from tarsus.model.self_collision import create_pairs
from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs import log
from tarsus.mujoco_runs.closed_loop import ClosedLoop, Feedback
from tarsus.mujoco_runs.height_field import compile_on_terrain
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.recorder import Recorder
from tarsus.mujoco_runs.replay import Replay
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.worlds import MujocoWorlds, physics_states
from tarsus.simulation import (
    cut_joints,
    default_controller,
    resolve,
    time_steps,
    unit_quaternions,
)
from tarsus.simulation.contact_selection import default_contacts, select_candidates
from tarsus.simulation.part_parameters import ParameterSetting, assigned_names, set_parameters
from tarsus.simulation.recording.divergence import Diverged, Fault, find_fault
from tarsus.simulation.recording.interrupt import Interrupted, catch_interrupt
from tarsus.simulation.recording.part_serialization import name_of
from tarsus.simulation.recording.partial_log import PartialLog, mark_partial
from tarsus.stepping.base import Scene
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane
from tarsus.terrain.slope import Slope

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]
FAULT_CHECK_INTERVAL = 0.25  # s of simulated time between two checks for divergence


class MujocoSimulation:
    """Simulation of a robot in MuJoCo with the controllers of Tarsus.

    Only contacts of the candidates with the ground are simulated. The robot starts where
    `Simulation` starts it.

    Parameters
    ----------
    robot, controller, dt
        As for `Simulation`.
    settings
        MuJoCo's contact and integrator settings; by default the contact parameters of the robot's
        file.
    terrain
        Name of a terrain, or a Terrain. Terrains other than planes and slopes become height fields
        within 25 m of the origin, on which `run` cannot write logs.
    contacts
        Names of the contact candidates, as for `Simulation`.
    parameters
        Parameters of the engine, the gait and the terrain, each "NAME=VALUE" or (name, value).

    Raises
    ------
    TarsusError
        If MuJoCo does not support a requested feature.
    """

    def __init__(
        self,
        robot: Robot | str,
        settings: MujocoSettings | None = None,
        terrain: Terrain | str = "plane",
        controller: Controller | Feedback | str | None = None,
        dt: float | None = None,
        contacts: str | Sequence[str] | None = None,
        parameters: Sequence[ParameterSetting] = (),
    ) -> None:
        # what is simulated
        self.warnings: list[WarningRecord] = []
        whole = resolve.resolve_robot(robot)
        if dt is None:
            dt = default_controller.default_time_step(whole, controller)
        self.dt = time_steps.check_time_step(dt)
        self.warnings += _self_contact_warnings(whole)
        prepared = default_controller.prepare(whole, controller, self.dt, self.warnings)
        if settings is None:
            replaced = assigned_names(parameters, "engine", MujocoSettings())
            settings = MujocoSettings.from_file(whole, self.warnings, None, replaced)
        parts = {"engine": settings, "gait": prepared[1]}
        parts = set_parameters(parts | {"terrain": resolve.resolve_terrain(terrain)}, parameters)
        self.settings, self.controller, self.terrain = parts.values()
        self.robot = _with_contacts(prepared[0], self.terrain, contacts, self.warnings)
        self.control = ClosedLoop(self.robot, self.controller, self.dt)

        # MuJoCo's model of the robot on its ground
        mj, frame = mujoco(), _plane_frame(self.terrain)
        self.uneven = frame is None
        frame = np.eye(3)[[2, 0, 1]] if frame is None else frame
        text = to_mjcf(self.robot, dt=self.dt, friction=self.settings.coefficient)
        if self.uneven:
            self.model = compile_on_terrain(self.terrain, text)
        else:
            self.model = mj.MjModel.from_xml_string(text)
        self.settings.apply(self.model)
        self.model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_AUTORESET
        self.model.geom_quat[0] = quaternion_from_rotation(frame[[1, 2, 0]].T)
        # without this flag MuJoCo ignores geom_quat
        self.model.geom_sameframe[0] = mj.mjtSameFrame.mjSAMEFRAME_NONE
        self.normal, self._worlds = frame[0], MujocoWorlds([self.model])
        self.data = self._worlds.data[0]
        self._start = _initial_coordinates(self.robot, self.terrain, self.controller, self.warnings)
        self.reset()

    def __repr__(self) -> str:
        parts = f"{self.robot.name}: MuJoCo, controller {name_of(self.controller)}"
        return f"MujocoSimulation({parts}, dt {self.dt:g} s, t = {self.time:.6g} s)"

    @property
    def stepper(self) -> MujocoSettings:
        """Settings in the role of a stepper, for summaries."""
        return self.settings

    @property
    def q(self) -> Array:
        """Copy of the coordinates (nq,)."""
        return np.array(self.data.qpos)

    @property
    def u(self) -> Array:
        """Copy of the velocities (nu,)."""
        return np.array(self.data.qvel)

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self._worlds.steps * self.dt

    def set(self, command: dict[str, float] | None = None, q: ArrayLike | None = None) -> None:
        """Set commands of the gait, such as {"speed": 0.5}, or the coordinates (nq,)."""
        if command is not None:
            self.control.set_commands(command)
        if q is not None:
            position = np.asarray(q, float)
            if position.shape != self.data.qpos.shape or not np.isfinite(position).all():
                raise InvalidValue(
                    f"q must be {self.data.qpos.size} finite numbers, one per coordinate.", "q"
                )
            unit_quaternions.check_norms(self.robot, position)
            self.data.qpos[:] = position
            mujoco().mj_forward(self.model, self.data)

    def reset(self) -> None:
        """Return to the initial state; commands are not reset."""
        mujoco().mj_resetData(self.model, self.data)
        self.data.qpos[:] = self._start
        mujoco().mj_forward(self.model, self.data)
        self._worlds.steps = 0
        self.control.reset()

    def step(self) -> None:
        """Advance by one step of dt."""
        self._worlds.advance(1, self._apply_control)

    def _apply_control(self) -> None:
        """Write the controller's torques to MuJoCo's control signals."""
        self.data.ctrl[:] = self.control(self.time, self.data.qpos, self.data.qvel)

    def advance(self, seconds: float) -> None:
        """Run without a log; stop early when the state is no longer finite."""
        for _ in range(time_steps.step_count(seconds, self.dt)):
            self.step()
            if not np.isfinite(self.data.qvel.sum()):
                return

    def run(
        self,
        seconds: float,
        progress: Callable[[float], None] | None = None,
        to: str | Path | None = None,
    ) -> xr.Dataset:
        """Run and return the log.

        Parameters
        ----------
        seconds
            Duration of the run, in s.
        progress
            Function that is called with the seconds simulated so far.
        to
            File (.nc) to which the log is also written, piece by piece during the run.

        Returns
        -------
        xarray.Dataset
            Log with the variables of `Simulation.run` and `passive_force`.

        Raises
        ------
        Diverged, Interrupted
            With the log up to that time, as in `Simulation.run`.
        """
        self._require_plane()
        # step by step, until divergence or Ctrl-C
        steps, t0, wall = time_steps.step_count(seconds, self.dt), self.time, 0.0
        interval = max(1, round(FAULT_CHECK_INTERVAL / self.dt))
        # MuJoCo orders geoms by body
        geoms = [self.model.geom(c.name).id for c in self.robot.candidates]
        recorder, extra, fault, checked = Recorder(self.model, self.data, geoms), [], None, 0

        def recorded() -> log.RecordedRun:
            return log.RecordedRun(recorder.arrays(), np.array(extra), t0, wall)

        def piece(first: int, last: int) -> xr.Dataset:
            partial = log.build_log(self._setup(), recorded().first(last))
            return mark_partial(partial.isel(time=slice(first, None)))

        with PartialLog(to, piece) as pieces:
            with catch_interrupt() as interrupted:
                while len(extra) < steps and fault is None and not interrupted():
                    began = perf_counter()
                    self.step()
                    wall += perf_counter() - began
                    recorder.record()
                    extra.append(self._step_figures())
                    if len(extra) % interval and np.isfinite(self.data.qvel.sum()):
                        continue
                    fault, checked = self._fault(recorder, checked, t0), len(extra)
                    if fault is None:
                        pieces.write_if_due(checked)
                    if progress:
                        progress(len(extra) * self.dt)
                stopped = interrupted() and len(extra) < steps
            # the log up to the last good step
            fault = fault or self._fault(recorder, checked, t0)
            good = recorded() if fault is None else recorded().first(fault.good_steps)
            result = log.build_log(self._setup(), good) if good.steps else None
            message = "" if fault is None else f"{fault.message}; use a smaller dt."
            if message and result is not None:
                result.attrs["warnings"] = "\n".join([*self.warnings, message])
            pieces.finish(result)
        if message:
            raise Diverged(message, result, fault.joint if fault else "")
        if stopped:
            raise Interrupted(f"interrupted at t = {self.time:.4g} s.", result)
        assert result is not None
        return result

    def _require_plane(self) -> None:
        """Raise Unsupported on uneven ground, whose contacts a log cannot hold."""
        if self.uneven:
            raise Unsupported(
                "runs in MuJoCo can be logged only on one plane: choose the terrain 'plane' or"
                " 'slope'.",
                "terrain",
            )

    def _setup(self) -> log.MujocoSetup:
        """Collect what the log describes."""
        parts = (self.robot, self.settings, self.terrain, self.controller, self.dt, self.normal)
        return log.MujocoSetup(*parts, self.control.commands(), self.warnings)

    def replay(self, run: xr.Dataset) -> Replay:
        """Prepare a repetition of a run from the initial state with its recorded torques."""
        start = physics_states(self.model, self._start[None])
        empty = np.zeros((run.sizes["time"], 0))  # for a robot without motors
        torques = np.array(run["tau"].values) if "tau" in run else empty
        return Replay(self.model, start, torques)

    def _step_figures(self) -> tuple[float, ...]:
        """Return torques in N m, solver iterations, and convergence flag of the last step."""
        iterations = self.data.solver_niter[0]
        return (*self.data.ctrl, iterations, iterations < self.model.opt.iterations)

    def _fault(self, recorder: Recorder, checked: int, t0: float) -> Fault | None:
        """Find the first diverged step after those already checked."""
        q, u = recorder.states(1 + checked)
        if not len(q):
            return None
        return find_fault(self.robot, {"q": q[:, None], "u": u[:, None]}, checked, t0, self.dt)


def _self_contact_warnings(robot: Robot) -> list[WarningRecord]:
    """Warn about the self-contacts of the robot's file, which MuJoCo runs ignore."""
    count = len(create_pairs(robot))
    if not count:
        return []
    text = (
        f"runs in MuJoCo have contacts with the ground only: bodies of {robot.name!r} pass through"
        f" each other, although its file lets {count} pair{'s' * (count > 1)} of shapes collide."
    )
    return [WarningRecord(text, "own-contacts-ignored", robot.name)]


def _with_contacts(
    robot: Robot, terrain: Terrain, names: str | Sequence[str] | None, records: list[WarningRecord]
) -> Robot:
    """Restrict the robot's contact candidates to those selected."""
    names = default_contacts(robot, terrain.flat) if names is None else names
    chosen = select_candidates(robot, names, records)
    return robot if chosen == robot.candidates else replace(robot, candidates=chosen)


def _plane_frame(terrain: Terrain) -> Array | None:
    """Return normal and tangents of a plane as rows (3, 3); None for uneven ground."""
    if isinstance(terrain, Plane):
        return np.eye(3)[[2, 0, 1]]
    if isinstance(terrain, Slope):
        frame = terrain.parameters()["frame"]
        if frame.shape == (9,):
            return frame.reshape(3, 3)
    return None


def _initial_coordinates(
    robot: Robot, terrain: Terrain, controller: Any, records: list[WarningRecord]
) -> Array:
    """Compute the coordinates (nq,) from which `Simulation` would also start the robot.

    The robot stands on the ground and its loops are closed.
    """
    if isinstance(controller, Controller):
        q = np.array(controller.initial_coordinates(robot), float)
    else:
        q = np.array(robot.keyframes.get("stand", robot.neutral()), float)
    unit_quaternions.check_norms(robot, q)
    # a scene needs a law, but the initial position does not depend on it
    return cut_joints.close_and_place(Scene(robot, Moreau(), terrain, robot.candidates), q, records)
