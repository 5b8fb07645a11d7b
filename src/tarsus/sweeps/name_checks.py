"""Check the names in a sweep (robots, gaits, bodies, commands) before anything is simulated.

A world with an invalid number fails alone, but an unknown name would make all worlds fail.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from tarsus.control.base import Controller
from tarsus.errors import TarsusWarning, UnknownName, unknown_name_error
from tarsus.model.cut import change_coordinates
from tarsus.model.fixed_base import base_options
from tarsus.parameters import declared_fields
from tarsus.registry import name_of
from tarsus.simulation import default_controller, options, resolve
from tarsus.simulation.contact_selection import select_candidates
from tarsus.sweeps.groups import Chunk

NUMBERS = ("dt", "seconds", "push.at", "push.seconds")
PARTS = ("law", "terrain", "gait", "stepper")  # whose parameters are checked by name only


def check_names(groups: Sequence[Chunk]) -> None:
    """Raise TarsusError for an unknown name in the groups of worlds of a sweep."""
    checked = set[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TarsusWarning)  # repeated when the worlds are simulated
        for group in groups:
            words = {n: v for n, v in group.structure.items() if n not in NUMBERS}
            words |= {n: 0 for n in words if "." in n and n.partition(".")[0] in PARTS}
            if (key := repr((words, list(group.columns)))) not in checked:
                checked.add(key)
                _check_group(group.structure, list(group.columns))


def _check_group(shared: Mapping[str, Any], varying: Sequence[str]) -> None:
    """Check the entries that a group shares, and the names of those that may differ."""
    # parts
    resolve.resolve_law(shared["law"])
    resolve.resolve_terrain(shared["terrain"])
    chosen: Any = {name[7:]: value for name, value in shared.items() if name.startswith("option.")}
    complete = options.complete(chosen)
    robot = resolve.resolve_robot(shared["robot"], **base_options(shared))
    robot = default_controller.start_at_keyframe(robot, complete.keyframe)
    stepper, gait = resolve.resolve_stepper(shared["stepper"]), shared["gait"]
    # names of the robot
    select_candidates(robot, complete.contacts, [])
    change_coordinates(robot, complete.coordinates)
    if "push.body" in shared:
        resolve.find_pushed_bodies(robot, shared["push.body"])
    for name in _select_names_of("mass", varying):
        robot.body_index(name)
    # names of the gait and the stepper
    auto = gait == default_controller.AUTO
    used = default_controller.prepare(robot, gait, shared["dt"], [])[1] if auto else gait
    controller = resolve.resolve_controller(used)
    for part, instance in (("gait", controller), ("stepper", stepper)):
        parameters = declared_fields(type(instance)) if is_dataclass(instance) else {}
        for name in _select_names_of(part, shared):
            if name not in parameters:
                raise unknown_name_error(
                    f"parameter of the {part} {name_of(instance)}", name, parameters
                )
    commands = controller.commands if isinstance(controller, Controller) else {}
    for name in _select_names_of("command", varying):
        if not commands:
            raise UnknownName(
                f"the gait {name_of(controller)} takes no commands: remove command.{name}.", name
            )
        if name not in commands:
            raise unknown_name_error(f"command of the gait {name_of(controller)}", name, commands)


def _select_names_of(part: str, names: Iterable[str]) -> list[str]:
    """Select the names that start with "PART.", without this prefix."""
    return [name.partition(".")[2] for name in names if name.startswith(f"{part}.")]
