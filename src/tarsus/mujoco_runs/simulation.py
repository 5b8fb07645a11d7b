"""A robot and its controller in closed loop on MuJoCo: what `Simulation` is for our own steps."""

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
from tarsus.model.self_collision import pairs
from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs import log
from tarsus.mujoco_runs.closed_loop import ClosedLoop, Feedback
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.recorder import Recorder
from tarsus.mujoco_runs.replay import Replay
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.uneven import model_on
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
LOOK = 0.25  # s simulated between two looks for a fault


class MujocoSimulation:
    """A robot simulated in MuJoCo by the controllers of Tarsus.

    robot, controller, dt: as for `Simulation`
    settings: MuJoCo's contact and integrator; None: as the robot's file says of its contacts
    terrain: a name or an object; all but planes and slopes are height fields there, within 25 m of
        the origin, on which `run` makes no logs
    contacts: names of the candidates that may touch, as for `Simulation`
    parameters: of the engine, the gait and the terrain, "NAME=VALUE" or (name, value) each

    Only contacts of the candidates with the ground are simulated. The robot starts where
    `Simulation` starts it. TarsusError in one sentence for what MuJoCo does not do.
    """

    def __init__(
        self,
        robot: Robot | str,
        settings: MujocoSettings | None = None,
        terrain: Terrain | str = "plane",
        controller: Controller | Feedback | str | None = None,
        dt: float = time_steps.DEFAULT_DT,
        contacts: str | Sequence[str] | None = None,
        parameters: Sequence[ParameterSetting] = (),
    ) -> None:
        # what is simulated
        self.warnings: list[WarningRecord] = []
        self.dt, whole = time_steps.check_time_step(dt), resolve.robot(robot)
        self.warnings += time_steps.file_timestep_warnings(self.dt, whole) + _unmet(whole)
        prepared = default_controller.prepare(whole, controller, self.dt, self.warnings)
        if settings is None:
            replaced = assigned_names(parameters, "engine", MujocoSettings())
            settings = MujocoSettings.of_file(whole, self.warnings, None, replaced)
        parts = {"engine": settings, "gait": prepared[1]}
        parts = set_parameters(parts | {"terrain": resolve.terrain(terrain)}, parameters)
        self.settings, self.controller, self.terrain = parts.values()
        self.robot = _touching(prepared[0], self.terrain, contacts, self.warnings)
        self.control = ClosedLoop(self.robot, self.controller, self.dt)

        # the same in MuJoCo, on its ground
        mj, place = mujoco(), _frame(self.terrain)
        self.uneven = place is None
        place = np.eye(3)[[2, 0, 1]] if place is None else place
        text = to_mjcf(self.robot, dt=self.dt, friction=self.settings.coefficient)
        flat = not self.uneven
        self.model = mj.MjModel.from_xml_string(text) if flat else model_on(self.terrain, text)
        self.settings.apply(self.model)
        self.model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_AUTORESET
        self.model.geom_quat[0] = quaternion_from_rotation(place[[1, 2, 0]].T)
        self.model.geom_sameframe[0] = mj.mjtSameFrame.mjSAMEFRAME_NONE  # or it would be ignored
        self.normal, self._worlds = place[0], MujocoWorlds([self.model])
        self.data = self._worlds.data[0]
        self._start = _start(self.robot, self.terrain, self.controller, self.warnings)
        self.reset()

    def __repr__(self) -> str:
        parts = f"{self.robot.name}: MuJoCo, controller {name_of(self.controller)}"
        return f"MujocoSimulation({parts}, dt {self.dt:g} s, t = {self.time:.6g} s)"

    @property
    def stepper(self) -> MujocoSettings:
        """What a summary asks about the integrator."""
        return self.settings

    @property
    def q(self) -> Array:
        """Coordinates (nq,): a copy."""
        return np.array(self.data.qpos)

    @property
    def u(self) -> Array:
        """Velocities (nu,): a copy."""
        return np.array(self.data.qvel)

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self._worlds.steps * self.dt

    def set(self, command: dict[str, float] | None = None, q: ArrayLike | None = None) -> None:
        """Tell the gait its commands, such as {"speed": 0.5}, or put the robot at q (nq,)."""
        if command is not None:
            self.control.tell(command)
        if q is not None:
            given = np.asarray(q, float)
            if given.shape != self.data.qpos.shape or not np.isfinite(given).all():
                raise InvalidValue(
                    f"q must be {self.data.qpos.size} finite numbers, one per coordinate.", "q"
                )
            unit_quaternions.check_norms(self.robot, given)
            self.data.qpos[:] = given
            mujoco().mj_forward(self.model, self.data)

    def reset(self) -> None:
        """Back to the start; commands stay."""
        mujoco().mj_resetData(self.model, self.data)
        self.data.qpos[:] = self._start
        mujoco().mj_forward(self.model, self.data)
        self._worlds.steps = 0
        self.control.reset()

    def step(self) -> None:
        """One step of dt."""
        self._worlds.advance(1, self._act)

    def _act(self) -> None:
        """Write the torques of the controller."""
        self.data.ctrl[:] = self.control(self.time, self.data.qpos, self.data.qvel)

    def advance(self, seconds: float) -> None:
        """Run without a log, up to a state that is not finite."""
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
        """Run and return the log, with the variables of a log of ours and `passive_force`.

        progress: called with the seconds done
        to: a file (.nc) that the log is written to as well, in parts while the run goes on
        Raises Diverged and Interrupted, with the log up to there, as `Simulation.run` does.
        """
        self._require_plane()
        # step by step, up to a fault or Ctrl-C
        steps, t0, wall = time_steps.step_count(seconds, self.dt), self.time, 0.0
        look = max(1, round(LOOK / self.dt))
        geoms = range(1, 1 + len(self.robot.candidates))  # the floor is geom 0
        recorder, extra, fault, checked = Recorder(self.model, self.data, geoms), [], None, 0

        def recorded() -> log.Recorded:
            return log.Recorded(recorder.arrays(), np.array(extra), t0, wall)

        def part(first: int, last: int) -> xr.Dataset:
            made = log.dataset(self._setup(), recorded().first(last))
            return mark_partial(made.isel(time=slice(first, None)))

        with PartialLog(to, part) as parts:
            with catch_interrupt() as interrupted:
                while len(extra) < steps and fault is None and not interrupted():
                    began = perf_counter()
                    self.step()
                    wall += perf_counter() - began
                    recorder.take()
                    extra.append(self._extra())
                    if len(extra) % look and np.isfinite(self.data.qvel.sum()):
                        continue
                    fault, checked = self._fault(recorder, checked, t0), len(extra)
                    if fault is None:
                        parts.look(checked)
                    if progress:
                        progress(len(extra) * self.dt)
                stopped = interrupted() and len(extra) < steps
            # the log up to there
            fault = fault or self._fault(recorder, checked, t0)
            good = recorded() if fault is None else recorded().first(fault.good_steps)
            result = log.dataset(self._setup(), good) if good.steps else None
            message = "" if fault is None else f"{fault.message}; use a smaller dt."
            if message and result is not None:
                result.attrs["warnings"] = "\n".join([*self.warnings, message])
            parts.finish(result)
        if message:
            raise Diverged(message, result, fault.joint if fault else "")
        if stopped:
            raise Interrupted(f"interrupted at t = {self.time:.4g} s.", result)
        assert result is not None
        return result

    def _require_plane(self) -> None:
        """TarsusError on uneven ground, whose contacts a log does not tell."""
        if self.uneven:
            raise Unsupported(
                "runs in MuJoCo can be logged only on one plane: choose the terrain 'plane' or"
                " 'slope'.",
                "terrain",
            )

    def _setup(self) -> log.MujocoSetup:
        """What is run."""
        parts = (self.robot, self.settings, self.terrain, self.controller, self.dt, self.normal)
        return log.MujocoSetup(*parts, self.control.told(), self.warnings)

    def replay(self, run: xr.Dataset) -> Replay:
        """A run from the start, to be made again from its torques."""
        start = physics_states(self.model, self._start[None])
        still = np.zeros((run.sizes["time"], 0))  # of a robot without motors
        torques = np.array(run["tau"].values) if "tau" in run else still
        return Replay(self.model, start, torques)

    def _extra(self) -> tuple[float, ...]:
        """Torques of the last step, N m, its solver's iterations, and whether they were enough."""
        iterations = self.data.solver_niter[0]
        return (*self.data.ctrl, iterations, iterations < self.model.opt.iterations)

    def _fault(self, recorder: Recorder, checked: int, t0: float) -> Fault | None:
        """The first step that diverged after those already checked."""
        q, u = recorder.states(1 + checked)
        if not len(q):
            return None
        return find_fault(self.robot, {"q": q[:, None], "u": u[:, None]}, checked, t0, self.dt)


