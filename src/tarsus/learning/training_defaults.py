"""Training settings of a task, filled in where the user leaves them open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tarsus.control import servo
from tarsus.dynamics.robot import Robot
from tarsus.learning.training_spec import TrainingSpec
from tarsus.morphology.feet import find_feet
from tarsus.simulation import resolve
from tarsus.simulation.part_parameters import (
    RunPart,
    check_unambiguous,
    resolve_assignment,
    run_parts,
)
from tarsus.tasks.base import LearningTask, Range

DEFAULT_DT, SHORT_DT = 0.004, 0.002  # s
REFERENCE_DT = 1e-5  # s: a step so short that it hardly limits the damping of servos
MIN_DAMPING = 0.1  # least useful damping, relative to that at REFERENCE_DT


def with_training_defaults(fields: Mapping[str, Any]) -> TrainingSpec:
    """Complete the given fields of a training specification with the defaults of the task.

    A given setting takes precedence over the default of the same name.

    Parameters
    ----------
    fields
        Fields of `TrainingSpec`, by name; those that are missing or None get defaults.

    Raises
    ------
    TarsusError
        For a setting that does not say whether it belongs to the task, the method or the law.
    """
    # the law and the terrain, then all other fields
    given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    plain = TrainingSpec(**given)
    robot = plain.standing_robot()
    task = resolve.resolve_task(plain.task)
    if task.why_unsuitable(robot):
        return plain  # the environment reports the reason
    advice = task.training_defaults(robot)
    given = {"law": advice.law, "terrain": advice.terrain} | given
    plain = TrainingSpec(**given)
    # settings of the method and the law that are not given
    parts = plain.resolved_parts()
    known = run_parts(parts)
    check_unambiguous(plain.settings, known)
    assigned = {resolve_assignment(setting, known)[:2] for setting in plain.settings}
    defaults = {
        "method": advice.methods.get(plain.method, {}),
        "law": advice.laws.get(plain.law, {}),
    }
    added = [
        f"{_full_name(owner, name, known)}={_text(value)}"
        for owner, values in defaults.items()
        for name, value in values.items()
        if (owner, name) not in assigned
    ]
    dt = advice.dt or _step_size(parts["task"].fit(robot), robot)
    return replace(plain, dt=given.get("dt", dt), settings=(*plain.settings, *added))


def _full_name(owner: str, name: str, parts: Sequence[RunPart]) -> str:
    """Prefix a parameter's name by its owner if an earlier owner has the same name."""
    return name if resolve_assignment((name, 0), parts).owner == owner else f"{owner}.{name}"


def _text(value: float | Range) -> str:
    return ",".join(f"{part:g}" for part in (value if isinstance(value, tuple) else (value,)))


def _step_size(task: LearningTask, robot: Robot) -> float:
    """Choose DEFAULT_DT, or SHORT_DT if half of the motors would have less than MIN_DAMPING."""
    robot = task.prepare(robot)
    q = np.array(robot.keyframes["stand"], dtype=float)
    motors = list(task.moved_motors(robot))
    kd, reference = (
        np.array(servo.size_gains(robot, q, find_feet(robot), dt).kd)[motors]
        for dt in (DEFAULT_DT, REFERENCE_DT)
    )
    return DEFAULT_DT if np.median(kd / reference) >= MIN_DAMPING else SHORT_DT
