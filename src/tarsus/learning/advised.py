"""A lesson with what its task is best learned with, where the user leaves that open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tarsus import parameters, registry
from tarsus.control import servo
from tarsus.dynamics.robot import Robot
from tarsus.environments.environment import TASKS
from tarsus.learning.lesson import METHODS, Lesson
from tarsus.learning.methods.base import Method
from tarsus.morphology.feet import feet
from tarsus.simulation.settings import Owner, read
from tarsus.tasks.base import LearningTask

USUAL, SHORT = 0.004, 0.002  # s
AT_ONCE = 1e-5  # s: a step that hardly bounds what servos damp
DAMPED = 0.1  # of that, less of which is hardly damping


def advised(asked: Mapping[str, Any]) -> Lesson:
    """The lesson whose fields are those asked for; what is missing or None is the task's advice.

    A setting that is asked for goes before the advised one of that name.
    """
    given = {name: value for name, value in asked.items() if value is not None}
    plain = Lesson(**given)
    task = plain.parts()[0]
    robot = plain.standing()
    if task.suits(robot):
        return plain  # the environment says why
    advice = task.advice(robot)
    # the settings of the method that nobody asked for
    kinds = {
        "task": registry.member(TASKS, "task", plain.task, LearningTask),
        "method": registry.member(METHODS, "method", plain.method, Method),
    }
    owners = [Owner(k, parameters.name_of(v()), parameters.declared(v)) for k, v in kinds.items()]
    said = {(found.whose, found.name) for found in (read(s, owners) for s in plain.settings)}
    own = advice.methods.get(plain.method, {})
    more = [
        f"method.{k}={v:g}" if k in owners[0].parameters else f"{k}={v:g}"
        for k, v in own.items()
        if ("method", k) not in said
    ]
    dt = advice.dt or _step(task.fitted(robot), robot)
    ours: dict[str, Any] = {"law": advice.law, "terrain": advice.terrain, "dt": dt}
    return replace(Lesson(**(ours | given)), settings=(*plain.settings, *more))


def _step(task: LearningTask, robot: Robot) -> float:
    """USUAL, or SHORT where half of the motors would be damped less than they can be by DAMPED."""
    robot = task.prepared(robot)
    q = np.array(robot.keyframes["stand"], dtype=float)
    moved = list(task.moves(robot))
    kd, best = (
        np.array(servo.gains(robot, q, feet(robot), dt).kd)[moved] for dt in (USUAL, AT_ONCE)
    )
    return USUAL if np.median(kd / best) >= DAMPED else SHORT
