"""Parts of a run (laws, terrains, sensors, ...) in the types of JSON, and made again from them."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tarsus import registry
from tarsus.errors import TarsusError

OURS = "tarsus."
MOST = 100_000  # numbers of an array that are kept; of a longer one its checksum
NAME, CLASS, FILE, SHA, FUNCTION = "name", "class", "own_file", "own_sha256", "function"
INFINITE = {"inf": np.inf, "-inf": -np.inf}


def plain(value: Any) -> Any:
    """In the types of JSON: parts by name, class and parameters, functions by name, long arrays by
    checksum.
    """
    if is_dataclass(value) and not isinstance(value, type):
        told = {NAME: name_of(value), CLASS: class_of(value)} | parameters(value)
        path = own_file(value)
        return told | ({FILE: path, SHA: file_sha256(path)} if path else {})
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        if value.size > MOST:
            digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return {"shape": list(value.shape), "type": str(value.dtype), "sha256": digest}
        return plain(value.tolist())
    if isinstance(value, float) and np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return {FUNCTION: _called(value)} if callable(value) else value


def name_of(part: Any) -> str:
    """Of a law, stepper, terrain or gait: its file's; of a function its own; "none" of None."""
    if part is None:
        return "none"
    return registry.name_of(part) if is_dataclass(part) else _called(part)


def _called(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}.{name}"


def class_of(part: Any) -> str:
    """Module and name of a dataclass's class; "" of None and of a function."""
    if not is_dataclass(part):
        return ""
    return f"{type(part).__module__}:{type(part).__qualname__}"


def own_file(part: Any) -> str:
    """The path of the file that a user's own part stands in; "" of ours."""
    home = type(part).__module__ if is_dataclass(part) else getattr(part, "__module__", "")
    path = getattr(sys.modules.get(home), "__file__", None)
    return "" if path is None or home.startswith(OURS) else str(path)


def parameters(part: Any) -> dict[str, Any]:
    """Every field of a dataclass by name; none of anything else."""
    if not is_dataclass(part):
        return {}
    return {f.name: plain(getattr(part, f.name)) for f in fields(part) if f.init}


def file_sha256(path: str) -> str:
    """SHA-256 of a file's bytes, hexadecimal; "" if it is not there."""
    file = Path(path)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def made(where: str, told: Mapping[str, Any]) -> Any:
    """The dataclass "module:name" with these parameters; TarsusError if it cannot be made.

    A class that is none of ours is read from its own file, told as `own_file`, whose bytes must
    have the checksum `own_sha256`.
    """
    # its class
    module, _, name = where.partition(":")
    path = str(told.get(FILE, ""))
    try:
        home = _from_file(path, str(told.get(SHA))) if path else importlib.import_module(module)
        kind = getattr(home, name) if path or module.startswith(OURS) else None
    except (ImportError, AttributeError):
        kind = None
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise TarsusError(f"the log names {where}, which is not to be had here.")
    # its fields
    hints = {f.name: f for f in fields(kind)}
    values = {
        key: _tuples(made_of(value)) if "tuple" in str(hints[key].type) else made_of(value)
        for key, value in told.items()
        if key in hints
    }
    try:
        return kind(**values)
    except TarsusError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise TarsusError(f"the log's {name} cannot be made again: {error}.") from None


def made_of(value: Any) -> Any:
    """What `plain` told: numbers as arrays, parts as objects; TarsusError for a function, or an
    array of which a checksum alone was kept.
    """
    if isinstance(value, Mapping):
        if set(value) == {FUNCTION}:
            raise TarsusError(f"the log holds no more than the name of {value[FUNCTION]}().")
        if "sha256" in value and "shape" in value:
            raise TarsusError(
                f"an array of shape {tuple(value['shape'])} was too long to be kept in the log."
            )
        if CLASS in value:
            return made(str(value[CLASS]), value)
        return {name: made_of(part) for name, part in value.items()}
    if isinstance(value, list):
        parts = [made_of(part) for part in value]
        numbers = [isinstance(part, int | float | np.ndarray) for part in parts]
        return np.array(parts) if parts and all(numbers) else tuple(parts)
    return INFINITE.get(value, value) if isinstance(value, str) else value


def _tuples(value: Any) -> Any:
    return (
        _tuples(value.tolist())
        if isinstance(value, np.ndarray)
        else (tuple(_tuples(part) for part in value) if isinstance(value, list | tuple) else value)
    )


def _from_file(path: str, sha256: str) -> Any:
    """The user's own module; TarsusError if the file is gone, or other bytes are in it."""
    file = Path(path)
    if not file.is_file():
        raise TarsusError(f"the log's file {path} is not there.")
    if file_sha256(path) != sha256:
        raise TarsusError(f"{path} has changed since the run.")
    return registry.from_file(path, "part")
