"""Many worlds behind the interface of `mujoco.batch.Batch`: another import, and the loop stays.

State fields are live arrays: what is written holds at the next call, what a call computed stands in
them. Parameters of the contact law and all else are set on `WorldBatch.simulation`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, unknown_name
from tarsus.simulation import resolve
from tarsus.simulation.actuation import FILE, MOTOR
from tarsus.simulation.simulation import Simulation

Array = NDArray[np.float64]
STEP = 0.002  # s, MuJoCo's default
FIELDS = ("qpos", "qvel", "ctrl", "time")


class WorldBatch:
    """nsim worlds of a robot on nthread threads (0: all processors).

    model: a path to an MJCF, URDF or SDF file, the name of a built-in robot, or a Robot; an MjModel
        is compiled, and its file is what is needed here
    options: of a `Simulation`: law, stepper, terrain, dt (0.002 s, as MuJoCo's default), ...
    The control signals are those of the file's actuators, if it has any that are simulated, else
    torques. Worlds start, and are reset to, the posture a `Simulation` starts from.
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
        robot = resolve.robot(str(model) if isinstance(model, Path) else model)
        served = robot.file_actuators and all(a.simulated for a in robot.file_actuators)
        given = {"dt": STEP, "actuators": FILE if served else MOTOR} | options
        threads = nthread or os.cpu_count() or 1
        self.simulation = Simulation(robot, worlds=nsim, threads=threads, **given)
        self.nsim, self.nthread = nsim, threads
        signals = len(robot.file_actuators) if given["actuators"] == FILE else len(robot.actuators)
        self._live: dict[str, Array] = {
            "qpos": self._rows(self.simulation.q),
            "qvel": self._rows(self.simulation.u),
            "ctrl": np.zeros((nsim, signals)),
            "time": np.zeros(nsim),
        }
        self._kept = {name: self._live[name].copy() for name in ("qpos", "qvel")}

    def bind(self, name: str) -> Array:
        """The live array (nsim, ...) of qpos, qvel, ctrl (nsim, actuators) or time (nsim,), s."""
        if name not in FIELDS:
            raise unknown_name("field of a batch", name, FIELDS)
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
        """Advance all worlds, or those of `ids` (a mask or indices), by nstep steps."""
        self._written()
        others = ~self._mask(ids)
        before = self.simulation.state() if others.any() else None
        signals = self.ctrl if self.nsim > 1 else self.ctrl[0]
        for k in range(nstep):
            self.simulation.step(signals if k == 0 else None)  # they are held
        self._live["time"][~others] += nstep * self.simulation.dt
        if before is not None:
            after = self.simulation.state()
            after[others] = before[others]
            self.simulation.restore(after)
        self._read()

    def reset(self, ids: ArrayLike | None = None) -> None:
        """All worlds, or those of `ids`, back to the start, without control signals."""
        self._written()
        chosen = self._mask(ids)
        self.simulation.reset(where=chosen)
        self._live["ctrl"][chosen] = 0.0
        self._live["time"][chosen] = 0.0
        self._read()

    def _mask(self, ids: ArrayLike | None) -> NDArray[np.bool_]:
        """Which worlds (nsim,) are meant."""
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

    def _written(self) -> None:
        """Take over what was written into the live arrays since the last call."""
        for name, field in (("q", "qpos"), ("u", "qvel")):
            if not np.array_equal(self._live[field], self._kept[field]):
                state: Any = {name: self._live[field] if self.nsim > 1 else self._live[field][0]}
                self.simulation.set(**state)

    def _read(self) -> None:
        """The state into the live arrays."""
        for field, values in (("qpos", self.simulation.q), ("qvel", self.simulation.u)):
            self._live[field][:] = self._rows(values)
            self._kept[field][:] = self._live[field]

    def _rows(self, values: Array) -> Array:
        """(nsim, n), also of one world."""
        return np.array(values, dtype=float).reshape(self.nsim, -1)
