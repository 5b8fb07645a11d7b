"""The names that a sweep may fix or vary, and which of them ask for a compiled step of their own.

robot, law, stepper, terrain, gait: words; dt, seconds: s; seed: of `noise`
fixed_base: whether the robot's base is held in the world; base_height: how high its origin, m
law.NAME, terrain.NAME, gait.NAME, stepper.NAME: their parameters
option.NAME: an option of a `Simulation`
mass.BODY: factor on a mass; command.NAME: of the gait
push.x, push.y, push.z: N, on push.body, from push.at on for push.seconds, s
noise.q, noise.u: standard deviation of the joints' angles, rad, and of all velocities at the start
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

from tarsus import registry
from tarsus.errors import IncompatibleOptions, InvalidValue, unknown_name
from tarsus.model import fixed_base
from tarsus.model.robot_data import file_of
from tarsus.parameters import declared
from tarsus.simulation import options, resolve
from tarsus.simulation.time_steps import DEFAULT_DT

WORDS = ("robot", "law", "stepper", "terrain", "gait")
NUMBERS = ("dt", "seconds", "seed", *fixed_base.ENTRIES)
PARTS = ("law", "terrain", "gait", "stepper", "option", "mass", "command", "push", "noise")
PUSH = {"body": True, "at": True, "seconds": True, "x": False, "y": False, "z": False}
NOISE = ("q", "u")
FILES = WORDS  # which may be paths
DEFAULTS = {
    "law": "moreau",
    "stepper": "midpoint",
    "terrain": "plane",
    "gait": "auto",
    "dt": DEFAULT_DT,
    "seconds": 2.0,
}
TAKEN = ("worlds", "parameters", "mass_scale", "pushes", "varied", "sensors", "control_rate")


def check(name: str) -> None:
    """TarsusError unless a sweep knows such a name; parts of robots and gaits are checked later."""
    part, dot, own = name.partition(".")
    if not dot and name in (*WORDS, *NUMBERS):
        return
    if not dot or part not in PARTS:
        known = (*WORDS, *NUMBERS, *(f"{p}.NAME" for p in PARTS))
        raise unknown_name("entry of a sweep", name, known)
    known = {"push": tuple(PUSH), "noise": NOISE, "option": tuple(_options())}.get(part)
    if known is not None and own not in known:
        raise unknown_name(f"entry {part}.NAME of a sweep", own, known)


def check_value(name: str, value: Any) -> None:
    """TarsusError for a word where a sweep wants a number."""
    part, _, own = name.partition(".")
    numeric = part in ("seed", "mass", "command", "noise") or (part == "push" and own != "body")
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if numeric and not number:
        raise InvalidValue(f"{name} must be a finite number, not {value!r}.", name)


def _options() -> list[str]:
    """The options of a simulation that a sweep may set."""
    return [name for name in options.declared() if name not in TAKEN]


def structural(name: str, world: Mapping[str, Any]) -> bool:
    """Whether worlds that differ in it need batches of their own.

    world: all names and values of a world, the defaults filled in
    TarsusError if the law or terrain has no such parameter.
    """
    part, dot, own = name.partition(".")
    if not dot:
        return name != "seed"
    if part in ("mass", "command", "noise"):
        return False
    if part == "push":
        return PUSH[own]
    if part in ("law", "terrain"):
        kind: Any = type(resolve.law(world["law"]) if part == "law" else _terrain(world))
        known = declared(kind)
        if own not in known:
            raise unknown_name(f"parameter of the {part} {world[part]}", own, known)
        return not known[own].numeric or known[own].scalar
    return True


def _terrain(world: Mapping[str, Any]) -> Any:
    return resolve.terrain(world["terrain"])


def own_file(world: Mapping[str, Any]) -> list[str]:
    """Paths among a world's names: of a robot, law, ... from files that are not ours."""
    robot = str(world.get("robot", ""))
    robots = [robot] if robot and robot not in registry.names("tarsus.robots") else []
    others = [str(world[name]) for name in FILES if name != "robot" and name in world]
    own = [name for name in others if name.endswith((registry.PYTHON_SUFFIX, resolve.WORLD_FILE))]
    return [*(str(file_of(name) or name) for name in robots), *own]


def completed(world: Mapping[str, Any]) -> dict[str, Any]:
    """A world's names with the defaults filled in. TarsusError for what does not go together."""
    found = {**DEFAULTS, **world}
    pushes = [name for name in found if name.startswith("push.")]
    if pushes and "push.body" not in found:
        raise IncompatibleOptions(
            f'{pushes[0]} needs a body to push: add push.body = "base" to [fixed].', pushes[0]
        )
    fixed_base.base_options(found)
    return found


def check_times(world: Mapping[str, Any]) -> None:
    """TarsusError unless a world's times, the defaults filled in, are such, and its push begins
    while it runs.
    """
    for name in ("dt", "seconds", "push.seconds"):
        _positive(name, world.get(name, 1.0))
    if "push.body" in world:
        begun, whole = world.get("push.at", 0.0), world["seconds"]
        known = isinstance(begun, int | float)
        if not known or not 0 <= begun < whole:
            raise InvalidValue(
                f"push.at must be at least 0 and below the run's {whole} s, not {begun!r}.",
                "push.at",
            )


def _positive(name: str, value: Any) -> None:
    """TarsusError unless it is a finite number above zero."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < inf:
        raise InvalidValue(f"{name} must be a positive number of seconds, not {value!r}.", name)
