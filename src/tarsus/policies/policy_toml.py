"""Read and write `policy.toml`, a contract as a file that people can edit.

Keys are the fields of `Contract`; paths are relative to the file. Terms are names, or tables with
name, scale, clip, history and the options of the term.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile, unknown_name_error
from tarsus.files import read_toml
from tarsus.policies.contract import Contract, Term, as_numbers
from tarsus.policies.importers.base import as_list, as_table, parse_range
from tarsus.policies.terms import TERMS

NUMBER_FIELDS = {"scale", "kp", "kd", "torque_limit", "armature", "positions"}
SCALARS = {"rate", "filter", "delay", "height", "settle"}
PATH_FIELDS = ("network", "motion")
TEXT_FIELDS = {"kind", "order", "layout", "newest", "first", "input", "output", "robot"}
TEXT_FIELDS |= set(PATH_FIELDS)
ROBOT_FILES = (".xml", ".urdf", ".sdf")
INTERNAL_FIELDS = {"origins", "assumptions"}  # files cannot set them
TERM_KEYS = ("name", "scale", "clip", "history", "label")


def network_of(path: Path) -> Path:
    """Read the path of the network in a policy.toml; raise InvalidFile without one."""
    name = read_toml(path).get("network")
    if name is None:
        raise InvalidFile(
            f"{path} does not name a network: add network = 'policy.onnx'.", "network"
        )
    return path.parent / _value("network", name)


def overlay(contract: Contract, data: Mapping[str, Any], source: str, folder: Path) -> Contract:
    """Replace values of a contract with those of a table; paths are relative to `folder`."""
    known = [f.name for f in fields(Contract) if f.name not in INTERNAL_FIELDS]
    values: dict[str, Any] = {}
    for name, value in data.items():
        if name not in known:
            raise unknown_name_error("key of a policy's contract", name, known)
        values[name] = _value(name, value)
    for name in PATH_FIELDS:
        if values.get(name):
            values[name] = str(folder / values[name])
    if str(values.get("robot")).lower().endswith(ROBOT_FILES):
        values["robot"] = str(folder / values["robot"])
    return contract.with_values(source, **values)


def _value(name: str, value: Any) -> Any:
    if name in NUMBER_FIELDS:
        return as_numbers(name, value)
    if name in SCALARS:
        number = as_numbers(name, value)
        if not isinstance(number, float):
            raise InvalidFile(f"{name} must be a single number, not a list.", name)
        return number
    if name == "offset":
        return value if isinstance(value, str) else as_numbers(name, value)
    if name in TEXT_FIELDS:
        if not isinstance(value, str):
            raise InvalidFile(f"{name} must be text.", name)
        return value
    if name == "clip":
        return parse_range(name, value)
    if name == "terms":
        return tuple(_term(item) for item in as_list(name, value))
    if name == "joints":
        items = as_list(name, value)
        if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in items):
            raise InvalidFile("joints must be names of joints or indices of actuators.", name)
        return tuple(items)
    if name == "states":
        pairs = as_list(name, value)
        if not all(isinstance(p, list) and list(map(type, p)) == [str, str] for p in pairs):
            raise InvalidFile(
                "states must be pairs of names, each an input and an output of the network.", name
            )
        return tuple((a, b) for a, b in pairs)
    table = as_table(name, value)
    ends = {str(key): parse_range(f"{name}.{key}", item) for key, item in table.items()}
    return {key: item for key, item in ends.items() if item is not None}


def _term(item: Any) -> Term:
    table = {"name": item} if isinstance(item, str) else item
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise InvalidFile("a term must be a name, or a table with the key name.", "terms")
    name = table["name"]
    if name not in TERMS:
        raise unknown_name_error("observation term", name, TERMS)
    allowed = (*TERM_KEYS, *TERMS[name].options)
    for key in table:
        if key not in allowed:
            raise unknown_name_error(f"key of the term {name}", str(key), allowed)
    history = table.get("history", 1)
    if isinstance(history, bool) or not isinstance(history, int):
        raise InvalidFile(f"history of the term {name} must be a whole number.", name)
    return Term(
        name,
        as_numbers(f"scale of the term {name}", table.get("scale", 1.0)),
        parse_range(f"clip of the term {name}", table.get("clip")),
        history,
        {key: table[key] for key in TERMS[name].options if key in table},
        str(table.get("label", "")),
    )


def to_toml(contract: Contract, folder: Path) -> str:
    """Format a contract as TOML for a file in `folder`, with comments for missing values."""
    lines = []
    for f in fields(Contract):
        value = getattr(contract, f.name)
        if (
            f.name in INTERNAL_FIELDS
            or f.name in ("terms", "ranges")
            or (value == f.default and value != "")
        ):
            continue
        if value in (None, "", ()):
            continue
        if f.name in PATH_FIELDS or (f.name == "robot" and value.lower().endswith(ROBOT_FILES)):
            value = _relative(value, folder)
        origin = contract.origin(f.name)
        lines.append(f"{f.name} = {_toml(value)}  # {origin}")
    for question in contract.missing():
        likely = f", such as {question.choices[0]}" if question.choices else ""
        lines.append(f"# {question.name} =   # {question.meaning}{likely}")
    if contract.terms:
        rows = ",\n".join(f"  {_toml(_table(term))}" for term in contract.terms)
        lines.append(f"terms = [\n{rows},\n]")
    if contract.ranges:
        lines += ["", "[ranges]"]
        lines += [f"{name} = {_toml(ends)}" for name, ends in contract.ranges.items()]
    return "\n".join(lines) + "\n"


def _table(term: Term) -> dict[str, Any]:
    values: dict[str, Any] = {"name": term.name}
    if term.scale != 1.0:
        values["scale"] = _collapse(term.scale)
    if term.clip is not None:
        values["clip"] = term.clip
    if term.history != 1:
        values["history"] = term.history
    if term.label and term.label != term.name:
        values["label"] = term.label
    return values | dict(term.options)


def _collapse(values: Any) -> Any:
    """Return a single number if all values are equal, else the values."""
    if isinstance(values, Sequence) and len(set(values)) == 1:
        return values[0]
    return values


def _relative(path: str, folder: Path) -> str:
    file = Path(path)
    return file.name if file.parent.resolve() == folder.resolve() else str(file.resolve())


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)
