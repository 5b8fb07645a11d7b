"""A task on a robot in a scene: what is compiled, and what the task says there."""

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
from tarsus.environments.moments import glimpse_of
from tarsus.errors import InvalidValue
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.simulation.sensor_program import Sensing, uncut_mechanism
from tarsus.stepping.base import Scene, Stepper
from tarsus.tasks.base import Glimpse, Heights, LearningTask, Measured, Observed


@dataclass(frozen=True, eq=False)
class ControlPlan:
    """A task on a robot in a scene.

    dt: s; steps: of a control period; gains: of the joints' servos; stand (nq,): where they hold
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
        """How many there are."""
        return len(self.scene.mechanism.actuators)

    @property
    def moved(self) -> tuple[int, ...]:
        """Those that an action moves, by number."""
        return self.task.moves(self.scene.mechanism)

    @cached_property
    def sensing(self) -> Sensing:
        """The task's sensors; TarsusError for one that adds noise or an offset itself."""
        found = self.task.sensors(uncut_mechanism(self.scene))
        for name, sensor in found.items():
            if np.any(sensor.noise) or np.any(sensor.bias) or np.ndim(sensor.delay):
                raise InvalidValue(
                    f"the sensor {name!r} of a task must have no noise or bias, and one delay for"
                    " all worlds; add noise and bias to its observation instead.",
                    name,
                )
        return Sensing(tuple(found.items()))

    @property
    def period(self) -> float:
        """Of control, s."""
        return self.steps * self.dt


def taken(work: ControlPlan, before: SX, asked: SX) -> SX:
    """The action (k,) of a period: part of the way from the last one to the one asked for."""
    follow = work.task.follow
    return asked if follow == 1 else before + follow * (asked - before)


def stretched(work: ControlPlan, q: SX, action: SX, heights: Heights) -> SX:
    """The action (k,) times what the task widens its reach by at q (nq,).

    heights: of the ground below points
    """
    kin = kinematics(work.scene.mechanism, q)
    factor = work.task.widened(kin, heights, work.stand)
    return action if factor is None else factor * action


def targets(work: ControlPlan, clock: SX, action: SX) -> SX:
    """Of the motors (n,) in a period that begins `clock` periods after its episode."""
    m, task = work.scene.mechanism, work.task
    posture = actuated_posture(m, work.stand)
    found = posture + task.rhythm(m, work.stand, clock * work.period)
    for k, motor in enumerate(work.moved):
        found[motor] += task.reach * action[k]
    return found


def glimpse(work: ControlPlan, now: Values, end: Values, action: SX, terrain: object) -> Glimpse:
    """What a task may look at.

    now: q, u, before, clock, command; end: tau, impulse and readings `sensed.NAME` of a step
    """
    asked = dict(zip(work.task.commands(), entries(now["command"]), strict=True))
    seen = {name: now[name] for name in ("q", "u", "before")}
    seen |= {"tau": end["tau"], "impulse": end["impulse"], "action": action}
    seen["clock"] = now["clock"] * work.period
    sensed = {name: end[f"sensed.{name}"] for name, _ in work.sensing.sensors}
    return glimpse_of(work.scene, work.stand, seen, asked, terrain, sensed)


def joined(parts: Iterable[Observed | Measured]) -> SX:
    """The numbers (k,) of all parts, of which there may be none."""
    return ca.vertcat(SX(0, 1), *(part.value for part in parts))


def noise_of(parts: Iterable[Observed]) -> NDArray[np.float64]:
    """How wide that of each number (k,) of an observation is."""
    return np.concatenate([[], *(np.full(p.value.numel(), p.noise) for p in parts)])


def bias_of(task: LearningTask, parts: Iterable[Observed]) -> NDArray[np.float64]:
    """How wide the offset of each number (k,) of an observation is that stays for an episode."""
    wide = [(p, task.bias * p.noise if p.bias is None else p.bias) for p in parts]
    return np.concatenate([[], *(np.full(p.value.numel(), width) for p, width in wide)])
