"""Physics backend of `unisim-core`, the interface of UniLab; the extra `unisim` installs it.

    backend = TarsusBackend(SceneCfg(model_file="robot.xml"), num_envs=4096, sim_dt=0.002)
    backend.step_tensor(ctrl, 10)
    backend.get_state_views(("qpos", "qvel"))

The state has the layout of the interface, which is also that of Tarsus. qpos holds the position and
quaternion (w, x, y, z) of the base, then the joints. qvel holds the linear velocity of the base in
world axes, its angular velocity in body axes, then the joint rates. Capabilities that are not
declared raise `UnsupportedError` here, or NotImplementedError in the base class of the interface.
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
from tarsus_unisim.model import UnsupportedError
from tarsus_unisim.randomization import Randomization
from tarsus_unisim.scene import Gains, load_robot, with_servos
from tarsus_unisim.tensors import STATE
from tarsus_unisim.wrenches import Wrenches

LOG = logging.getLogger(__name__)
Array = NDArray[Any]
MAX_LISTED = 8  # worlds listed in a warning
NORM_TOLERANCE = 1e-12  # of the squared norm of a quaternion


class TarsusBackend(Randomization):
    """Many worlds of a robot behind the methods of the interface.

    Worlds start in, and are reset to, the posture from which a `Simulation` starts. A world that
    diverges is reset, logged as a warning and reported in `diverged`; the others are not affected.

    Parameters
    ----------
    scene
        A SceneCfg with a model file (MJCF, URDF or SDF) and optionally a keyframe, a Robot, the
        name of a built-in robot, or a path.
    num_envs
        Number of worlds.
    sim_dt
        Step size, in s.
    servos
        kp (N m/rad) and kd (N m s/rad), each one number or one per motor: position servos replace
        the motors. Without them the signals go to the actuators of the file, or else are motor
        torques, in N m.
    randomized
        Whether masses, centers of mass, and armature, damping and dry friction of joints can be
        randomized by world. The gains of position servos and the friction of the ground always can.
    **options
        Options of a `Simulation`: law, stepper, terrain, threads, sensors, precision, ... Bodies
        listed in `pushes` accept forces.

    Raises
    ------
    TarsusError
        For bad input.
    UnsupportedError
        For scenes of several parts.
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
        # robot and actuators
        for option, name in (("controller", "set_pre_step_control"), ("worlds", "num_envs")):
            if option in options:
                raise UnknownName(f"this backend has no option {option}; use {name}.", option)
        robot, keyframe = load_robot(scene)
        if servos is not None:
            robot = with_servos(robot, servos)
        uses_file = robot.file_actuators and all(a.is_simulated for a in robot.file_actuators)
        given: dict[str, Any] = {"actuators": FILE if uses_file else MOTOR}
        given |= {"keyframe": keyframe} if keyframe else {}
        if randomized:
            given["varied"] = tables.varied_option(robot)
        # worlds
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
        self._max_rates = max_rates(self.model, sim_dt)
        # body states, and tables for randomization
        self.bodies = BodyStates(self.model, num_envs, self.simulation.options.threads)
        self.tables = tables.ModelTables(self.simulation, self.position_servos)
        self.diverged = np.zeros(num_envs, bool)
        self.wrenches = Wrenches(self.simulation, self.bodies, self.tables)

    # state

    def _host_get_state(self, fields: tuple[str, ...] | str | None = None) -> Mapping[str, Array]:
        """Return copies of qpos (num_envs, nq), qvel (num_envs, nv) and ctrl."""
        names = STATE[:2] if fields is None else (fields,) if isinstance(fields, str) else fields
        registers = {"qpos": "q", "qvel": "u", "ctrl": "action"}
        if unknown := sorted(set(names) - set(STATE)):
            raise KeyError(f"unknown state {', '.join(unknown)}: choose from {', '.join(STATE)}.")
        return {name: self.simulation.backend.get(registers[name]) for name in names}

    def _host_get_base_pos(self) -> Array:
        return self._base(self._q, 0, 3)

    def _host_get_base_quat(self) -> Array:
        return self._base(self._q, 3, 7)

    def _host_get_base_lin_vel(self) -> Array:
        """Return the linear velocity of the base, world axes."""
        return self._base(self._u, 0, 3)

    def _host_get_base_ang_vel(self) -> Array:
        """Return the angular velocity of the base, body axes."""
        return self._base(self._u, 3, 6)

    def _base(self, values: Array, first: int, last: int) -> Array:
        if not self.model.floating:
            raise UnsupportedError(f"{self.model.name!r} has no floating base.")
        return values[:, first:last]

    def _body_state(self, ids: Array) -> Array:
        """Return the states of bodies, shape (num_envs, n, 13), world axes."""
        return self.bodies(ids, self._q, self._u)

    def _host_get_body_pos_w(self, body_ids: Array) -> Array:
        return self._body_state(body_ids)[..., :3]

    def _host_get_body_quat_w(self, body_ids: Array) -> Array:
        return self._body_state(body_ids)[..., 3:7]

    def _host_get_body_lin_vel_w(self, body_ids: Array) -> Array:
        """Return the velocities of the links' origins."""
        return self._body_state(body_ids)[..., 7:10]

    def _host_get_body_ang_vel_w(self, body_ids: Array) -> Array:
        return self._body_state(body_ids)[..., 10:]

    def _host_reset(self, env_ids: Array | None = None) -> None:
        """Reset all worlds, or those listed; randomized numbers stay."""
        mask = self._mask(range(self.num_envs) if env_ids is None else env_ids)
        self.simulation.reset(mask)
        self.wrenches.clear(mask)

    def _host_set_state(
        self,
        env_indices: Array,
        qpos: Array,
        qvel: Array,
        randomization: TensorResetRandomizationPayload | None = None,
    ) -> dict[str, Any] | None:
        """Reset worlds, then set their state (n, nq), (n, nv) and randomized numbers."""
        # check everything before writing anything
        rows = np.asarray(env_indices)
        where = self._mask(rows)
        if len(rows) != where.sum():
            raise ValueError("env_indices must list each world at most once.")
        rows = rows.astype(np.intp)
        q, u = self._q.astype(float), self._u.astype(float)
        shapes = (len(rows), q.shape[1]), (len(rows), u.shape[1])
        if (np.shape(qpos), np.shape(qvel)) != shapes:
            raise ValueError(f"qpos and qvel must have shapes {shapes[0]} and {shapes[1]}.")
        q[rows], u[rows] = self._normalize(np.array(qpos, float)), qvel
        terms = randomization.requested_terms() if randomization else ()
        values = {term: getattr(randomization, term) for term in terms}
        new = self.tables.check(rows, values)
        for name, value in (("q", q), ("u", u)):
            setting_groups.check_state(name, value, self.model, self.simulation.backend)
        # randomized numbers first, because these may be rejected, then the state
        if len(rows):
            self.tables.write(rows, new)
            self._host_reset(rows)
            self.simulation.set(where=where, q=q, u=u)
        return None

    def _normalize(self, q: Array) -> Array:
        """Normalize quaternions that deviate from unit length by round-off."""
        for body, columns in zip(self.model.bodies, self.model.q_slices, strict=True):
            if body.joint.kind in ("free", "ball"):
                p = q[:, columns.stop - 4 : columns.stop]
                square = (p * p).sum(1, keepdims=True)
                deviates = (np.abs(square - 1) > NORM_TOLERANCE) & (np.abs(square - 1) < 1e-2)
                p /= np.where(deviates, np.sqrt(square), 1.0)
        return q

    def _mask(self, ids: Any) -> NDArray[np.bool_]:
        """Return a mask, shape (num_envs,), of worlds by index; raise ValueError for others."""
        mask = np.zeros(self.num_envs, bool)
        mask[self._validate_env_ids(np.asarray(ids, dtype=None if len(ids) else int))] = True
        return mask

    # steps

    def _host_step(self, ctrl: Array, nsteps: int = 1) -> dict[str, Any] | None:
        """Advance with constant control signals (num_envs, num_actuators).

        The result reports the worlds that diverged.
        """
        # check the signals
        signals, backend = np.asarray(ctrl, float), self.simulation.backend
        shape = (self.num_envs, self.num_actuators)
        if signals.shape != shape or not np.isfinite(signals).all():
            raise ValueError(f"ctrl must be finite, of shape {shape}, not {signals.shape}.")
        if isinstance(nsteps, bool) or not isinstance(nsteps, int | np.integer) or nsteps < 1:
            raise ValueError(f"nsteps must be a whole number of at least 1, not {nsteps!r}.")
        # in one call, if there is no control function and no force
        self.diverged = np.zeros(self.num_envs, bool)
        if self._pre_step_control_fn is None and self.wrenches.idle:
            backend.set("action", signals)
            backend.advance(int(nsteps))
            self._reset_diverged()
        # else step by step
        else:
            for _ in range(nsteps):
                output = self._pre_step_output(signals)
                extra = None
                if output.body_ids is not None:
                    extra = self.wrenches.wrenches_of(output.body_ids, output.force, output.torque)
                if extra is not None or not self.wrenches.idle:
                    self.wrenches.write(self._q, self._u, extra)
                backend.set("action", output.ctrl)
                backend.advance()
                self._reset_diverged()
            self.wrenches.release()
        return {"diverged": self.diverged.copy()}

    def _pre_step_output(self, signals: Array) -> PreStepControlOutput:
        """Return the output of the function set with `set_pre_step_control`."""
        self._pre_step_control_active = True
        try:
            output = self._convert_pre_step_control(signals)
        finally:
            self._pre_step_control_active = False
        if not np.isfinite(output.ctrl).all():
            raise ValueError("the pre-step control function must return finite signals.")
        return output

    def _reset_diverged(self) -> None:
        """Reset worlds that left the physical range."""
        with np.errstate(invalid="ignore"):
            within_range = [np.abs(self._u) <= self._max_rates, np.abs(self._q) <= MAX_POSITION]
        diverged = np.asarray(~np.concatenate(within_range, axis=1).all(axis=1))
        if not diverged.any():
            return
        self.diverged |= diverged
        self.simulation.reset(diverged)
        worlds = np.flatnonzero(diverged)
        shown = ", ".join(map(str, worlds[:MAX_LISTED])) + (
            ", ..." if len(worlds) > MAX_LISTED else ""
        )
        LOG.warning(
            "%d of %d worlds diverged and were reset: %s", len(worlds), len(diverged), shown
        )

    # playback

    def get_play_capabilities(self) -> PlayCapabilities:
        """Return the capabilities: snapshots of the state and an MJCF model, but no renderer."""
        return PlayCapabilities(supports_physics_state_playback=True)

    def get_physics_state_layout(self) -> PhysicsStateLayout:
        return PhysicsStateLayout(nq=self.model.nq, nv=self.model.nu)

    def get_physics_state(self) -> Array:
        """Return time (s), qpos and qvel, shape (num_envs, 1 + nq + nv)."""
        time = self.simulation.backend.get("steps").astype(float) * self.simulation.dt
        return np.concatenate([time, self._q, self._u], axis=1)

    def set_physics_state(self, state: Array) -> None:
        """Set a state from `get_physics_state`; the memory of laws and actuators is reset."""
        parts = self.get_physics_state_layout().split_state(np.asarray(state, float))
        self._host_set_state(np.arange(self.num_envs), parts.qpos, parts.qvel)
        steps = np.rint(parts.time / self.simulation.dt)
        self.simulation.backend.set("steps", steps[:, None])

    def get_playback_model(self, env_index: int | None = None) -> str:
        """Return the path of an MJCF file of the robot, with the same qpos and qvel.

        It is in its own folder, which `cleanup_scene_assets` removes.
        """
        folder = getattr(self, "_scene_cleanup_handle", None)
        if folder is None:
            folder = self._scene_cleanup_handle = TemporaryDirectory(prefix="tarsus-")
        path = Path(folder.name) / "robot.xml"
        floor = isinstance(self.simulation.terrain, Plane)
        path.write_text(to_mjcf(self.model, floor=floor), encoding="utf-8")
        return str(path)

    def close(self) -> None:
        """Remove files that were written for playback."""
        self.cleanup_scene_assets()
