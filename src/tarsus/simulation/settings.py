"""The register of the values that `Simulation.set` writes.

Each owner (the state, the law, the terrain, the gait, ...) lists its settings once, each with name,
registers, shape, range, unit and meaning, and turns values into the registers of the compiled step.
`Settings` finds the owner of every name, and answers an unknown name with near ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tarsus.errors import (
    IncompatibleOptions,
    InvalidValue,
    TarsusError,
    UnknownName,
    Unsupported,
    closest_names,
    quoted,
    unknown_name,
)
from tarsus.parameters.range import ANY, Range
from tarsus.program.run.backend import Backend
from tarsus.simulation.inputs import check_numbers, to_numpy
from tarsus.simulation.options import Options

FIXED_OPTIONS = (*Options.__annotations__, "dt")  # chosen when a simulation is created


@dataclass(frozen=True)
class Setting:
    """One value that `Simulation.set` writes.

    name: its keyword
    registers: those that it writes; none where the compiled step has no number of it
    shape: of one world's value, () for a number; None for an object or a dictionary of its own
    range: the numbers allowed
    unit: SI, "[1]" for a number without one, empty for what is no number
    meaning: what it is, in a few words
    role: by which other code finds it ("friction", ...)
    whole: whether it is a whole number
    outside: what to do for a number out of its range, a sentence's end
    """

    name: str
    registers: tuple[str, ...]
    shape: tuple[int, ...] | None = ()
    range: Range = ANY
    unit: str = ""
    meaning: str = ""
    role: str = ""
    whole: bool = False
    outside: str = ""

    def read(self, given: Any, worlds: Backend, of: str = "") -> Any:
        """Return a value for all worlds, or one for each, where the worlds live.

        of: name of the body, joint or actuator that it belongs to
        Raises InvalidValue, naming the setting, for another shape or a number out of range.
        """
        shape = self.shape or ()
        what = f"{self.name} of {of!r}" if of else self.name
        value = check_numbers(what, given, [shape, (worlds.count, *shape)], worlds, self.name)
        found = to_numpy(worlds, value)
        wrong = found[~self.range.holds(found)]
        if wrong.size:
            rule, worst = self.range.rule(wrong[0]), wrong[0]
            hint = f"; {self.outside}" if self.outside else ""
            raise InvalidValue(f"{what} must {rule}, not {worst:g}{hint}.", self.name)
        if self.whole and np.any(found != np.round(found)):
            worst = found[found != np.round(found)][0]
            raise InvalidValue(f"{what} must be a whole number, not {worst:g}.", self.name)
        return value


WriteSettings = Callable[[Backend, Mapping[str, Any], Any], Mapping[str, Any]]


@dataclass(frozen=True)
class SettingGroup:
    """An owner of settings.

    name: "law", "terrain", ...
    settings: its values in a simulation
    write: from the worlds, its values by name and a mask (worlds,), or None, to the registers with
        new values; the values of one call are written together, for they may depend on each other
    lacking: settings that it would have in a simulation created otherwise, and how, a sentence each
    """

    name: str
    settings: tuple[Setting, ...]
    write: WriteSettings
    lacking: Mapping[str, str] = field(default_factory=dict)


class Settings:
    """All settings of a simulation, owner by owner: of several with one name the first counts.

    otherwise: names of settings by the option of `Simulation` that would make them settable
    """

    def __init__(
        self, owners: Sequence[SettingGroup], otherwise: Mapping[str, Collection[str]]
    ) -> None:
        self.owners = tuple(owners)
        self._otherwise = otherwise
        self._owner_of = {s.name: owner for owner in reversed(owners) for s in owner.settings}

    @property
    def settings(self) -> list[Setting]:
        """Every setting that writes a register."""
        return [s for owner in self.owners for s in owner.settings if s.registers]

    def registers(self, worlds: Backend, values: Mapping[str, Any], mask: Any) -> dict[str, Any]:
        """Return the registers that these values write, all checked; TarsusError naming what is
        wrong.

        mask: the worlds meant, (worlds,), or None for all
        """
        of_owner: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            if name not in self._owner_of:
                raise self._refusal(name)
            of_owner.setdefault(self._owner_of[name].name, {})[name] = value
        found: dict[str, Any] = {}
        for owner in self.owners:
            if owner.name in of_owner:
                found |= owner.write(worlds, of_owner[owner.name], mask)
        return found

    def _refusal(self, name: str) -> TarsusError:
        """Return the error for a name that cannot be set here."""
        for owner in self.owners:
            if name in owner.lacking:
                return IncompatibleOptions(owner.lacking[name], name)
        if name in FIXED_OPTIONS:
            text = f"{name} cannot be changed after a Simulation is created; create a new one."
            return Unsupported(text, name)
        # what it may be called here
        known = [setting.name for setting in self.settings]
        for setting in self.settings:
            if setting.role.partition("_")[0] == name:
                return UnknownName(
                    f"there is no state or parameter named {name}; this law calls it"
                    f" {setting.name}.",
                    name,
                )
        if name in ("noise", "bias") and "sensors" in known:
            return UnknownName(
                f'{name} belongs to a sensor; call set(sensors={{NAME: {{"{name}": ...}}}})'
                " instead.",
                name,
            )
        # a near name, also among what could be set in another simulation
        for option, names in self._otherwise.items():
            near = closest_names(name, names)
            if near and not closest_names(name, known):
                return UnknownName(
                    f"there is no state or parameter named {quoted(name)}; did you mean"
                    f" {' or '.join(near)}? To change it, create the simulation with"
                    f' {option}=["{near[0]}"].',
                    name,
                )
        return unknown_name("state or parameter", name, known)


def values_by_name(kind: str, given: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """Return values by name, a single one for all names; UnknownName for a name not among them.

    kind: of what has the names, such as "body with a varied mass"
    """
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, given)
    for name in given:
        if name not in names:
            raise unknown_name(kind, str(name), names)
    return given
