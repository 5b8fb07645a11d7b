"""Training specification: task, robot, method and seed, as names that a file can store."""

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
from tarsus.errors import IncompatibleOptions, InvalidFile, TarsusWarning, WarningRecord
from tarsus.files import json_value
from tarsus.learning.methods.base import Method
from tarsus.learning.policy import METADATA
from tarsus.simulation import default_controller, file_material, resolve
from tarsus.simulation.device import Device
from tarsus.simulation.part_parameters import set_parameters
from tarsus.tasks.base import LearningTask

METHODS = "tarsus.learning.methods"
REQUIRED = ("task", "robot", "law", "terrain", "dt", "gains")  # metadata that a policy must have
PARTS = ("task", "law", "terrain", "method")  # may be Python files of the user
FILES = "files"  # metadata key: these files and their checksums
PARAMETERS = "parameters"  # metadata key: all parameters of the task


@dataclass(frozen=True)
class TrainingSpec:
    """Specification of a training run, by names.

    Attributes
    ----------
    task, law, terrain, method
        Names, or Python files of the user.
    robot
        Name of a robot, or path of its file.
    dt
        Step size, in s.
    seed
        Seed of all random numbers.
    settings
        Settings of task, method and law, each "NAME=VALUE".
    """

    task: str = "velocity"
    robot: str = "mini_cheetah"
    law: str = "moreau"
    terrain: str = "plane"
    dt: float = 0.004
    method: str = "ppo"
    seed: int = 0
    settings: Sequence[str] = ()

    def task_and_method(self) -> tuple[LearningTask, Method]:
        """Create task and method with their settings."""
        parts = self.resolved_parts()
        return parts["task"], parts["method"]

    def contact_law(self) -> Law:
        """Create the law with its settings and the contact numbers of the robot's file."""
        return self.resolved_parts()["law"]

    def resolved_parts(self, notices: list[WarningRecord] | None = None) -> dict[str, Any]:
        """Create "task", "method" and "law" with their settings.

        Notices about the contact numbers of the robot's file are appended to `notices`.
        """
        task = resolve.resolve_task(self.task)
        method = registry.create(METHODS, "method", self.method, Method)
        law, _ = file_material.law_for_robot(
            self.law, self._robot, [] if notices is None else notices
        )
        return set_parameters({"task": task, "method": method, "law": law}, self.settings)

    def task_and_robot(self) -> tuple[LearningTask, Robot]:
        """Load the robot in a standing posture, and fit the task to it."""
        robot = self.standing_robot()
        return self.task_and_method()[0].fit(robot), robot

    def standing_robot(self) -> Robot:
        """Load the robot in a standing posture."""
        return default_controller.prepare(self._robot, None, self.dt, [])[0]

    @cached_property
    def _robot(self) -> Robot:
        return resolve.resolve_robot(self.robot)

    def create_environment(self, threads: int, device: Device = "cpu") -> Environment:
        """Create the worlds to train in.

        Raises
        ------
        IncompatibleOptions
            If the method cannot learn on this device.
        """
        notices = list[WarningRecord]()
        parts = self.resolved_parts(notices)
        if device != "cpu" and not parts["method"].supports_gpu:
            raise IncompatibleOptions(
                f"the method {self.method} computes on the CPU: choose another method"
                " (rsl_ppo) for a GPU, or the device cpu.",
                "device",
            )
        with warnings.catch_warnings():  # they are also in its notices
            warnings.simplefilter("ignore", TarsusWarning)
            environment = Environment(
                *(parts["task"], self._robot, parts["law"], "midpoint", self.terrain, self.dt),
                worlds=parts["method"].worlds,
                threads=threads,
                device=device,
                seed=self.seed,
            )
        environment.warnings[:0] = notices
        return environment

    def metadata(self, environment: Environment) -> dict[str, Any]:
        """Collect the metadata of a policy: everything about its training, as JSON values."""
        metadata = {f.name: getattr(self, f.name) for f in fields(self)}
        metadata["gains"] = {name: getattr(environment.work.gains, name) for name in ("kp", "kd")}
        metadata[PARAMETERS] = task_parameters(environment.task)
        files = {
            name: str(metadata[name])
            for name in PARTS
            if str(metadata[name]).endswith(registry.PYTHON_SUFFIX)
        }
        metadata[FILES] = {
            name: {"file": os.path.abspath(file), "sha256": registry.file_sha256(file)}
            for name, file in files.items()
        }
        return json_value(
            metadata
            | {
                "action_size": environment.action_size,
                "observation_size": environment.observation_size,
            }
        )


def spec_from_metadata(metadata: Mapping[str, Any]) -> tuple[TrainingSpec, Gains]:
    """Read the training specification and servo gains from the metadata of a policy.

    Raises
    ------
    InvalidFile
        If the metadata is incomplete.
    UntrustedFile
        For a file of Python code that the user has not trusted (`registry.trust`).
    """
    if missing := [name for name in REQUIRED if name not in metadata]:
        raise InvalidFile(
            f"this policy lacks {', '.join(missing)}: play the folder that"
            " `tarsus learn TASK --out DIR` wrote.",
            missing[0],
        )
    METADATA.check("metadata", metadata)
    if len(metadata["gains"]["kp"]) != len(metadata["gains"]["kd"]):
        raise InvalidFile("metadata.gains must have equal numbers of kp and kd.", "metadata.gains")
    names = {f.name for f in fields(TrainingSpec)}
    given = {name: value for name, value in metadata.items() if name in names}
    given["settings"] = tuple(given.get("settings", ()))
    for name in PARTS:
        if str(given.get(name, "")).endswith(registry.PYTHON_SUFFIX):
            sha256 = str(metadata.get(FILES, {}).get(name, {}).get("sha256", ""))
            given[name] = registry.trusted_file(name, str(given[name]), sha256)
    gains = Gains(tuple(metadata["gains"]["kp"]), tuple(metadata["gains"]["kd"]), ())
    return TrainingSpec(**given), gains


def task_from_metadata(metadata: Mapping[str, Any]) -> LearningTask:
    """Create the task of a policy with the parameters of its training.

    Parameters that did not exist then get today's defaults, with a TarsusWarning.

    Raises
    ------
    InvalidFile
        If the task no longer has one of the parameters.
    """
    # the task and its stored parameters
    spec = spec_from_metadata(metadata)[0]
    task = resolve.resolve_task(spec.task)
    names, stored = parameters.declared_fields(type(task)), metadata.get(PARAMETERS)
    if stored is None:
        text = "this policy does not record its task's parameters: current defaults are used."
        _warn(text, "task-parameters-not-recorded", spec.task)
        return spec.task_and_robot()[0]
    # parameters removed and added since
    if removed := [name for name in stored if name not in names]:
        raise InvalidFile(
            f"this policy was trained with {', '.join(removed)}, which the task {spec.task} no"
            " longer has: play it with the version of Tarsus that trained it.",
            removed[0],
        )
    if added := [name for name in names if name not in stored]:
        text = f"this policy does not record {', '.join(added)} of its task: defaults are used."
        _warn(text, "task-parameters-not-recorded", added[0])
    parameter_values = {name: tuple(v) if isinstance(v, list) else v for name, v in stored.items()}
    return replace(task, **parameter_values).fit(spec.standing_robot())


def task_parameters(task: LearningTask) -> dict[str, Any]:
    """Collect all parameters of a task, by name, as JSON values."""
    return json_value(
        {name: getattr(task, name) for name in parameters.declared_fields(type(task))}
    )


def _warn(text: str, code: str, subject: str) -> None:
    warnings.warn(TarsusWarning(text, code, subject), stacklevel=3)
