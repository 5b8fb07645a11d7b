"""Tarsus as a physics backend of `unisim-core`, the contract of UniLab; the extra `unisim` has it.

    backend = TarsusBackend(SceneCfg(model_file="robot.xml"), num_envs=4096, sim_dt=0.002)
    backend.step_tensor(ctrl, 10)
    backend.get_state_views(("qpos", "qvel"))

State is laid out as the contract has it, which is as ours: qpos a base's position and quaternion
(w, x, y, z), then joints; qvel its velocity in world axes, its angular velocity in body axes, then
joint rates. What is not declared raises: `UnsupportedError` here, NotImplementedError from the
contract's own base class.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from unisim.backend.base import PhysicsStateLayout, PlayCapabilities, PreStepControlOutput
from unisim.dr.types import TensorResetRandomizationPayload
from unisim.scene import SceneCfg

from tarsus.dynamics.robot import Robot
from tarsus.errors import UnknownName
from tarsus.model.to_mjcf import to_mjcf
from tarsus.simulation import setting_groups
from tarsus.simulation.actuation import FILE, MOTOR
from tarsus.simulation.physical_range import MAX_POSITION, max_rates
from tarsus.simulation.simulation import Simulation
from tarsus.simulation.time_steps import DEFAULT_DT
from tarsus.terrain.plane import Plane
from tarsus_unisim import tables
from tarsus_unisim.bodies import BodyStates
from tarsus_unisim.drawn import DrawnAnew
from tarsus_unisim.model import UnsupportedError
from tarsus_unisim.scene import Gains, robot_of, with_servos
from tarsus_unisim.tensors import STATE
from tarsus_unisim.wrenches import Wrenches

LOG = logging.getLogger(__name__)
Array = NDArray[Any]
SHOWN = 8  # worlds that a warning names
UNIT = 1e-12  # how far from 1 the square of a quaternion's length may be


class TarsusBackend(DrawnAnew):
    """Many worlds of a robot behind the contract's methods.

    scene: a SceneCfg with a model file (MJCF, URDF or SDF) and perhaps a keyframe, a Robot, the
        name of a built-in robot, or a path
    sim_dt: s
    servos: kp (N m/rad) and kd (N m s/rad), each one number or one a motor: position servos in
        place of the motors; without them the file's actuators take the signals, else motors do,
        N m
    randomized: whether masses, centers of mass, armatures, damping and dry friction of joints may
        be drawn anew by world; gains of position servos and the ground's friction always may
    options: of a `Simulation`: law, stepper, terrain, threads, sensors, precision, ...; bodies that
        are named in `pushes` take forces
    Worlds start, and are reset to, the posture a `Simulation` starts from. One that diverges is put
    back there, logged as a warning and told in `diverged`; no other is touched. TarsusError for bad
    input, UnsupportedError for scenes of several parts.
    """

    def __init__(
        self,
        scene: SceneCfg | Robot | str | Path,
        num_envs: int = 1,
        sim_dt: float = DEFAULT_DT,
        *,
        servos: Gains | None = None,
        randomized: bool = False,
        **options: Any,
    ) -> None:
        # the robot, and what moves it
        for own, name in (("controller", "set_pre_step_control"), ("worlds", "num_envs")):
            if own in options:
                raise UnknownName(f"this backend has no option {own}; use {name}.", own)
        robot, keyframe = robot_of(scene)
        if servos is not None:
            robot = with_servos(robot, servos)
        served = robot.file_actuators and all(a.simulated for a in robot.file_actuators)
        given: dict[str, Any] = {"actuators": FILE if served else MOTOR}
        given |= {"keyframe": keyframe} if keyframe else {}
        if randomized:
            given["varied"] = tables.varied(robot)
        # the worlds
        given |= options | {"worlds": num_envs, "dt": sim_dt}
        self.simulation = Simulation(robot, **given)
        if self.simulation.plan.scene.mechanism.uncut is not None or (
            self.simulation.options.device != "cpu"
        ):
            raise UnsupportedError(
                "this backend supports only coordinates='minimal' and device='cpu'."
            )
        for notice in self.simulation.warnings:
            LOG.warning(notice)
        self._num_envs = self.simulation.worlds
        self._start = self._q.astype(float)
        self._fastest = max_rates(self.model, sim_dt)
        # what is told of them, and drawn anew
        self.bodies = BodyStates(self.model, num_envs, self.simulation.options.threads)
        self.tables = tables.ModelTables(self.simulation, self.position_servos)
        self.diverged = np.zeros(num_envs, bool)
        self.wrenches = Wrenches(self.simulation, self.bodies, self.tables)

    # state

    def _host_get_state(self, fields: tuple[str, ...] | str | None = None) -> Mapping[str, Array]:
        """qpos (num_envs, nq), qvel (num_envs, nv), ctrl: copies, in the simulation's precision."""
        asked = STATE[:2] if fields is None else (fields,) if isinstance(fields, str) else fields
        registers = {"qpos": "q", "qvel": "u", "ctrl": "action"}
        if unknown := sorted(set(asked) - set(STATE)):
            raise KeyError(f"there is no state named {unknown}; known are: {', '.join(STATE)}.")
        return {name: self.simulation.backend.get(registers[name]) for name in asked}

    def _host_get_base_pos(self) -> Array:
        return self._base(self._q, 0, 3)

    def _host_get_base_quat(self) -> Array:
        return self._base(self._q, 3, 7)

    def _host_get_base_lin_vel(self) -> Array:
        """World axes."""
        return self._base(self._u, 0, 3)

    def _host_get_base_ang_vel(self) -> Array:
        """Body axes."""
        return self._base(self._u, 3, 6)

    def _base(self, values: Array, first: int, last: int) -> Array:
        if not self.model.floating:
            raise UnsupportedError(f"{self.model.name!r} has no floating base.")
        return values[:, first:last]

    def _body_state(self, ids: Array) -> Array:
        """(num_envs, n, 13), world axes."""
        return self.bodies(ids, self._q, self._u)

    def _host_get_body_pos_w(self, body_ids: Array) -> Array:
        return self._body_state(body_ids)[..., :3]

    def _host_get_body_quat_w(self, body_ids: Array) -> Array:
        return self._body_state(body_ids)[..., 3:7]

    def _host_get_body_lin_vel_w(self, body_ids: Array) -> Array:
        """Of the link's origin."""
        return self._body_state(body_ids)[..., 7:10]

    def _host_get_body_ang_vel_w(self, body_ids: Array) -> Array:
        return self._body_state(body_ids)[..., 10:]

    def _host_reset(self, env_ids: Array | None = None) -> None:
        """All worlds, or those named, back to the start; what was drawn anew stays."""
        where = self._mask(range(self.num_envs) if env_ids is None else env_ids)
        self.simulation.reset(where)
        self.wrenches.clear(where)

    def _host_set_state(
        self,
        env_indices: Array,
        qpos: Array,
        qvel: Array,
        randomization: TensorResetRandomizationPayload | None = None,
    ) -> dict[str, Any] | None:
        """Worlds back to the start, then this state (n, nq), (n, nv), and numbers drawn anew."""
        # all of it checked, nothing written
        rows = np.asarray(env_indices)
        where = self._mask(rows)
        if len(rows) != where.sum():
            raise ValueError("env_indices must name each world once.")
        rows = rows.astype(np.intp)
        q, u = self._q.astype(float), self._u.astype(float)
        shapes = (len(rows), q.shape[1]), (len(rows), u.shape[1])
        if (np.shape(qpos), np.shape(qvel)) != shapes:
            raise ValueError(f"qpos and qvel must have shapes {shapes[0]} and {shapes[1]}.")
        q[rows], u[rows] = self._normalized(np.array(qpos, float)), qvel
        terms = randomization.requested_terms() if randomization else ()
        drawn = {term: getattr(randomization, term) for term in terms}
        new = self.tables.planned(rows, drawn)
        for name, value in (("q", q), ("u", u)):
            setting_groups.check_state(name, value, self.model, self.simulation.backend)
        # numbers, which may be refused, then state
        if len(rows):
            self.tables.write(rows, new)
            self._host_reset(rows)
            self.simulation.set(where=where, q=q, u=u)
        return None

    def _normalized(self, q: Array) -> Array:
        """Coordinates whose quaternions, if off by round-off, have length 1."""
        for body, at in zip(self.model.bodies, self.model.q_slices, strict=True):
            if body.joint.kind in ("free", "ball"):
                p = q[:, at.stop - 4 : at.stop]
                square = (p * p).sum(1, keepdims=True)
                off = (np.abs(square - 1) > UNIT) & (np.abs(square - 1) < 1e-2)
                p /= np.where(off, np.sqrt(square), 1.0)
        return q

    def _mask(self, ids: Any) -> NDArray[np.bool_]:
        """(num_envs,) of worlds by number; ValueError for others."""
        where = np.zeros(self.num_envs, bool)
        where[self._validate_env_ids(np.asarray(ids, dtype=None if len(ids) else int))] = True
        return where

    # steps

    def _host_step(self, ctrl: Array, nsteps: int = 1) -> dict[str, Any] | None:
        """Steps under control signals (num_envs, num_actuators) that are held; told are the worlds
        that diverged.
        """
        # the signals
        signals, backend = np.asarray(ctrl, float), self.simulation.backend
        shape = (self.num_envs, self.num_actuators)
        if signals.shape != shape or not np.isfinite(signals).all():
            raise ValueError(f"ctrl must be finite, of shape {shape}, not {signals.shape}.")
        if isinstance(nsteps, bool) or not isinstance(nsteps, int | np.integer) or nsteps < 1:
            raise ValueError(f"nsteps must be a whole number of at least 1, not {nsteps!r}.")
        # without anything to ask or push, in one call
        self.diverged = np.zeros(self.num_envs, bool)
        if self._pre_step_control_fn is None and self.wrenches.idle:
            backend.set("action", signals)
            backend.advance(int(nsteps))
            self._begin_again()
        # else step by step
        else:
            for _ in range(nsteps):
                told = self._asked(signals)
                also = None
                if told.body_ids is not None:
                    also = self.wrenches.of(told.body_ids, told.force, told.torque)
                if also is not None or not self.wrenches.idle:
                    self.wrenches.into_step(self._q, self._u, also)
                backend.set("action", told.ctrl)
                backend.advance()
                self._begin_again()
            self.wrenches.release()
        return {"diverged": self.diverged.copy()}

    def _asked(self, signals: Array) -> PreStepControlOutput:
        """What the function of `set_pre_step_control` makes of the signals."""
        self._pre_step_control_active = True
        try:
            told = self._convert_pre_step_control(signals)
        finally:
            self._pre_step_control_active = False
        if not np.isfinite(told.ctrl).all():
            raise ValueError("the pre-step control function must answer with finite signals.")
        return told

    def _begin_again(self) -> None:
        """Worlds that left the range in which robots move go back to the start."""
        with np.errstate(invalid="ignore"):
            fine = [np.abs(self._u) <= self._fastest, np.abs(self._q) <= MAX_POSITION]
        wild = np.asarray(~np.concatenate(fine, axis=1).all(axis=1))
        if not wild.any():
            return
        self.diverged |= wild
        self.simulation.reset(wild)
        worlds = np.flatnonzero(wild)
        shown = ", ".join(map(str, worlds[:SHOWN])) + (", ..." if len(worlds) > SHOWN else "")
        LOG.warning("%d of %d worlds diverged, begin again: %s", len(worlds), len(wild), shown)

    # playback

    def get_play_capabilities(self) -> PlayCapabilities:
        """Snapshots of the state, and a model in MJCF to draw them with; no renderer."""
        return PlayCapabilities(supports_physics_state_playback=True)

    def get_physics_state_layout(self) -> PhysicsStateLayout:
        return PhysicsStateLayout(nq=self.model.nq, nv=self.model.nu)

    def get_physics_state(self) -> Array:
        """(num_envs, 1 + nq + nv): time, s, qpos, qvel."""
        time = self.simulation.backend.get("steps").astype(float) * self.simulation.dt
        return np.concatenate([time, self._q, self._u], axis=1)

    def set_physics_state(self, state: Array) -> None:
        """As `get_physics_state` gave it: what a law or an actuator remembers begins anew."""
        told = self.get_physics_state_layout().split_state(np.asarray(state, float))
        self._host_set_state(np.arange(self.num_envs), told.qpos, told.qvel)
        steps = np.rint(told.time / self.simulation.dt)
        self.simulation.backend.set("steps", steps[:, None])

    def get_playback_model(self, env_index: int | None = None) -> str:
        """The path of an MJCF file of the robot, with the same qpos and qvel, in a folder of its
        own that `cleanup_scene_assets` takes away.
        """
        folder = getattr(self, "_scene_cleanup_handle", None)
        if folder is None:
            folder = self._scene_cleanup_handle = TemporaryDirectory(prefix="tarsus-")
        path = Path(folder.name) / "robot.xml"
        floor = isinstance(self.simulation.terrain, Plane)
        path.write_text(to_mjcf(self.model, floor=floor), encoding="utf-8")
        return str(path)

    def close(self) -> None:
        """Files that were made for playback go."""
        self.cleanup_scene_assets()
