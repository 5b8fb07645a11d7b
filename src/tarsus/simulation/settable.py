"""What `Simulation.set` can set in one simulation, for the error that names it."""

from __future__ import annotations

from collections.abc import Sequence

from tarsus.errors import UnknownName, near_names, shortened, unknown
from tarsus.program.run.backend import Backend
from tarsus.simulation.varied import KINDS

ALONE = ("q", "u", "command", "push")  # registers that are set by their own names
OWNERS = ("law", "actuators")  # registers OWNER.NAME are set as NAME
WHOLE = {"terrain": "terrain", "sensed": "sensors"}  # these by one name for all


def settable(worlds: Backend, varying: Sequence[str]) -> list[str]:
    """The names of all that has a register of its own here; varying: what is varied."""
    found = [*(name for name in ALONE if name in worlds), *varying]
    for register in worlds.program.sizes:
        owner, _, name = register.partition(".")
        if register in worlds and name:
            found += [name] if owner in OWNERS else [WHOLE[owner]] if owner in WHOLE else []
    return found


OTHERWISE = {"friction": "mu", "restitution": "e_N"}  # what laws call it


def not_settable(name: str, worlds: Backend, varying: Sequence[str]) -> UnknownName:
    """The error for a name that `set` does not know: near names of what can be set here, else of
    what could be varied, else all that can be set.
    """
    known = settable(worlds, varying)
    if OTHERWISE.get(name) in known:
        return UnknownName(
            f"there is no state or parameter named {name}; this law calls it {OTHERWISE[name]}.",
            name,
        )
    if name in ("noise", "bias") and "sensors" in known:
        return UnknownName(
            f'{name} belongs to a sensor; call set(sensors={{NAME: {{"{name}": ...}}}}) instead.',
            name,
        )
    near = near_names(name, KINDS)
    if near and not near_names(name, known):
        return UnknownName(
            f"there is no state or parameter named {shortened(name)}; did you mean"
            f" {' or '.join(near)}? To change it, create the simulation with"
            f' varied=["{near[0]}"].',
            name,
        )
    return unknown("state or parameter", name, known)
