"""What is learned: a task, a robot, a method and a seed, in words that a file keeps."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from tarsus import parameters, registry
from tarsus.contact.base import Law
from tarsus.control.servo import Gains
from tarsus.dynamics.robot import Robot
from tarsus.environments.environment import Environment
from tarsus.errors import InvalidFile, TarsusWarning, WarningRecord
from tarsus.files import json_value
from tarsus.learning.methods.base import Method
from tarsus.learning.policy import ABOUT
from tarsus.simulation import default_controller, file_material, resolve
from tarsus.simulation.part_parameters import set_parameters
from tarsus.tasks.base import LearningTask

METHODS = "tarsus.learning.methods"
TOLD = ("task", "robot", "law", "terrain", "dt", "gains")  # what a policy must tell
NAMED = ("task", "law", "terrain", "method")  # which may be files of the user's
FILES = "files"  # those files with their checksums, in what a policy tells
KEPT = "parameters"  # of the task, all of them, in what a policy tells


@dataclass(frozen=True)
class Lesson:
    """What is learned, by names.

    task, law, terrain, method: names, or Python files of the user's
    robot: its name or the path to its file
    dt: s
    seed: of all that is drawn
    settings: of task, method and law, "NAME=VALUE" each
    """

    task: str = "velocity"
    robot: str = "mini_cheetah"
    law: str = "moreau"
    terrain: str = "plane"
    dt: float = 0.004
    method: str = "ppo"
    seed: int = 0
    settings: Sequence[str] = ()

    def parts(self) -> tuple[LearningTask, Method]:
        """Task and method with their settings."""
        found = self.named()
        return found["task"], found["method"]

    def contact_law(self) -> Law:
        """The law with the numbers of the robot's file, and its settings."""
        return self.named()["law"]

    def named(self, notices: list[WarningRecord] | None = None) -> dict[str, Any]:
        """ "task", "method" and "law" with their settings; notices say what the robot's file gives
        the law.
        """
        task = resolve.task(self.task)
        method = registry.create(METHODS, "method", self.method, Method)
        law, _ = file_material.law_for_robot(
            self.law, self._robot, [] if notices is None else notices
        )
        return set_parameters({"task": task, "method": method, "law": law}, self.settings)

    def fitted(self) -> tuple[LearningTask, Robot]:
        """The task as its robot can do it, and the robot as it stands."""
        robot = self.standing()
        return self.parts()[0].fitted(robot), robot

    def standing(self) -> Robot:
        """The robot with a posture to stand in."""
        return default_controller.prepare(self._robot, None, self.dt, [])[0]

    @cached_property
    def _robot(self) -> Robot:
        return resolve.robot(self.robot)

    def environment(self, threads: int) -> Environment:
        """The worlds to learn in."""
        notices = list[WarningRecord]()
        parts = self.named(notices)
        with warnings.catch_warnings():  # they are among its notices
            warnings.simplefilter("ignore", TarsusWarning)
            found = Environment(
                *(parts["task"], self._robot, parts["law"], "midpoint", self.terrain, self.dt),
                worlds=parts["method"].worlds,
                threads=threads,
                seed=self.seed,
            )
        found.warnings[:0] = notices
        return found

    def about(self, environment: Environment) -> dict[str, Any]:
        """All that a policy must know of where it was learned, as JSON has it."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        found["gains"] = {name: getattr(environment.work.gains, name) for name in ("kp", "kd")}
        found[KEPT] = values(environment.task)
        own = {
            name: str(found[name])
            for name in NAMED
            if str(found[name]).endswith(registry.PYTHON_SUFFIX)
        }
        found[FILES] = {
            name: {"file": os.path.abspath(file), "sha256": registry.file_sha256(file)}
            for name, file in own.items()
        }
        return json_value(found | {"action": environment.actions, "sees": environment.observations})


def from_about(about: Mapping[str, Any]) -> tuple[Lesson, Gains]:
    """The lesson of a policy, and the gains of its servos; TarsusError if it tells none.

    UntrustedFile for a file of Python code that the user has not named (`registry.trust`).
    """
    if missing := [name for name in TOLD if name not in about]:
        raise InvalidFile(
            f"this policy lacks {', '.join(missing)}: play the folder that"
            " `tarsus learn TASK --out DIR` wrote.",
            missing[0],
        )
    ABOUT.check("about", about)
    if len(about["gains"]["kp"]) != len(about["gains"]["kd"]):
        raise InvalidFile("about.gains must have as many kp as kd.", "about.gains")
    names = {f.name for f in fields(Lesson)}
    told = {name: value for name, value in about.items() if name in names}
    told["settings"] = tuple(told.get("settings", ()))
    for name in NAMED:
        if str(told.get(name, "")).endswith(registry.PYTHON_SUFFIX):
            sha256 = str(about.get(FILES, {}).get(name, {}).get("sha256", ""))
            told[name] = registry.trusted_file(name, str(told[name]), sha256)
    gains = Gains(tuple(about["gains"]["kp"]), tuple(about["gains"]["kd"]), ())
    return Lesson(**told), gains


def task_of(about: Mapping[str, Any]) -> LearningTask:
    """The task of a policy, with all parameters as they were when it was learned.

    TarsusError if the task has one of them no longer. Those that it had not then are today's
    defaults, which a TarsusWarning says.
    """
    # the task, and what is known of it
    lesson = from_about(about)[0]
    task = resolve.task(lesson.task)
    names, kept = parameters.declared(type(task)), about.get(KEPT)
    if kept is None:
        text = "this policy does not record its task's parameters: current defaults are used."
        _doubt(text, "task-parameters-not-recorded", lesson.task)
        return lesson.fitted()[0]
    # what changed since
    if gone := [name for name in kept if name not in names]:
        raise InvalidFile(
            f"this policy was trained with {', '.join(gone)}, which the task {lesson.task} no"
            " longer has: play it with the version of Tarsus that trained it.",
            gone[0],
        )
    if new := [name for name in names if name not in kept]:
        text = f"this policy does not record {', '.join(new)} of its task: defaults are used."
        _doubt(text, "task-parameters-not-recorded", new[0])
    found = {name: tuple(v) if isinstance(v, list) else v for name, v in kept.items()}
    return replace(task, **found).fitted(lesson.standing())


def values(task: LearningTask) -> dict[str, Any]:
    """Of all parameters of a task, by name, as JSON has them."""
    return json_value({name: getattr(task, name) for name in parameters.declared(type(task))})


def _doubt(text: str, code: str, subject: str) -> None:
    warnings.warn(TarsusWarning(text, code, subject), stacklevel=3)
