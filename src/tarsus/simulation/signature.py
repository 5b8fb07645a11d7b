"""What a state is of: the numbers that lead it, by which the state of something else is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarsus.errors import InvalidValue
from tarsus.sensing.base import Sensor
from tarsus.simulation.recording.part_text import class_of, name_of, parameters
from tarsus.simulation.step_program import Plan

REGISTERS = "registers"  # which of them make the state, and their sizes


@dataclass(frozen=True)
class StateMark:
    """A number that leads a state, and what it says here, in words.

    plain: whether the number itself says it; else it is made of names and choices
    """

    number: float
    here: str
    plain: bool = False

    def there(self, number: float) -> str:
        """What another number says."""
        return str(bool(number)) if self.here in ("True", "False") else f"{number:g}"


def signature(plan: Plan, dt: float, kept: Mapping[str, int]) -> dict[str, StateMark]:
    """The marks of a simulation's states by what they speak of, in order.

    kept: names and sizes of the registers that make the state
    What `Simulation.set` changes is in none of them, nor are the robot's numbers, the terrain and
    the gains of a gait.
    """
    scene, mechanism = plan.scene, plan.scene.mechanism
    joints = [(body.joint.name, body.joint.kind) for body in mechanism.bodies]
    first = mechanism.bodies[0].name
    # the parts without what can be set
    touching = scene.geometry.contact_names, scene.secondary, scene.slots
    law = {k: v for k, v in parameters(scene.law).items() if k not in scene.law.parameters()}
    law_told = class_of(scene.law), sorted(scene.law.parameters()), law
    stepper = parameters(plan.stepper)
    sensors = [(name, class_of(s), _read(s, first)) for name, s in plan.sensing.sensors]
    # a number of each
    moved = "motor" if plan.actuation is None else "file"
    return {
        "robot": _made((mechanism.name, joints), mechanism.name),
        "contacts": _made(touching, f"{len(scene.geometry.contact_names)} that may touch"),
        "law": _made(law_told, _with(scene.law, law)),
        "stepper": _made((class_of(plan.stepper), stepper), _with(plan.stepper, stepper)),
        "controller": _made(type(plan.controller).__qualname__, name_of(plan.controller)),
        "actuators": _made((moved, plan.actuation), moved),
        "sensors": _made(sensors, ", ".join(name for name, *_ in sensors) or "none"),
        REGISTERS: _made(list(kept.items()), f"{len(kept)} of them"),
        "dt": _plain(dt),
        "limits": _plain(scene.limits),
        "bounce": _plain(scene.bounce),
        "stiction": _plain(scene.stiction),
        "stabilization": _plain(scene.stabilization),
    }


def _made(told: object, here: str) -> StateMark:
    """A number of 48 bits made of what is told."""
    digest = hashlib.sha256(repr(told).encode()).digest()
    return StateMark(float(int.from_bytes(digest[:6], "big")), here)


def _plain(value: float | bool) -> StateMark:
    here = str(bool(value)) if isinstance(value, bool | np.bool_) else f"{value:g}"
    return StateMark(float(value), here, plain=True)


def _with(part: Any, chosen: Mapping[str, Any]) -> str:
    """A part's name with what is chosen of it."""
    told = ", ".join(f"{name}={value}" for name, value in chosen.items())
    return f"{name_of(part)}({told})" if told else name_of(part)


def _read(sensor: Sensor, first: str) -> dict[str, Any]:
    """What it reads, and how late at most; first: the body whose frame is meant where none is."""
    aside = ("noise", "bias", "seed")
    told = {k: v for k, v in parameters(sensor).items() if k not in aside}
    return told | ({"frame": told["frame"] or first} if "frame" in told else {})


def checked(given: Any, marks: Mapping[str, StateMark], arrays: Any) -> None:
    """Raise an InvalidValue that says what differs, unless the states (..., n) are of this kind of
    simulation.

    arrays: the module of the array
    """
    # the first row that is of another
    here = arrays.asarray([mark.number for mark in marks.values()])
    rows = given[..., : len(marks)].reshape(-1, len(marks))
    if bool((rows == here).all()):
        return
    wrong = rows[int(arrays.argmax((rows != here).any(1)))]
    other = [float(number) for number in wrong]
    # what differs
    differs = {
        name: f"{name} = {mark.there(number)} instead of {mark.here}"
        if mark.plain
        else f"different {name} (here {mark.here})"
        for (name, mark), number in zip(marks.items(), other, strict=True)
        if number != mark.number
    }
    if all(name in differs for name, mark in marks.items() if not mark.plain):
        raise InvalidValue(
            "not a snapshot of this version; pass the array that `sim.state()` returned.", "state"
        )
    if len(differs) > 1:
        differs.pop(REGISTERS, None)  # they follow from the rest
    raise InvalidValue(
        "the state comes from a simulation with other settings:"
        f" {', '.join(differs.values())}; restore it in one that was created the same way.",
        "state",
    )
