"""What was run, by name and number: enough to run the same again."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.files import json_text
from tarsus.program.run.backend import Backend
from tarsus.registry import name_of
from tarsus.simulation.options import declared
from tarsus.simulation.step_program import Plan

OURS = "tarsus."
MOST = 100_000  # numbers of an array that are kept; of a longer one its checksum
KINDS = ("law", "stepper", "terrain", "gait")
ENGINE = ("engine", "engine_version")  # of a run on another engine
TEXTS = ("robot_options", "command", "options", *(f"{kind}_parameters" for kind in KINDS))


@dataclass(frozen=True, eq=False)
class Setup:
    """What a simulation was made of.

    controller: a gait, a Python function, or None
    options: of the simulation, all of them
    """

    robot: Robot
    plan: Plan
    worlds: Backend
    controller: Controller | Callable[..., Any] | None
    options: SimpleNamespace


def attributes(setup: Setup) -> dict[str, str]:
    """Attributes of a log: names as text, and JSON objects as text (those of `TEXTS`).

    robot, robot_file, robot_sha256, robot_options: the file's path and checksum are empty for a
    built-in robot.
    law, stepper, terrain, gait: names; law_file, ...: path of one that is a user's own.
    law_parameters, ...: every field, as it was at the end.
    command: what the gait was told, such as {"speed": 0.25}.
    options: of the simulation, where they differ from the default.
    tarsus_version: as `tarsus --version` prints it.
    """
    scene = setup.plan.scene
    parts = (scene.law, setup.plan.stepper, scene.terrain, setup.controller)
    found = of_parts(setup.robot, dict(zip(KINDS, parts, strict=True)))
    law = _parameters(scene.law) | _changed(scene.law, setup.worlds)
    found["law_parameters"] = json_text(law)
    # what was asked of them
    options = {
        name: _plain(value)
        for name, option in declared().items()
        if name != "parameters"  # they are those of the law and the gait
        and (value := getattr(setup.options, name)) is not option.default
    }
    found["options"] = json_text(options)
    found["command"] = json_text(_command(setup))
    return found


def of_parts(robot: Robot, parts: Mapping[str, Any]) -> dict[str, str]:
    """The attributes of the robot and of the parts of a run by kind ("law", ...), and the version.

    Of each part: name, file of a user's own, parameters.
    """
    origin = robot.origin
    found: dict[str, str] = {
        "robot": robot.name,
        "robot_file": origin.file,
        "robot_sha256": origin.sha256,
        "robot_options": json_text(_plain(origin.options)),
        "tarsus_version": metadata.version("tarsus"),
    }
    for kind, part in parts.items():
        found |= {kind: _name(part)} | _file(kind, part)
        found[f"{kind}_parameters"] = json_text(_parameters(part))
    return found


def read(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a log's attributes, with objects in place of their JSON text."""
    names = ("robot", "robot_file", "robot_sha256", *TEXTS, "tarsus_version", "command_line")
    known = [*names, *ENGINE, *KINDS, *(f"{kind}_file" for kind in KINDS)]
    return {
        name: json.loads(attrs[name]) if name in TEXTS else attrs[name]
        for name in known
        if name in attrs
    }


def _name(part: Any) -> str:
    """Of a law, stepper, terrain or gait: its file's; of a function its own; "none" of None."""
    if part is None:
        return "none"
    return name_of(part) if is_dataclass(part) else _plain(part)


def _file(kind: str, part: Any) -> dict[str, str]:
    """The path of the file that a user's own part stands in."""
    home = type(part).__module__ if is_dataclass(part) else getattr(part, "__module__", "")
    path = getattr(sys.modules.get(home), "__file__", None)
    return {} if path is None or home.startswith(OURS) else {f"{kind}_file": str(path)}


def _parameters(part: Any) -> dict[str, Any]:
    """Every field of a dataclass by name; none of anything else."""
    if not is_dataclass(part):
        return {}
    return {f.name: _plain(getattr(part, f.name)) for f in fields(part)}


def _changed(law: Any, worlds: Backend) -> dict[str, Any]:
    """The law's parameters that `Simulation.set` changed, world by world where they differ."""
    found = {}
    for name, value in law.parameters().items():
        held = worlds.get(f"law.{name}")[:, 0] if f"law.{name}" in worlds else value
        if not np.array_equal(held, np.broadcast_to(np.asarray(value, held.dtype), held.shape)):
            found[name] = _common(held)
    return found


def _command(setup: Setup) -> dict[str, Any]:
    """What the gait was told at the end, by name, world by world where it differs."""
    commands = setup.plan.controller.commands if setup.plan.controller is not None else {}
    if not commands:
        return {}
    columns = setup.worlds.get("command").T
    return {name: _common(column) for name, column in zip(commands, columns, strict=True)}


def _common(values: NDArray[Any]) -> Any:
    """One number where all worlds (worlds,) have the same."""
    short = np.unique(values)  # float32 comes back as it was typed
    return _plain(float(str(short[0])) if short.size == 1 else values)


def _plain(value: Any) -> Any:
    """In the types of JSON: parts by name and parameters, functions by name, long arrays by
    checksum.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {"name": _name(value)} | _file("own", value) | _parameters(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray) and value.size > MOST:
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"shape": list(value.shape), "type": str(value.dtype), "sha256": digest}
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return f"{getattr(value, '__module__', '')}.{name}"
    return value
