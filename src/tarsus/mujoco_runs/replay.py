"""Runs repeated in MuJoCo from recorded control signals, for benchmarks to time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.mujoco_runs.library import batch_module, mujoco
from tarsus.mujoco_runs.worlds import roll

Array = NDArray[np.float64]
Clock = Callable[[], float]


@dataclass(frozen=True, eq=False)
class Replay:
    """Model, start states of its worlds, and control signals of all steps."""

    model: Any
    """MuJoCo's `MjModel`."""
    start: Array
    """MuJoCo's full physics states at the start, shape (worlds, size)."""
    control: Array
    """Control signals of every step, the same in all worlds, shape (steps, actuators)."""

    def rollout(self, worlds: int = 1, clock: Clock = perf_counter) -> float:
        """Time `mujoco.rollout` on one thread; return the seconds per step and world.

        Parameters
        ----------
        worlds
            Number of worlds, the first of `start`.
        clock
            Clock that is read before and after the run, in s.
        """
        steps, data = len(self.control), mujoco().MjData(self.model)
        shape = (worlds, *self.control.shape)
        control = np.ascontiguousarray(np.broadcast_to(self.control, shape))
        began = clock()
        roll(self.model, data, self.start[:worlds], steps, control)
        return (clock() - began) / steps / worlds

    def batch(self, clock: Clock = perf_counter) -> float | None:
        """Time `mujoco.batch` on one thread; return the seconds per step and world.

        All steps use the first control signals. The result is None if this MuJoCo has no batches.
        """
        module, count = batch_module(), len(self.start)
        if module is None:
            return None
        many = module.Batch(self.model, count, 1)
        nq, nv, steps = self.model.nq, self.model.nv, len(self.control)
        many.bind("qpos")[:] = self.start[:, 1 : 1 + nq]
        many.bind("qvel")[:] = self.start[:, 1 + nq : 1 + nq + nv]
        many.bind("ctrl")[:] = self.control[0]
        began = clock()
        many.step(nstep=steps)
        return (clock() - began) / steps / count

    def step_call(self, calls: int) -> float:
        """Time `mj_step` called from Python, including the copy of its control signals, in s."""
        mj = mujoco()
        data = mj.MjData(self.model)
        mj.mj_setState(self.model, data, self.start[0], mj.mjtState.mjSTATE_FULLPHYSICS)
        began = perf_counter()
        for k in range(calls):
            data.ctrl[:] = self.control[k % len(self.control)]
            mj.mj_step(self.model, data)
        return (perf_counter() - began) / calls


def frictionless_joints(robot: Robot) -> Robot:
    """Remove dry joint friction, which would cost MuJoCo one constraint row per joint."""
    bodies = tuple(
        replace(body, joint=replace(body.joint, dry_friction=0.0)) for body in robot.bodies
    )
    return replace(robot, bodies=bodies)
