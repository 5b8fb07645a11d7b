"""Set parameters of the law, gait, stepper and terrain by name.

A user gives them as text, NAME=VALUE, or as a name and a value. Text becomes a number here, once,
by the declaration of its parameter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, NamedTuple

from tarsus import parameters
from tarsus.errors import InvalidValue, UnknownName, Unsupported, closest_names, quote
from tarsus.parameters import Parameter

NONE = "none"  # text for None, as in tables
ParameterSetting = str | tuple[str, Any]
"""NAME=VALUE, or a name and a value."""


class RunPart(NamedTuple):
    """Name of a part of a run, such as its law or gait, and the names of its parameters."""

    owner: str
    name: str
    parameters: Collection[str]


class Assignment(NamedTuple):
    """A parameter and its new value: key of the part that has it, name and value."""

    owner: str
    name: str
    value: Any


def as_list(parameters: Mapping[str, Any] | Sequence[ParameterSetting]) -> list[ParameterSetting]:
    """Convert parameters in a dictionary or list to a list."""
    return list(parameters.items() if isinstance(parameters, Mapping) else parameters)


def split_assignment(setting: ParameterSetting) -> tuple[str, Any]:
    """Split an assignment into name and value, which is text if NAME=VALUE was given."""
    if isinstance(setting, tuple) and len(setting) == 2 and isinstance(setting[0], str):
        return setting
    name, equals, value = setting.partition("=") if isinstance(setting, str) else ("", "", "")
    if not equals:
        raise InvalidValue(
            f"parameters are set as NAME=VALUE, such as kp=60, not {setting!r}.", "parameters"
        )
    return name, value


def set_parameters(
    parts: Mapping[str, Any], settings: Sequence[ParameterSetting]
) -> dict[str, Any]:
    """Set parameters of the parts of a run.

    A name that several parts have belongs to the first. "law.NAME", "gait.NAME" and so on, or the
    name of the part in front, select a part. Text is a number, several numbers separated by commas,
    or a word, as the declaration of the parameter says.

    Parameters
    ----------
    parts
        Parts by kind, such as "law".
    settings
        Assignments.

    Raises
    ------
    UnknownName
        If no part has such a parameter.
    InvalidValue
        If a parameter is set twice, or its value is not allowed.
    """
    changes: dict[str, dict[str, Any]] = {whose: {} for whose in parts}
    known = run_parts(parts)
    for one in settings:
        whose, name, value = resolve_assignment(one, known)
        if name in changes[whose]:
            raise InvalidValue(f"{name} of the {whose} is set twice; keep one.", name)
        declaration = _collect_declared(parts[whose])[name]
        owner = parameters.name_of(parts[whose])
        changes[whose][name] = _field_value(owner, declaration, value)
    return {
        whose: replace(part, **changes[whose]) if changes[whose] else part
        for whose, part in parts.items()
    }


def run_parts(parts: Mapping[str, Any]) -> list[RunPart]:
    """List the names of the parts of a run and of their parameters."""
    return [
        RunPart(p, parameters.name_of(part), _collect_declared(part)) for p, part in parts.items()
    ]


def _collect_declared(part: Any) -> Mapping[str, Parameter]:
    """Collect the declared parameters of a part; a function, or None, has none."""
    return parameters.declared_fields(type(part)) if is_dataclass(part) else {}


def resolve_assignment(setting: ParameterSetting, parts: Sequence[RunPart]) -> Assignment:
    """Find the first part that has the parameter of an assignment.

    Raises
    ------
    UnknownName
        If no part has such a parameter.
    """
    full, value = split_assignment(setting)
    whose, dot, name = full.rpartition(".")
    for part in parts:
        if name in part.parameters and (not dot or whose in part[:2]):
            return Assignment(part.owner, name, value)
    raise _unknown_parameter_error(full, parts)


def assigned_names(settings: Sequence[ParameterSetting], owner: str, part: Any) -> set[str]:
    """List the parameters of a part that assignments set; the part is searched first."""
    names = (split_assignment(one)[0].rpartition(".") for one in settings)
    return {name for of, _, name in names if of in ("", owner, parameters.name_of(part))}


def check_unambiguous(settings: Sequence[ParameterSetting], parts: Sequence[RunPart]) -> None:
    """Raise InvalidValue for a parameter that several parts have."""
    for one in settings:
        name, value = split_assignment(one)
        having = [part for part in parts if name in part.parameters]
        if len(having) > 1:
            meant = (f"{o.owner}.{name}={value} (the {o.owner} {o.name}'s)" for o in having)
            raise InvalidValue(
                f"{name} is a parameter of several parts; write {' or '.join(meant)}.", name
            )


def _unknown_parameter_error(name: str, parts: Sequence[RunPart]) -> UnknownName:
    """Create an error that suggests similar parameters, or lists all."""
    whose = dict[str, list[str]]()
    for part in parts:
        for known in part.parameters:
            whose.setdefault(known, []).append(f"{part.owner} {part.name}")
    suggestions = closest_names(name.rpartition(".")[2], whose)
    if suggestions:
        meant = (f"{known} ({' or '.join(whose[known])})" for known in suggestions)
        hint = f"did you mean {' or '.join(meant)}?"
    else:
        listed = [f"{', '.join(o.parameters)} ({o.owner} {o.name})" for o in parts if o.parameters]
        hint = f"choose from: {'; '.join(listed)}."
    return UnknownName(f"no part of this run has a parameter named {quote(name)}; {hint}", name)


def _field_value(owner: str, declaration: Parameter, value: Any) -> Any:
    """Convert the value of a field; the class of its owner checks it."""
    if not isinstance(value, str):
        one = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if one and not declaration.is_integer else value
    return _parse(owner, declaration, value)


def _parse(owner: str, declaration: Parameter, text: str) -> Any:
    """Parse the value that a text represents."""
    if text == NONE and declaration.default is None:
        return None
    if not declaration.is_numeric:
        if isinstance(declaration.default, str):
            return text
        raise Unsupported(
            f"{owner}: {declaration.name} can be set from Python only.", declaration.name
        )
    number = int if declaration.is_integer else float
    try:
        numbers = [number(part) for part in text.split(",")]
    except ValueError:
        rule = f"{owner}: {declaration.name} must be {declaration.kind}"
        raise InvalidValue(f"{rule}, not {text!r}.", declaration.name) from None
    return numbers[0] if len(numbers) == 1 else tuple(numbers)
