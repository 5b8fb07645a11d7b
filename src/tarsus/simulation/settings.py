"""Settings that `Simulation.set` can write.

Each group (state, law, terrain, gait, ...) lists its settings once, with name, registers, shape,
range, unit and meaning, and converts values to registers of the compiled step. `Settings` finds the
group of every name, and suggests similar names for an unknown one.
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
    quote,
    unknown_name_error,
)
from tarsus.parameters.range import ANY, Range
from tarsus.program.run.backend import Backend
from tarsus.simulation.inputs import check_numbers, to_numpy
from tarsus.simulation.options import Options

FIXED_OPTIONS = (*Options.__annotations__, "dt")  # fixed when a simulation is created


@dataclass(frozen=True)
class Setting:
    """One value that `Simulation.set` can write.

    Attributes
    ----------
    name
        Keyword of `set`.
    registers
        Registers that it writes; empty if the compiled step has none for it.
    shape
        Shape of one world's value, () for a number; None for an object or dictionary.
    range
        Allowed numbers.
    unit
        SI unit; "[1]" for a dimensionless number, empty if it is not numeric.
    meaning
        Meaning of the setting, in a few words.
    role
        Role by which other code finds the setting, such as "friction".
    integer
        Whether the value is an integer.
    range_remedy
        Remedy for a number out of range, which ends the message.
    """

    name: str
    registers: tuple[str, ...]
    shape: tuple[int, ...] | None = ()
    range: Range = ANY
    unit: str = ""
    meaning: str = ""
    role: str = ""
    integer: bool = False
    range_remedy: str = ""

    def read(self, numbers: Any, worlds: Backend, owner: str = "") -> Any:
        """Check a value for all worlds, or one per world; move it to their device.

        Parameters
        ----------
        numbers
            Value given by the user.
        worlds
            Worlds that get the value.
        owner
            Name of the body, joint or actuator to which the value belongs.

        Raises
        ------
        InvalidValue
            If the shape is wrong, or a number is out of range.
        """
        shape = self.shape or ()
        what = f"{self.name} of {owner!r}" if owner else self.name
        value = check_numbers(what, numbers, [shape, (worlds.count, *shape)], worlds, self.name)
        numbers_read = to_numpy(worlds, value)
        wrong = numbers_read[~self.range.contains(numbers_read)]
        if wrong.size:
            rule, worst = self.range.rule(wrong[0]), wrong[0]
            hint = f"; {self.range_remedy}" if self.range_remedy else ""
            raise InvalidValue(f"{what} must {rule}, not {worst:g}{hint}.", self.name)
        if self.integer and np.any(numbers_read != np.round(numbers_read)):
            worst = numbers_read[numbers_read != np.round(numbers_read)][0]
            raise InvalidValue(f"{what} must be a whole number, not {worst:g}.", self.name)
        return value


WriteSettings = Callable[[Backend, Mapping[str, Any], Any], Mapping[str, Any]]


@dataclass(frozen=True)
class SettingGroup:
    """Settings that are written together.

    Attributes
    ----------
    name
        Name of the group, such as "law".
    settings
        Its settings.
    write
        Function of the worlds, the values by name and a mask (worlds,) or None, which returns the
        registers with new values. It gets all values of a call, because they may depend on each
        other.
    unavailable
        Sentence about each setting that a simulation created differently would have.
    """

    name: str
    settings: tuple[Setting, ...]
    write: WriteSettings
    unavailable: Mapping[str, str] = field(default_factory=dict)


class Settings:
    """All settings of a simulation, by group; if several share a name, the first counts.

    Parameters
    ----------
    owners
        The groups.
    otherwise
        Names of settings by the option of `Simulation` that would make them settable.
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
        """Compute the registers that values write, after checking all of them.

        Parameters
        ----------
        worlds
            The worlds.
        values
            Values by name.
        mask
            Worlds to set, shape (worlds,), or None for all.

        Raises
        ------
        TarsusError
            If a name is unknown or a value is not allowed.
        """
        of_owner: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            if name not in self._owner_of:
                raise self._refusal(name)
            of_owner.setdefault(self._owner_of[name].name, {})[name] = value
        registers: dict[str, Any] = {}
        for owner in self.owners:
            if owner.name in of_owner:
                registers |= owner.write(worlds, of_owner[owner.name], mask)
        return registers

    def _refusal(self, name: str) -> TarsusError:
        """Create an error for a name that cannot be set here."""
        for owner in self.owners:
            if name in owner.unavailable:
                return IncompatibleOptions(owner.unavailable[name], name)
        if name in FIXED_OPTIONS:
            text = f"{name} cannot be changed after a Simulation is created; create a new one."
            return Unsupported(text, name)
        # suggest the name that the law uses
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
        # suggest similar names, also of settings that need an option
        for option, names in self._otherwise.items():
            suggestions = closest_names(name, names)
            if suggestions and not closest_names(name, known):
                return UnknownName(
                    f"there is no state or parameter named {quote(name)}; did you mean"
                    f" {' or '.join(suggestions)}? To change it, create the simulation with"
                    f' {option}=["{suggestions[0]}"].',
                    name,
                )
        return unknown_name_error("state or parameter", name, known)


def values_by_name(kind: str, value: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """Assign values to names; a single value is repeated for all names.

    Parameters
    ----------
    kind
        Kind of object with these names, such as "body with a varied mass".
    value
        A value, or a mapping of names to values.
    names
        Known names.

    Raises
    ------
    UnknownName
        If a name is not known.
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    for name in value:
        if name not in names:
            raise unknown_name_error(kind, str(name), names)
    return value
