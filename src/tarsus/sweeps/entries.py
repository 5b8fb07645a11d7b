"""Entries that a sweep may fix or vary, and which of them need a separate compiled step.

==================================  ==========================================================
robot, law, stepper, terrain, gait  names
dt, seconds                         time step and duration, s
seed                                seed of `noise`
fixed_base, base_height             whether the base is fixed to the world, and its height, m
law.NAME, terrain.NAME,             parameters of these parts
gait.NAME, stepper.NAME
option.NAME                         option of a `Simulation`
mass.BODY                           factor of a body's mass
command.NAME                        command of the gait
push.body                           body that is pushed
push.x, push.y, push.z              force of the push, N
push.at, push.seconds               start and duration of the push, s
noise.q, noise.u                    standard deviation of the initial joint positions (rad, m)
                                    and of all initial velocities (rad/s, m/s)
==================================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

from tarsus import registry
from tarsus.errors import IncompatibleOptions, InvalidValue, unknown_name_error
from tarsus.model import fixed_base
from tarsus.model.robot_data import find_file
from tarsus.parameters import declared_fields
from tarsus.simulation import options, resolve
from tarsus.simulation.time_steps import DEFAULT_DT

WORDS = ("robot", "law", "stepper", "terrain", "gait")
NUMBERS = ("dt", "seconds", "seed", *fixed_base.ENTRIES)
PARTS = ("law", "terrain", "gait", "stepper", "option", "mass", "command", "push", "noise")
PUSH = {  # entry of a push: whether it is structural
    **{"body": True, "at": True, "seconds": True},
    **{"x": False, "y": False, "z": False},
}
NOISE = ("q", "u")
FILES = WORDS  # entries that may be paths
DEFAULTS = {
    "law": "moreau",
    "stepper": "midpoint",
    "terrain": "plane",
    "gait": "auto",
    "dt": DEFAULT_DT,
    "seconds": 2.0,
}
UNAVAILABLE_OPTIONS = (
    *("worlds", "parameters", "mass_scale", "pushes", "varied", "sensors", "control_rate"),
)


def check(name: str) -> None:
    """Raise UnknownName unless a sweep has such an entry.

    Names of bodies, commands and parameters are checked later.
    """
    part, dot, name_in_part = name.partition(".")
    if not dot and name in (*WORDS, *NUMBERS):
        return
    if not dot or part not in PARTS:
        known = (*WORDS, *NUMBERS, *(f"{p}.NAME" for p in PARTS))
        raise unknown_name_error("entry of a sweep", name, known)
    known = {"push": tuple(PUSH), "noise": NOISE, "option": tuple(_list_options())}.get(part)
    if known is not None and name_in_part not in known:
        raise unknown_name_error(f"entry {part}.NAME of a sweep", name_in_part, known)


def check_value(name: str, value: Any) -> None:
    """Raise InvalidValue if the entry must be a number and the value is not one."""
    part, _, name_in_part = name.partition(".")
    numeric = part in ("seed", "mass", "command", "noise") or (
        part == "push" and name_in_part != "body"
    )
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if numeric and not number:
        raise InvalidValue(f"{name} must be a finite number, not {value!r}.", name)


def _list_options() -> list[str]:
    """List the options of a simulation that a sweep may set."""
    return [name for name in options.declared_options() if name not in UNAVAILABLE_OPTIONS]


def is_structural(name: str, world: Mapping[str, Any]) -> bool:
    """Return whether worlds that differ in an entry need separate batches.

    Parameters
    ----------
    name
        Name of the entry.
    world
        All entries of a world, including the defaults.

    Raises
    ------
    UnknownName
        If the law or the terrain has no such parameter.
    """
    part, dot, name_in_part = name.partition(".")
    if not dot:
        return name != "seed"
    if part in ("mass", "command", "noise"):
        return False
    if part == "push":
        return PUSH[name_in_part]
    if part in ("law", "terrain"):
        kind: Any = type(resolve.resolve_law(world["law"]) if part == "law" else _terrain(world))
        known = declared_fields(kind)
        if name_in_part not in known:
            raise unknown_name_error(f"parameter of the {part} {world[part]}", name_in_part, known)
        return not known[name_in_part].is_numeric or known[name_in_part].scalar
    return True


def _terrain(world: Mapping[str, Any]) -> Any:
    return resolve.resolve_terrain(world["terrain"])


def user_files(world: Mapping[str, Any]) -> list[str]:
    """Find the files in a world's entries, such as those of a robot or a user's law."""
    robot = str(world.get("robot", ""))
    robots = [robot] if robot and robot not in registry.names("tarsus.robots") else []
    parts = [str(world[name]) for name in FILES if name != "robot" and name in world]
    files = [name for name in parts if name.endswith((registry.PYTHON_SUFFIX, resolve.WORLD_FILE))]
    return [*(str(find_file(name) or name) for name in robots), *files]


def complete(world: Mapping[str, Any]) -> dict[str, Any]:
    """Complete a world's entries by the defaults; raise TarsusError for an incompatible entry."""
    entries = {**DEFAULTS, **world}
    pushes = [name for name in entries if name.startswith("push.")]
    if pushes and "push.body" not in entries:
        raise IncompatibleOptions(
            f'{pushes[0]} needs a body to push: add push.body = "base" to [fixed].', pushes[0]
        )
    fixed_base.base_options(entries)
    return entries


def check_times(world: Mapping[str, Any]) -> None:
    """Raise InvalidValue unless a world's times are positive and its push starts during the run.

    The world's entries include the defaults.
    """
    for name in ("dt", "seconds", "push.seconds"):
        _check_positive(name, world.get(name, 1.0))
    if "push.body" in world:
        start, duration = world.get("push.at", 0.0), world["seconds"]
        if not isinstance(start, int | float) or not 0 <= start < duration:
            raise InvalidValue(
                f"push.at must be at least 0 and below the run's {duration} s, not {start!r}.",
                "push.at",
            )


def _check_positive(name: str, value: Any) -> None:
    """Raise InvalidValue unless the value is a finite number above zero."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < inf:
        raise InvalidValue(f"{name} must be a positive number of seconds, not {value!r}.", name)
