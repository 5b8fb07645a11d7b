"""Robots in TOML: a robot file, and what its format cannot say about joints, motors and gears.

    robot = "go2.urdf"                # relative to this file, or a name of example-robot-data

    [joints."*_calf_joint"]           # a name, or a pattern
    armature = 0.03                   # also damping, dry_friction, stiffness, rest
    friction = { slope = -0.5, center = -1.8 }     # `FrictionVariation`

    [actuators."*_calf_joint"]
    kp = 20.0                         # with kd: a position servo instead of the file's actuator
    kd = 1.5
    delay = 0.004                     # s; also lag in s, encoder_offset in rad

    [gears."*_calf_joint"]
    play = 0.01                       # rad, of backlash
    stiffness = 300.0                 # of series elasticity; also damping, output_inertia

Units are those of `Joint`, `FileActuator` and `tarsus.model.elastic_gears`. Later entries override
earlier ones for the same joint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from tarsus.errors import InvalidFile, UnmetCondition, unknown_name_error
from tarsus.files import read_toml
from tarsus.model.elastic_gears import with_backlash, with_series_elasticity
from tarsus.model.file_actuators import MOTOR_NUMBERS
from tarsus.model.friction import FrictionVariation
from tarsus.model.mechanism import Joint, Mechanism
from tarsus.model.motors import with_servos
from tarsus.model.robot_data import find_file

TOML = ".toml"
FRICTION = tuple(f.name for f in fields(FrictionVariation))
RESISTANCES = ("armature", "damping", "dry_friction", "stiffness", "rest")
ENTRIES = {
    "joints": (*RESISTANCES, "friction"),
    "actuators": ("kp", "kd", *MOTOR_NUMBERS),
    "gears": ("play", "stiffness", "damping", "output_inertia"),
}


def read_robot_toml(path: Path, read: Callable[[Path], Mechanism]) -> Mechanism:
    """Read a robot from a TOML file.

    Parameters
    ----------
    path
        The file.
    read
        Reader of the robot file that it names.

    Raises
    ------
    TarsusError
        If an entry is unknown or unsuitable.
    """
    tables = read_toml(path)
    for name in tables:
        if name not in ("robot", *ENTRIES):
            raise unknown_name_error("table of a robot", name, ("robot", *ENTRIES))
    file = tables.get("robot")
    if not isinstance(file, str) or file.endswith(TOML):
        raise InvalidFile('robot = "FILE" must name an MJCF, URDF or SDF file.', "robot")
    robot = read(find_model_file(path))
    by_table = {table: _by_joint(tables, table, robot) for table in ENTRIES}
    robot = _change_joints(robot, by_table["joints"])
    robot = _change_actuators(robot, by_table["actuators"])
    return _insert_gears(robot, by_table["gears"])


def find_model_file(path: Path) -> Path:
    """Return the robot file that a TOML file names; any other file is returned as it is."""
    if path.suffix != TOML:
        return path
    name = str(read_toml(path).get("robot"))
    return find_file(name) or path.parent / name


def write_robot_toml(robot: Mechanism, file: str) -> str:
    """Write joints and actuators of a robot as TOML text.

    Parameters
    ----------
    robot
        Robot with position servos or motors.
    file
        Path of the robot file, relative to the TOML file.
    """
    lines = [f"robot = {json.dumps(file)}"]
    for body in robot.bodies:
        joint = body.joint
        if joint.kind not in ("hinge", "slide"):
            continue
        names = RESISTANCES if joint.has_spring else RESISTANCES[:3]
        values: dict[str, Any] = {name: getattr(joint, name) for name in names}
        if joint.friction:
            values["friction"] = {name: getattr(joint.friction, name) for name in FRICTION}
        lines += _lines("joints", joint.name, values)
    for actuator in robot.file_actuators:
        gains = {"kp": actuator.kp, "kd": actuator.kv} if actuator.kind == "position" else {}
        motor = {name: getattr(actuator, name) for name in MOTOR_NUMBERS}
        values = gains | {name: value for name, value in motor.items() if value}
        lines += _lines("actuators", actuator.joint, values) if values else []
    return "\n".join(lines) + "\n"


def _lines(table: str, joint: str, values: Mapping[str, Any]) -> list[str]:
    rows = [f"{name} = {_text(value)}" for name, value in values.items()]
    return ["", f"[{table}.{json.dumps(joint)}]", *rows]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_text(v)}' for name, v in value.items())} }}"
    return repr(float(value))


def _by_joint(tables: Mapping[str, Any], table: str, robot: Mechanism) -> dict[str, dict[str, Any]]:
    """Collect the entries of a table by joint; a name may be a pattern."""
    entries = tables.get(table, {})
    joints = [b.joint.name for b in robot.bodies if b.joint.kind in ("hinge", "slide")]
    collected: dict[str, dict[str, Any]] = {}
    if not isinstance(entries, Mapping):
        raise InvalidFile(f"[{table}] must contain tables, one for each joint.", table)
    for pattern, values in entries.items():
        if not isinstance(values, Mapping):
            raise InvalidFile(f"[{table}.{pattern}] must be a table, not {values!r}.", pattern)
        chosen = [name for name in joints if name == pattern or fnmatchcase(name, pattern)]
        if not chosen:
            raise unknown_name_error("joint", pattern, joints)
        for key, value in values.items():
            if key not in ENTRIES[table]:
                raise unknown_name_error(f"entry of [{table}.{pattern}]", key, ENTRIES[table])
            for name in chosen:
                collected.setdefault(name, {})[key] = _check_value(key, value)
    return collected


def _check_value(name: str, value: Any) -> Any:
    if name == "friction":
        if not isinstance(value, Mapping):
            raise InvalidFile(f"friction must be a table of {', '.join(FRICTION)}.", name)
        for key in value:
            if key not in FRICTION:
                raise unknown_name_error("entry of friction", key, FRICTION)
        return {key: _check_number(key, number) for key, number in value.items()}
    value = _check_number(name, value)
    if not np.isfinite(value):
        raise InvalidFile(f"{name} must be finite, not {value}.", name)
    return value


def _check_number(name: str, value: Any) -> float:
    if type(value) not in (int, float):
        raise InvalidFile(f"{name} must be a number, not {value!r}.", name)
    return float(value)


def _change_joints(robot: Mechanism, entries: Mapping[str, Mapping[str, Any]]) -> Mechanism:
    def changed(joint: Joint) -> Joint:
        values = dict(entries.get(joint.name, {}))
        if "friction" in values:
            values["friction"] = FrictionVariation(**values["friction"])
        return replace(joint, **values)

    bodies = tuple(replace(body, joint=changed(body.joint)) for body in robot.bodies)
    return replace(robot, bodies=bodies)


def _change_actuators(robot: Mechanism, entries: Mapping[str, Mapping[str, float]]) -> Mechanism:
    gains: dict[str, tuple[float, float]] = {}
    for joint, values in entries.items():
        if "kd" in values and "kp" not in values:
            raise UnmetCondition(f"[actuators.{joint}] has kd but no kp: add it.", joint)
        if "kp" in values:
            gains[joint] = values["kp"], values.get("kd", 0.0)
    if not all(kp > 0 and kd >= 0 for kp, kd in gains.values()):
        raise InvalidFile("kp must be > 0, and kd >= 0.", "kp")
    robot = with_servos(robot, gains) if gains else robot
    driven = {actuator.joint for actuator in robot.file_actuators}
    for joint in entries:
        if joint not in driven:
            raise unknown_name_error("joint with an actuator", joint, driven)

    def numbers(joint: str) -> dict[str, float]:
        return {k: v for k, v in entries.get(joint, {}).items() if k in MOTOR_NUMBERS}

    actuators = tuple(replace(a, **numbers(a.joint)) for a in robot.file_actuators)
    return replace(robot, file_actuators=actuators)


def _insert_gears(robot: Mechanism, entries: Mapping[str, Mapping[str, float]]) -> Mechanism:
    """Insert backlash, then springs behind it."""
    for joint, values in entries.items():
        play, stiffness = values.get("play", 0.0), values.get("stiffness", 0.0)
        if not (play or stiffness):
            raise UnmetCondition(f"[gears.{joint}] needs play or stiffness.", joint)
        if "stiffness" not in values and len(values) > 1:
            raise UnmetCondition(f"[gears.{joint}] has a spring without stiffness.", joint)
        one: Sequence[str] = [joint]
        robot = with_backlash(robot, play, one) if play else robot
        if stiffness:
            spring = values.get("damping", 0.0), values.get("output_inertia", 0.0)
            robot = with_series_elasticity(robot, stiffness, *spring, one)
    return robot
