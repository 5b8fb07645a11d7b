"""A lesson with what its task is best learned with, where the user leaves that open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tarsus.control import servo
from tarsus.dynamics.robot import Robot
from tarsus.learning.lesson import Lesson
from tarsus.morphology.feet import feet
from tarsus.simulation import resolve
from tarsus.simulation.part_parameters import (
    RunPart,
    check_unambiguous,
    resolve_assignment,
    run_parts,
)
from tarsus.tasks.base import LearningTask, Range

USUAL, SHORT = 0.004, 0.002  # s
AT_ONCE = 1e-5  # s: a step that hardly bounds what servos damp
DAMPED = 0.1  # of that, less of which is hardly damping


def advised(asked: Mapping[str, Any]) -> Lesson:
    """The lesson whose fields are those asked for; what is missing or None is the task's advice.

    A setting that is asked for goes before the advised one of that name. TarsusError for one that
    does not say whether it is the task's, the method's or the law's.
    """
    # the law and the terrain, then all else that is asked for
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    plain = Lesson(**given)
    robot = plain.standing()
    task = resolve.task(plain.task)
    if task.suits(robot):
        return plain  # the environment says why
    advice = task.advice(robot)
    given = {"law": advice.law, "terrain": advice.terrain} | given
    plain = Lesson(**given)
    # the settings of the method and the law that nobody asked for
    parts = plain.named()
    known = run_parts(parts)
    check_unambiguous(plain.settings, known)
    said = {resolve_assignment(setting, known)[:2] for setting in plain.settings}
    own = {"method": advice.methods.get(plain.method, {}), "law": advice.laws.get(plain.law, {})}
    more = [
        f"{_full(whose, name, known)}={_text(value)}"
        for whose, values in own.items()
        for name, value in values.items()
        if (whose, name) not in said
    ]
    dt = advice.dt or _step(parts["task"].fitted(robot), robot)
    return replace(plain, dt=given.get("dt", dt), settings=(*plain.settings, *more))


def _full(whose: str, name: str, parts: Sequence[RunPart]) -> str:
    """A parameter's name, with whose it is where an owner before has one of that name too."""
    return name if resolve_assignment((name, 0), parts).whose == whose else f"{whose}.{name}"


def _text(value: float | Range) -> str:
    return ",".join(f"{part:g}" for part in (value if isinstance(value, tuple) else (value,)))


def _step(task: LearningTask, robot: Robot) -> float:
    """USUAL, or SHORT where half of the motors would be damped less than they can be by DAMPED."""
    robot = task.prepared(robot)
    q = np.array(robot.keyframes["stand"], dtype=float)
    moved = list(task.moves(robot))
    kd, best = (
        np.array(servo.gains(robot, q, feet(robot), dt).kd)[moved] for dt in (USUAL, AT_ONCE)
    )
    return USUAL if np.median(kd / best) >= DAMPED else SHORT
