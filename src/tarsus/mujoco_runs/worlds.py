"""Loops that step MuJoCo; all code that runs MuJoCo uses them.

`MujocoWorlds` steps from Python, with hooks before and after every step. `roll` steps many worlds
in C, with control signals known in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.mujoco_runs.library import mujoco, rollout_module

Array = NDArray[np.float64]
Hook = Callable[[], None]


class MujocoWorlds:
    """States of MuJoCo models side by side.

    Parameters
    ----------
    models
        MuJoCo's `MjModel` of each world; worlds may share one.
    q, u
        `qpos` and `qvel` at the start, one row per world; by default those of the models.

    Attributes
    ----------
    models, data
        `MjModel` and `MjData` of each world.
    steps
        Number of steps made so far.
    """

    def __init__(
        self, models: Sequence[Any], q: ArrayLike | None = None, u: ArrayLike | None = None
    ) -> None:
        self.models, self.steps = tuple(models), 0
        self.data = [mujoco().MjData(model) for model in self.models]
        self.put(q, u)

    def put(
        self,
        q: ArrayLike | None = None,
        u: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> None:
        """Write `qpos` or `qvel`, one row per world; nothing is computed from them yet.

        Parameters
        ----------
        q, u
            Values, shape (worlds, nq) and (worlds, nv).
        where
            Mask of the worlds to write, shape (worlds,); by default all.
        """
        written = np.broadcast_to(True if where is None else np.asarray(where), len(self.data))
        for name, values in (("qpos", q), ("qvel", u)):
            if values is not None:
                rows = np.asarray(values, float)
                for k in np.flatnonzero(written):
                    getattr(self.data[k], name)[:] = rows[k]

    def forward(self) -> None:
        """Compute forces and contacts of the current states (`mj_forward`)."""
        for model, data in zip(self.models, self.data, strict=True):
            mujoco().mj_forward(model, data)

    def state(self) -> tuple[Array, Array]:
        """Return `qpos` (worlds, nq) and `qvel` (worlds, nv)."""
        return np.array([d.qpos for d in self.data]), np.array([d.qvel for d in self.data])

    def advance(self, steps: int, before: Hook | None = None, after: Hook | None = None) -> None:
        """Step all worlds; without hooks this is a loop in C.

        Parameters
        ----------
        steps
            Number of steps.
        before, after
            Functions called before and after each step of all worlds, to write to `data` and to
            read from it.
        """
        step = mujoco().mj_step
        if before is None and after is None:
            for model, data in zip(self.models, self.data, strict=True):
                step(model, data, steps)
            self.steps += steps
            return
        for _ in range(steps):
            if before is not None:
                before()
            for model, data in zip(self.models, self.data, strict=True):
                step(model, data)
            self.steps += 1
            if after is not None:
                after()


def physics_states(model: Any, q: ArrayLike, u: ArrayLike = 0.0) -> Array:
    """Read MuJoCo's full physics states (worlds, size) at time 0, for `roll`.

    Parameters
    ----------
    model
        MuJoCo's `MjModel`.
    q, u
        `qpos`, shape (worlds, nq), and `qvel`, a number or shape (worlds, nv).
    """
    mj, rows = mujoco(), np.asarray(q, float)
    data, kind = mj.MjData(model), mj.mjtState.mjSTATE_FULLPHYSICS
    states = np.empty((len(rows), mj.mj_stateSize(model, kind)))
    velocities = np.broadcast_to(np.asarray(u, float), (len(rows), model.nv))
    for k, state in enumerate(states):
        data.qpos[:], data.qvel[:] = rows[k], velocities[k]
        mj.mj_forward(model, data)
        mj.mj_getState(model, data, state, kind)
    return states


def roll(
    model: Any,
    data: Any,
    states: Array,
    steps: int,
    control: Array | None = None,
    pool: Any = None,
) -> Array:
    """Step many worlds in C (`mujoco.rollout`).

    Parameters
    ----------
    model
        MuJoCo's `MjModel` of all worlds.
    data
        An `MjData` to work with, or a list of one per thread.
    states
        Full physics states at the start, shape (worlds, size).
    steps
        Number of steps.
    control
        Control signals, shape (worlds, steps, actuators); zero by default.
    pool
        A `mujoco.rollout.Rollout` whose threads are reused; by default new threads are started.

    Returns
    -------
    Array
        Full physics states after every step, shape (worlds, steps, size).
    """
    return (pool or rollout_module()).rollout(model, data, states, control, nstep=steps)[0]
