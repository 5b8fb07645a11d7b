"""Many worlds of Tarsus behind the interface of `mujoco.batch.Batch`.

A loop written for MuJoCo needs only another import. State fields are live arrays: values written to
them take effect at the next call, and every call updates them. Parameters of the contact law and
all other options are set on `WorldBatch.simulation`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.simulation import resolve
from tarsus.simulation.actuation import FILE, MOTOR
from tarsus.simulation.simulation import Simulation

Array = NDArray[np.float64]
DEFAULT_DT = 0.002  # s, MuJoCo's default
FIELDS = ("qpos", "qvel", "ctrl", "time")


class WorldBatch:
    """Worlds of one robot that are stepped together.

    Control signals are those of the file's actuators if all of them are simulated, and torques
    otherwise. Worlds start from, and are reset to, the posture that a `Simulation` starts from.

    Parameters
    ----------
    model
        Path to an MJCF, URDF or SDF file, name of a built-in robot, or a Robot. An MjModel is
        rejected because it is compiled; pass its file.
    nsim
        Number of worlds.
    nthread
        Number of threads; 0 for one per processor.
    **options
        Options of `Simulation`: law, stepper, terrain, dt (0.002 s by default, as in MuJoCo), ...
    """

    def __init__(
        self, model: Robot | str | Path, nsim: int, nthread: int = 0, **options: Any
    ) -> None:
        if not isinstance(model, Robot | str | Path):
            raise InvalidValue(
                "the model of a WorldBatch must be a robot or the path to its file, not a"
                f" {type(model).__name__}.",
                "model",
            )
        robot = resolve.resolve_robot(str(model) if isinstance(model, Path) else model)
        supported = robot.file_actuators and all(a.is_simulated for a in robot.file_actuators)
        given = {"dt": DEFAULT_DT, "actuators": FILE if supported else MOTOR} | options
        threads = nthread or os.cpu_count() or 1
        self.simulation = Simulation(robot, worlds=nsim, threads=threads, **given)
        self.nsim, self.nthread = nsim, threads
        signals = len(robot.file_actuators) if given["actuators"] == FILE else len(robot.actuators)
        self._live: dict[str, Array] = {
            "qpos": self._by_world(self.simulation.q),
            "qvel": self._by_world(self.simulation.u),
            "ctrl": np.zeros((nsim, signals)),
            "time": np.zeros(nsim),
        }
        self._last_read = {name: self._live[name].copy() for name in ("qpos", "qvel")}

    def bind(self, name: str) -> Array:
        """Create the live array of a state field.

        Parameters
        ----------
        name
            "qpos" (nsim, nq), "qvel" (nsim, nu), "ctrl" (nsim, actuators), or "time" (nsim,) in s.
        """
        if name not in FIELDS:
            raise unknown_name_error("field of a batch", name, FIELDS)
        return self._live[name]

    @property
    def qpos(self) -> Array:
        """Coordinates (nsim, nq), live."""
        return self._live["qpos"]

    @property
    def qvel(self) -> Array:
        """Velocities (nsim, nu), live."""
        return self._live["qvel"]

    @property
    def ctrl(self) -> Array:
        """Control signals (nsim, actuators), live."""
        return self._live["ctrl"]

    def step(self, ids: ArrayLike | None = None, nstep: int = 1) -> None:
        """Advance all worlds, or those selected by `ids` (a mask or indices), by nstep steps."""
        self._apply_changes()
        others = ~self._mask(ids)
        before = self.simulation.state() if others.any() else None
        signals = self.ctrl if self.nsim > 1 else self.ctrl[0]
        for k in range(nstep):
            self.simulation.step(signals if k == 0 else None)  # later steps reuse the signals
        self._live["time"][~others] += nstep * self.simulation.dt
        if before is not None:
            after = self.simulation.state()
            after[others] = before[others]
            self.simulation.restore(after)
        self._update_arrays()

    def reset(self, ids: ArrayLike | None = None) -> None:
        """Reset all worlds, or those selected by `ids`, and zero their control signals."""
        self._apply_changes()
        chosen = self._mask(ids)
        self.simulation.reset(where=chosen)
        self._live["ctrl"][chosen] = 0.0
        self._live["time"][chosen] = 0.0
        self._update_arrays()

    def _mask(self, ids: ArrayLike | None) -> NDArray[np.bool_]:
        """Convert `ids` to a mask of worlds (nsim,)."""
        if ids is None:
            return np.ones(self.nsim, bool)
        given = np.asarray(ids)
        if given.dtype == bool and given.shape == (self.nsim,):
            return given
        known = given.dtype.kind in "iu" and ((given >= 0) & (given < self.nsim)).all()
        if not known:
            raise InvalidValue(
                f"ids must be a mask of shape ({self.nsim},) or indices from 0 to {self.nsim - 1}.",
                "ids",
            )
        mask = np.zeros(self.nsim, bool)
        mask[given] = True
        return mask

    def _apply_changes(self) -> None:
        """Set the state to what the caller wrote into the live arrays since the last call."""
        for name, field in (("q", "qpos"), ("u", "qvel")):
            if not np.array_equal(self._live[field], self._last_read[field]):
                state: Any = {name: self._live[field] if self.nsim > 1 else self._live[field][0]}
                self.simulation.set(**state)

    def _update_arrays(self) -> None:
        """Copy the state into the live arrays."""
        for field, values in (("qpos", self.simulation.q), ("qvel", self.simulation.u)):
            self._live[field][:] = self._by_world(values)
            self._last_read[field][:] = self._live[field]

    def _by_world(self, values: Array) -> Array:
        """Copy values to the shape (nsim, n), which a single world lacks."""
        return np.array(values, dtype=float).reshape(self.nsim, -1)
