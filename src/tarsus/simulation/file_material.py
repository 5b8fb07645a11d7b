"""A contact law with the numbers that a robot's file gives its contacts."""

from __future__ import annotations

from dataclasses import replace

from tarsus.contact.base import Law
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import named
from tarsus.simulation import resolve

MU = "mu"  # the friction coefficient, whatever a law calls it


def law(given: Law | str, robot: Mechanism, notices: list[str]) -> Law:
    """The law; one by name with the file's numbers in place of its defaults, and a notice of
    those that it has.
    """
    chosen = resolve.law(given)
    if not isinstance(given, str) or given.endswith(".py") or not robot.material:
        return chosen
    friction = named(type(chosen), "friction")
    of_law = {
        (friction[0] if name == MU and friction else name): value
        for name, value in robot.material.items()
    }
    taken = {name: value for name, value in of_law.items() if name in chosen.parameters()}
    if taken:
        told = ", ".join(f"{name} {value:g}" for name, value in taken.items())
        notices.append(
            f"contacts have the numbers of the file of {robot.name!r}: {told}; --set"
            f" {next(iter(taken))}=... gives others."
        )
    return replace(chosen, **taken)
