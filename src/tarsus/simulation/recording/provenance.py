"""Describe what was run, completely enough to run it again."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry, robots
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.files import json_text
from tarsus.model.digest import hash_robot
from tarsus.program.run import machine
from tarsus.program.run.backend import Backend
from tarsus.program.run.cache import source_hash
from tarsus.simulation.options import declared_options
from tarsus.simulation.recording import part_serialization
from tarsus.simulation.recording.log_robot import register_robot
from tarsus.simulation.recording.part_serialization import (
    class_of,
    field_values,
    name_of,
    package_of,
    serialize,
    user_file,
)
from tarsus.simulation.step_program import Plan

KINDS = ("law", "stepper", "terrain", "gait")
PART_SUFFIXES = ("", "_class", "_file", "_file_sha256", "_package")  # of the attributes of a part
ENGINE = ("engine", "engine_version")  # of a run on another engine
JSON_ATTRIBUTES = (
    *("robot_options", "command", "options", "registers", "versions", "seeds"),
    *(f"{kind}_parameters" for kind in KINDS),
)
ATTRIBUTE_NAMES = (
    *("robot", "robot_file", "robot_sha256", "robot_package", "model_sha256", *JSON_ATTRIBUTES),
    "tarsus_version",
    *("compiler_sha256", "program_sha256", "processor", "command_line", "partial", *ENGINE),
    *(
        f"{kind}{end}"
        for end in ("", "_class", "_file", "_file_sha256", "_package")
        for kind in KINDS
    ),
)
PACKAGES = ("numpy", "casadi", "llvmlite", "scipy", "xarray", "mujoco")
MAX_COMMAND_LENGTH = 2000  # characters

command_line: ContextVar[str] = ContextVar("command_line", default="")
"""Command line that the user typed, if the process was started differently."""


@dataclass(frozen=True, eq=False)
class Setup:
    """Parts that a simulation was made of.

    Attributes
    ----------
    controller
        A gait, a Python function, or None.
    options
        All options of the simulation.
    initial
        Initial registers.
    """

    robot: Robot
    plan: Plan
    worlds: Backend
    controller: Controller | Callable[..., Any] | None
    options: SimpleNamespace
    initial: Mapping[str, NDArray[Any]]


def log_attributes(setup: Setup) -> dict[str, str]:
    """Collect the attributes of a log: names and JSON objects, both as text.

    Notes
    -----
    - robot, robot_file, robot_sha256, robot_options: path and checksum are empty for a built-in
      robot; model_sha256: of all numbers of the robot (`model.digest.hash_robot`).
    - law, stepper, terrain, gait: names; law_class, ...: module and class, empty for a function;
      law_file, law_file_sha256, ...: path and checksum of a user's file.
    - robot_package, law_package, ...: package and version of a plug-in.
    - law_parameters, ...: every field, as it was at the end.
    - command: commands of the gait, such as {"speed": 0.25}.
    - options: options of the simulation that differ from the default.
    - registers: other parameters that `Simulation.set` changed, exactly.
    - seeds: every seed of a part or an option, by its location.
    - program_sha256: of the compiled step; compiler_sha256: of the compiler.
    - tarsus_version, versions: of Tarsus, as `tarsus --version` prints it; of Python and packages.
    - processor, command_line: where and how it was started.
    """
    scene = setup.plan.scene
    parts = (scene.law, setup.plan.stepper, scene.terrain, setup.controller)
    attributes = part_attributes(setup.robot, dict(zip(KINDS, parts, strict=True)))
    law = field_values(scene.law) | _collect_changed_law_parameters(scene.law, setup.worlds)
    attributes["law_parameters"] = json_text(law)
    # options
    options = {
        name: serialize(value)
        for name, option in declared_options().items()
        if name != "parameters"  # parameters are stored with the parts
        and (value := getattr(setup.options, name)) is not option.default
    }
    attributes["options"] = json_text(options)
    attributes["command"] = json_text(_collect_final_command(setup))
    attributes["registers"] = json_text(_collect_changed_registers(setup))
    attributes["program_sha256"] = setup.worlds.program.hot_fingerprint
    parsed = {name: json.loads(attributes[name]) for name in JSON_ATTRIBUTES if name in attributes}
    attributes["seeds"] = json_text(dict(_find_seeds("", parsed)))
    return attributes


def part_attributes(robot: Robot, parts: Mapping[str, Any]) -> dict[str, str]:
    """Collect the attributes of the robot, of the parts of a run, and of the software.

    Each part has name, class, parameters, and the file of a user's part or the package of a
    plug-in.

    Parameters
    ----------
    robot
        The robot.
    parts
        Parts by kind, such as "law".
    """
    # robot and machine
    origin = robot.origin
    register_robot(robot)
    attributes: dict[str, str] = {
        "robot": robot.name,
        "robot_file": origin.file,
        "robot_sha256": origin.sha256,
        "robot_options": json_text(serialize(origin.options)),
        "model_sha256": hash_robot(robot),
        "tarsus_version": metadata.version("tarsus"),
        "compiler_sha256": source_hash(),
        "versions": json_text(collect_versions()),
        "processor": f"{machine.detect_host().cpu}, {platform.system()} {platform.machine()}",
        "command_line": command_line.get() or _process_command(),
    }
    plugin = None if origin.file else registry.plugin(robots.__name__, robot.name)
    if plugin is not None:
        attributes["robot_package"] = plugin.release
    # parts
    for kind, part in parts.items():
        part_serialization.register_class(part)
        attributes |= {kind: name_of(part), f"{kind}_class": class_of(part)}
        if file := user_file(part):
            attributes |= {f"{kind}_file": file, f"{kind}_file_sha256": registry.file_sha256(file)}
        if package := package_of(part):
            attributes[f"{kind}_package"] = package
        attributes[f"{kind}_parameters"] = json_text(field_values(part))
    return attributes


def parse_attributes(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the provenance attributes of a log, JSON text included."""
    return {
        name: json.loads(attrs[name]) if name in JSON_ATTRIBUTES else attrs[name]
        for name in ATTRIBUTE_NAMES
        if name in attrs
    }


