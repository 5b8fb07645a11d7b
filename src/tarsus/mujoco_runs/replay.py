"""A recorded run replayed in MuJoCo from its torques: what benchmarks time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.mujoco_runs.library import mujoco, rollout

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replay:
    """A model with the start and the torques of a run."""

    model: Any
    """MuJoCo's MjModel."""
    start: Array
    """MuJoCo's full physics state at the start."""
    torques: Array
    """Of every step (steps, actuators), N m."""

    def rollout(self) -> float:
        """Seconds a step of replaying the whole run on one thread."""
        data, replay = mujoco().MjData(self.model), rollout().rollout
        steps = len(self.torques)
        began = perf_counter()
        replay(self.model, data, self.start[None], self.torques[None], nstep=steps)
        return (perf_counter() - began) / steps

    def step_call(self, calls: int) -> float:
        """Seconds of one mj_step called from Python, the run's torques being set before each."""
        mj = mujoco()
        data = mj.MjData(self.model)
        mj.mj_setState(self.model, data, self.start, mj.mjtState.mjSTATE_FULLPHYSICS)
        began = perf_counter()
        for k in range(calls):
            data.ctrl[:] = self.torques[k % len(self.torques)]
            mj.mj_step(self.model, data)
        return (perf_counter() - began) / calls


def frictionless_joints(robot: Robot) -> Robot:
    """The robot without dry joint friction, which would cost MuJoCo a constraint row a joint."""
    bodies = tuple(
        replace(body, joint=replace(body.joint, dry_friction=0.0)) for body in robot.bodies
    )
    return replace(robot, bodies=bodies)
