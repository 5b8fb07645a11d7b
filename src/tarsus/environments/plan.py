"""A task on a robot in a scene: what is compiled, and the expressions of the task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.pd import actuated_posture
from tarsus.control.servo import Gains
from tarsus.dynamics.kinematics import kinematics
from tarsus.environments.task_step import make_state_view
from tarsus.errors import InvalidValue
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.simulation.sensor_program import Sensing, uncut_mechanism
from tarsus.stepping.base import Scene, Stepper
from tarsus.tasks.base import Heights, LearningTask, Measured, Observed, StateView


@dataclass(frozen=True, eq=False)
class ControlPlan:
    """Task on a robot in a scene.

    Attributes
    ----------
    task
        The task.
    scene, stepper
        Robot on its ground, and time-stepping method.
    dt
        Step size, in s.
    steps
        Steps per control period.
    gains
        Gains of the joint servos.
    stand
        Coordinates of the standing posture, shape (nq,).
    """

    task: LearningTask
    scene: Scene
    stepper: Stepper
    dt: float
    steps: int
    gains: Gains
    stand: NDArray[np.float64]

    @property
    def motors(self) -> int:
        """Number of motors."""
        return len(self.scene.mechanism.actuators)

    @property
    def moved_motors(self) -> tuple[int, ...]:
        """Indices of the motors that an action moves."""
        return self.task.moved_motors(self.scene.mechanism)

    @cached_property
    def sensing(self) -> Sensing:
        """Sensors of the task; InvalidValue for one with noise or bias of its own."""
        sensors = self.task.sensors(uncut_mechanism(self.scene))
        for name, sensor in sensors.items():
            if np.any(sensor.noise) or np.any(sensor.bias) or np.ndim(sensor.delay):
                raise InvalidValue(
                    f"the sensor {name!r} of a task must have no noise or bias, and one delay for"
                    " all worlds; add noise and bias to its observation instead.",
                    name,
                )
        return Sensing(tuple(sensors.items()))

    @property
    def period(self) -> float:
        """Control period, in s."""
        return self.steps * self.dt


def filter_action(work: ControlPlan, before: SX, requested: SX) -> SX:
    """Compute the action of a period, shape (k,), between the last and the requested one."""
    action_filter = work.task.action_filter
    return requested if action_filter == 1 else before + action_filter * (requested - before)


def scale_action(work: ControlPlan, q: SX, action: SX, heights: Heights) -> SX:
    """Multiply the action, shape (k,), by the factor by which the task widens its range at q.

    `heights` returns the ground heights below points.
    """
    kin = kinematics(work.scene.mechanism, q)
    factor = work.task.action_scale_factor(kin, heights, work.stand)
    return action if factor is None else factor * action


def targets(work: ControlPlan, clock: SX, action: SX) -> SX:
    """Compute the joint targets of the motors, shape (n,), `clock` periods into an episode."""
    m, task = work.scene.mechanism, work.task
    posture = actuated_posture(m, work.stand)
    result = posture + task.reference_motion(m, work.stand, clock * work.period)
    for k, motor in enumerate(work.moved_motors):
        result[motor] += task.action_scale * action[k]
    return result


def create_task_view(
    work: ControlPlan, state: Values, end: Values, action: SX, terrain: object
) -> StateView:
    """Build the view of the state for the task.

    `state` has q, u, before, clock and command; `end` has tau, impulse and sensed.NAME of a step.
    """
    commands = dict(zip(work.task.commands(), entries(state["command"]), strict=True))
    values = {name: state[name] for name in ("q", "u", "before")}
    values |= {"tau": end["tau"], "impulse": end["impulse"], "action": action}
    values["clock"] = state["clock"] * work.period
    sensed = {name: end[f"sensed.{name}"] for name, _ in work.sensing.sensors}
    return make_state_view(work.scene, work.stand, values, commands, terrain, sensed)


def concatenate(parts: Iterable[Observed | Measured]) -> SX:
    """Concatenate the numbers of all parts, shape (k,); there may be none."""
    return ca.vertcat(SX(0, 1), *(part.value for part in parts))


def noise_widths(parts: Iterable[Observed]) -> NDArray[np.float64]:
    """Collect the half width of the noise of each number of an observation, shape (k,)."""
    return np.concatenate([[], *(np.full(p.value.numel(), p.noise) for p in parts)])


def bias_widths(task: LearningTask, parts: Iterable[Observed]) -> NDArray[np.float64]:
    """Collect the half width of the bias of each number of an observation, shape (k,).

    A bias is drawn once per episode.
    """
    widths = [(p, task.bias * p.noise if p.bias is None else p.bias) for p in parts]
    return np.concatenate([[], *(np.full(p.value.numel(), width) for p, width in widths)])
