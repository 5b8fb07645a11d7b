"""Parameters given as text, NAME=VALUE, into the law, gait, stepper and terrain that have them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, NamedTuple

from tarsus import parameters
from tarsus.errors import InvalidValue, UnknownName, Unsupported, near_names, shortened
from tarsus.parameters import Parameter

NONE = "none"  # the word for a parameter that is left out, as tables print it


class Owner(NamedTuple):
    """Names alone: a part of a run ("law", "gait", ...), what it is, and its parameters."""

    whose: str
    name: str
    parameters: Collection[str]


class Setting(NamedTuple):
    """One NAME=VALUE: whose it is (a key of the parts), the name and the value as text."""

    whose: str
    name: str
    value: str


def with_parameters(parts: Mapping[str, Any], given: Sequence[str]) -> dict[str, Any]:
    """The parts of a run ("law", "gait", ...) with NAME=VALUE set; TarsusError if none has it.

    A name that several have is the first one's; law.NAME=VALUE, gait.NAME=VALUE and so on, or the
    part's own name in front, say whose is meant. A value is a number, several with commas between
    them, or a word, as its declaration says.
    """
    changes: dict[str, dict[str, Any]] = {whose: {} for whose in parts}
    owners = owners_of(parts)
    for text in given:
        setting = read(text, owners)
        if setting.name in changes[setting.whose]:
            raise InvalidValue(
                f"{setting.name} of the {setting.whose} is set twice; keep one.", setting.name
            )
        declaration = _declared(parts[setting.whose])[setting.name]
        owner = parameters.name_of(parts[setting.whose])
        changes[setting.whose][setting.name] = _value(owner, declaration, setting.value)
    return {
        whose: replace(part, **changes[whose]) if changes[whose] else part
        for whose, part in parts.items()
    }


def owners_of(parts: Mapping[str, Any]) -> list[Owner]:
    """Of the parts of a run, in their order."""
    return [Owner(p, parameters.name_of(part), _declared(part)) for p, part in parts.items()]


def _declared(part: Any) -> Mapping[str, Parameter]:
    """The declared parameters of a part; a function, or None, has none."""
    return parameters.declared(type(part)) if is_dataclass(part) else {}


def read(text: str, owners: Sequence[Owner]) -> Setting:
    """Whose parameter a NAME=VALUE sets, the first owner's that has it; TarsusError if none has."""
    full, equals, value = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not equals:
        raise InvalidValue(
            f"parameters are set as NAME=VALUE, such as kp=60, not {text!r}.", "parameters"
        )
    whose, dot, name = full.rpartition(".")
    for owner in owners:
        if name in owner.parameters and (not dot or whose in owner[:2]):
            return Setting(owner.whose, name, value)
    raise _unknown(full, owners)


def names_set(given: Sequence[str], whose: str, part: Any) -> set[str]:
    """Names among NAME=VALUE that are those of this part of a run, the first that is asked."""
    names = (text.partition("=")[0].rpartition(".") for text in given if isinstance(text, str))
    return {name for of, _, name in names if of in ("", whose, parameters.name_of(part))}


def unambiguous(given: Sequence[str], owners: Sequence[Owner]) -> None:
    """TarsusError for a NAME=VALUE whose parameter several owners have."""
    for text in given:
        name, _, value = text.partition("=")
        having = [owner for owner in owners if name in owner.parameters]
        if len(having) > 1:
            meant = (f"{o.whose}.{name}={value} (the {o.whose} {o.name}'s)" for o in having)
            raise InvalidValue(
                f"{name} is a parameter of several parts; write {' or '.join(meant)}.", name
            )


def _unknown(name: str, owners: Sequence[Owner]) -> UnknownName:
    """An error that names the near parameters and their owners, else all."""
    whose = dict[str, list[str]]()
    for owner in owners:
        for known in owner.parameters:
            whose.setdefault(known, []).append(f"{owner.whose} {owner.name}")
    near = near_names(name.rpartition(".")[2], whose)
    if near:
        meant = (f"{known} ({' or '.join(whose[known])})" for known in near)
        hint = f"did you mean {' or '.join(meant)}?"
    else:
        there = [f"{', '.join(o.parameters)} ({o.whose} {o.name})" for o in owners if o.parameters]
        hint = f"known are: {'; '.join(there)}."
    return UnknownName(f"no part of this run has a parameter named {shortened(name)}; {hint}", name)


def _value(owner: str, declaration: Parameter, text: str) -> Any:
    """The value that a text stands for: its owner checks it."""
    if text == NONE and declaration.default is None:
        return None
    if not declaration.numeric:
        if isinstance(declaration.default, str):
            return text
        raise Unsupported(
            f"{owner}: {declaration.name} can be set from Python only.", declaration.name
        )
    number = int if declaration.whole else float
    try:
        found = [number(part) for part in text.split(",")]
    except ValueError:
        rule = f"{owner}: {declaration.name} must be {declaration.kind}"
        raise InvalidValue(f"{rule}, not {text!r}.", declaration.name) from None
    return found[0] if len(found) == 1 else tuple(found)
