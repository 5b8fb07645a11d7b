"""What a sweep names of its robots, gaits and other parts, looked up before anything is simulated.

A world whose numbers are refused fails alone; a name that is not there is missing in all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from tarsus.control.base import Controller
from tarsus.errors import TarsusWarning, UnknownName, unknown_name
from tarsus.model.cut import in_coordinates
from tarsus.model.fixed_base import base_options
from tarsus.parameters import declared
from tarsus.registry import name_of
from tarsus.simulation import default_controller, options, resolve
from tarsus.simulation.contact_selection import select_candidates
from tarsus.sweeps.groups import Chunk

NUMBERS = ("dt", "seconds", "push.at", "push.seconds")
OWNED = ("law", "terrain", "gait", "stepper")  # whose parameters' names matter, not their values


def check(whole: Sequence[Chunk]) -> None:
    """TarsusError for what a group of worlds names and what is not there."""
    looked = set[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TarsusWarning)  # told when it is simulated
        for group in whole:
            words = {n: v for n, v in group.structure.items() if n not in NUMBERS}
            words |= {n: 0 for n in words if "." in n and n.partition(".")[0] in OWNED}
            if (key := repr((words, list(group.columns)))) not in looked:
                looked.add(key)
                _check(group.structure, list(group.columns))


def _check(own: Mapping[str, Any], others: Sequence[str]) -> None:
    """Of one group: what its worlds share, and names of what may differ."""
    # the parts
    resolve.law(own["law"])
    resolve.terrain(own["terrain"])
    chosen: Any = {name[7:]: value for name, value in own.items() if name.startswith("option.")}
    complete = options.complete(chosen)
    robot = resolve.robot(own["robot"], **base_options(own))
    robot = default_controller.start_at_keyframe(robot, complete.keyframe)
    stepper, gait = resolve.stepper(own["stepper"]), own["gait"]
    # the robot's
    select_candidates(robot, complete.contacts, [])
    in_coordinates(robot, complete.coordinates)
    if "push.body" in own:
        resolve.pushed_bodies(robot, own["push.body"])
    for name in _of("mass", others):
        robot.body_index(name)
    # the gait's and the stepper's
    auto = gait == default_controller.AUTO
    used = default_controller.prepare(robot, gait, own["dt"], [])[1] if auto else gait
    controller = resolve.controller(used)
    for part, of in (("gait", controller), ("stepper", stepper)):
        theirs = declared(type(of)) if is_dataclass(of) else {}
        for name in _of(part, own):
            if name not in theirs:
                raise unknown_name(f"parameter of the {part} {name_of(of)}", name, theirs)
    known = controller.commands if isinstance(controller, Controller) else {}
    for name in _of("command", others):
        if not known:
            raise UnknownName(
                f"the gait {name_of(controller)} takes no commands: leave out command.{name}.", name
            )
        if name not in known:
            raise unknown_name(f"command of the gait {name_of(controller)}", name, known)


def _of(part: str, names: Iterable[str]) -> list[str]:
    """What stands behind "PART." in names."""
    return [name.partition(".")[2] for name in names if name.startswith(f"{part}.")]