def _unmet(robot: Robot) -> list[WarningRecord]:
    """A notice for the contacts that a file asks for between its own bodies."""
    count = len(pairs(robot))
    if not count:
        return []
    text = (
        f"runs in MuJoCo have contacts with the ground only: bodies of {robot.name!r} pass through"
        f" each other, although its file lets {count} pair{'s' * (count > 1)} of shapes collide."
    )
    return [WarningRecord(text, "own-contacts-ignored", robot.name)]


def _touching(
    robot: Robot, terrain: Terrain, names: str | Sequence[str] | None, notices: list[WarningRecord]
) -> Robot:
    """The robot with the candidates that may touch."""
    asked = default_contacts(robot, terrain.flat) if names is None else names
    chosen = select_candidates(robot, asked, notices)
    return robot if chosen == robot.candidates else replace(robot, candidates=chosen)


def _frame(terrain: Terrain) -> Array | None:
    """Rows (3, 3): normal and tangents of a plane; None for ground that is none."""
    if isinstance(terrain, Plane):
        return np.eye(3)[[2, 0, 1]]
    if isinstance(terrain, Slope):
        frame = terrain.parameters()["frame"]
        if frame.shape == (9,):
            return frame.reshape(3, 3)
    return None


def _start(robot: Robot, terrain: Terrain, controller: Any, notices: list[WarningRecord]) -> Array:
    """Coordinates (nq,) of the robot standing on the ground, its loops closed, as our own
    simulation starts it.
    """
    if isinstance(controller, Controller):
        q = np.array(controller.initial_coordinates(robot), float)
    else:
        q = np.array(robot.keyframes.get("stand", robot.neutral()), float)
    unit_quaternions.check_norms(robot, q)
    # a scene has a law; where the robot stands does not depend on it
    return cut_joints.close_and_place(Scene(robot, Moreau(), terrain, robot.candidates), q, notices)