@cache
def collect_versions() -> dict[str, str]:
    """Collect the versions of Python and of the packages that a run uses, by name."""
    return {"python": platform.python_version()} | {
        name: metadata.version(name) for name in PACKAGES
    }


def _process_command() -> str:
    """Read the command line of this process, shortened if it contains a program."""
    text = shlex.join(sys.orig_argv)
    return text if len(text) <= MAX_COMMAND_LENGTH else f"{text[:MAX_COMMAND_LENGTH]} ..."


def _collect_changed_law_parameters(law: Any, worlds: Backend) -> dict[str, Any]:
    """Collect the law's parameters that `Simulation.set` changed, per world if they differ."""
    changed = {}
    for name, value in law.parameters().items():
        current = worlds.get(f"law.{name}")[:, 0] if f"law.{name}" in worlds else value
        if not np.array_equal(
            current, np.broadcast_to(np.asarray(value, current.dtype), current.shape)
        ):
            changed[name] = _common_value(current)
    return changed


def _collect_changed_registers(setup: Setup) -> dict[str, Any]:
    """Collect other parameters changed since the start, (size,) if equal in all worlds."""
    changed = {}
    for register in setup.worlds.program.of_kind("parameter"):
        if register.name.startswith("law."):
            continue
        current, initial = setup.worlds.get(register.name), setup.initial.get(register.name)
        if initial is None or np.array_equal(
            current,
            np.broadcast_to(np.asarray(initial, current.dtype), current.shape),
            equal_nan=True,
        ):
            continue
        same = (current == current[:1]).all()
        changed[register.name] = serialize((current[0] if same else current).astype(float))
    return changed


def _find_seeds(prefix: str, content: Any) -> list[tuple[str, Any]]:
    """Find every seed in the attributes, with the names that lead to it."""
    if isinstance(content, list):
        return [
            seed for k, part in enumerate(content) for seed in _find_seeds(f"{prefix}.{k}", part)
        ]
    if not isinstance(content, Mapping):
        return []
    seeds = [(f"{prefix}.{name}".lstrip("."), v) for name, v in content.items() if name == "seed"]
    return seeds + [
        seed for name, v in content.items() for seed in _find_seeds(f"{prefix}.{name}", v)
    ]


def _collect_final_command(setup: Setup) -> dict[str, Any]:
    """Collect the final commands of the gait by name, per world if they differ."""
    commands = setup.plan.controller.commands if setup.plan.controller is not None else {}
    if not commands:
        return {}
    columns = setup.worlds.get("command").T
    return {name: _common_value(column) for name, column in zip(commands, columns, strict=True)}


def _common_value(values: NDArray[Any]) -> Any:
    """Reduce values (worlds,) to one number if all are equal."""
    short = np.unique(values)  # text recovers a float32 as it was typed
    return serialize(float(str(short[0])) if short.size == 1 else values)
