"""Convert parts of a run (laws, terrains, sensors, ...) to JSON types and back.

A log is data. A class that it names is used only if it is registered in Tarsus or by an installed
package (`tarsus.plugins`), or is defined in a file that the user trusts (`registry.trust`).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from tarsus import plugins, registry
from tarsus.contact.base import Law
from tarsus.control.actuators.base import ActuatorModel
from tarsus.control.file_actuators import FileActuators
from tarsus.errors import InvalidFile, TarsusError, UnknownName, Unsupported, quote
from tarsus.sensing.base import Sensor
from tarsus.stepping.base import Stepper
from tarsus.stepping.substeps import Substeps
from tarsus.terrain._material import Patch
from tarsus.terrain.base import Terrain

T = TypeVar("T")
KINDS: dict[str, tuple[str, type]] = {  # package and base class of what a log may name
    "law": ("tarsus.contact.laws", Law),
    "stepper": ("tarsus.stepping.methods", Stepper),
    "terrain": ("tarsus.terrain", Terrain),
    "gait": ("tarsus.control.gaits", object),  # or a Python controller
    "actuator model": ("tarsus.control.actuators", ActuatorModel),
    "sensor": ("tarsus.sensing", Sensor),
}
EXTRA_CLASSES = (FileActuators, Patch, Substeps)  # other classes that options and parts may hold
TARSUS_PREFIX = "tarsus."
MAX_STORED_SIZE = 100_000  # numbers; longer arrays are stored as a checksum
NAME, CLASS, FILE, SHA, FUNCTION = "name", "class", "own_file", "own_sha256", "function"
PACKAGE = "own_package"
INFINITE = {"inf": np.inf, "-inf": -np.inf}

_classes_of_process: dict[tuple[str, str], type[Any]] = {}  # by class and checksum of its file


def serialize(value: Any) -> Any:
    """Convert a value to JSON types.

    Parts become name, class and parameters; functions become their name; long arrays become a
    checksum.
    """
    if is_dataclass(value) and not isinstance(value, type):
        register_class(value)
        content = {NAME: name_of(value), CLASS: class_of(value)} | field_values(value)
        path, package = user_file(value), package_of(value)
        content |= {PACKAGE: package} if package else {}
        return content | ({FILE: path, SHA: registry.file_sha256(path)} if path else {})
    if isinstance(value, Mapping):
        return {str(name): serialize(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [serialize(part) for part in value]
    if isinstance(value, np.ndarray):
        if value.size > MAX_STORED_SIZE:
            digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return {"shape": list(value.shape), "type": str(value.dtype), "sha256": digest}
        return serialize(value.tolist())
    if isinstance(value, float) and np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return {FUNCTION: _function_name(value)} if callable(value) else value


def name_of(part: Any) -> str:
    """Name a part after its file, or a function after itself; "none" for None."""
    if part is None:
        return "none"
    return registry.name_of(part) if is_dataclass(part) else _function_name(part)


def _function_name(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}.{name}"


def class_of(part: Any) -> str:
    """Format "module:name" of a dataclass's class; empty for None and functions."""
    if not is_dataclass(part):
        return ""
    kind = part if isinstance(part, type) else type(part)
    return f"{kind.__module__}:{kind.__qualname__}"


def user_file(part: Any) -> str:
    """Find the path of the user's file that defines a part.

    Empty for Tarsus's own and plug-ins.
    """
    home = type(part).__module__ if is_dataclass(part) else getattr(part, "__module__", "")
    path = getattr(sys.modules.get(home), "__file__", None)
    ours = (
        path is None or home.startswith(TARSUS_PREFIX) or plugins.find_by_module(home) is not None
    )
    return "" if ours else str(path)


def package_of(part: Any) -> str:
    """Find package and version of a plug-in part; empty for other parts."""
    member_plugin = plugins.find_by_module(type(part).__module__)
    return member_plugin.release if member_plugin else ""


def field_values(part: Any) -> dict[str, Any]:
    """Collect the fields of a dataclass by name, in JSON types; empty for anything else."""
    if not is_dataclass(part):
        return {}
    return {f.name: serialize(getattr(part, f.name)) for f in fields(part) if f.init}


def register_class(part: Any) -> None:
    """Register the class of a part used in this process, so that logs can recreate it."""
    if is_dataclass(part) and not class_of(part).startswith(TARSUS_PREFIX):
        _classes_of_process[class_of(part), registry.file_sha256(user_file(part))] = type(part)


def part_from_attributes(kind: str, attributes: Mapping[str, Any]) -> Any:
    """Create a part of a run from a log's attributes, as `provenance.parse_attributes` gives them.

    Raises
    ------
    UntrustedFile
        If the class is defined in a Python file that the user does not trust.
    TarsusError
        If the part cannot be created for another reason.
    """
    where = attributes.get(f"{kind}_class")
    if not where:
        raise InvalidFile(
            f"the log does not name the class of its {kind} {attributes.get(kind)!r}.",
            f"{kind}_class",
        )
    source = {FILE: attributes.get(f"{kind}_file"), SHA: attributes.get(f"{kind}_file_sha256")}
    source[PACKAGE] = attributes.get(f"{kind}_package")
    source = {name: value for name, value in source.items() if value}
    return create_part(kind, where, attributes.get(f"{kind}_parameters", {}) | source)


def create_part(kind: str, where: str, values: Mapping[str, Any]) -> Any:
    """Create the part that a log describes.

    Parameters
    ----------
    kind : str
        One of `KINDS`, whose base class it must have, or "part" for any of them.
    where : str
        Class of the part as "module:name": a member of a registered kind, one of `EXTRA_CLASSES`, a
        class that this process has simulated with, or one from a user's file. Nothing is imported
        merely because it is named here.
    values : Mapping
        Fields of the part; also the file (`own_file`) and checksum (`own_sha256`) of a user's
        class, or the package of a plug-in.

    Raises
    ------
    TarsusError
        If it cannot be created.
    """
    owner = _find_class(kind, where, values)
    family = KINDS[kind][1] if kind in KINDS else object
    if owner is None or not issubclass(owner, family):
        raise UnknownName(f"{quote(where)} is not a registered {kind}.", where)
    return create_dataclass(owner, values)


def create_dataclass(kind: type[T], values: Mapping[str, Any]) -> T:
    """Create a dataclass with the fields that a log describes.

    Raises
    ------
    UnknownName
        If the dataclass of this version lacks one of the fields.
    TarsusError
        If the dataclass rejects a value.
    """
    hints = {f.name: f for f in fields(kind)}  # pyright: ignore[reportArgumentType]
    if unknown := sorted(set(values) - set(hints) - {NAME, CLASS, FILE, SHA, PACKAGE}):
        raise UnknownName(
            f"the log sets {unknown[0]} of {kind.__name__}, which this version does not have; use"
            " the version that wrote the log.",
            unknown[0],
        )
    arguments = {
        key: _tuples(deserialize(value)) if "tuple" in str(hints[key].type) else deserialize(value)
        for key, value in values.items()
        if key in hints
    }
    try:
        return kind(**arguments)
    except TarsusError:
        raise
    except Exception as error:  # classes raise different errors
        raise InvalidFile(
            f"the log's {kind.__name__} cannot be recreated: {str(error).rstrip('.')}.",
            kind.__name__,
        ) from None


def _find_class(kind: str, where: str, values: Mapping[str, Any]) -> type[Any] | None:
    """Find the class that a log names; return None if there is none.

    Raises
    ------
    UntrustedFile
        If it is defined in a user's file that is not trusted.
    MissingPackage
        If it is in a plug-in that is not installed.
    """
    module, _, name = where.partition(":")
    members = {package: registry.member_of_module(package, module) for package, _ in KINDS.values()}
    package, member = next((item for item in members.items() if item[1]), ("", None))
    if member:
        home = registry.member_module(package, kind, member)
    elif not module.startswith(TARSUS_PREFIX):  # defined by a user
        path, sha256 = str(values.get(FILE, "")), str(values.get(SHA, ""))
        if known := _classes_of_process.get((where, sha256)):
            return known
        if release := str(values.get(PACKAGE, "")):
            raise plugins.missing_plugin(kind, where, release)
        if not path:
            return None
        home = registry.load_file(registry.trusted_file(kind, path, sha256), kind)
    else:
        return next((part for part in EXTRA_CLASSES if class_of(part) == where), None)
    candidate = getattr(home, name, None)
    defined_there = (
        isinstance(candidate, type)
        and is_dataclass(candidate)
        and candidate.__module__ == home.__name__
    )
    return candidate if defined_there else None


def deserialize(value: Any) -> Any:
    """Convert JSON types back: numbers to arrays, descriptions to parts.

    Raises
    ------
    Unsupported
        For a function, or an array of which only a checksum was stored.
    """
    if isinstance(value, Mapping):
        if set(value) == {FUNCTION}:
            raise Unsupported(
                f"the function {value[FUNCTION]}() cannot be restored from the log, which has only"
                " its name: pass the function itself.",
                value[FUNCTION],
            )
        if "sha256" in value and "shape" in value:
            raise Unsupported(
                f"an array of shape {tuple(value['shape'])} was too long to be stored in the log.",
                "array",
            )
        if CLASS in value:
            return create_part("part", str(value[CLASS]), value)
        return {name: deserialize(part) for name, part in value.items()}
    if isinstance(value, list):
        parts = [deserialize(part) for part in value]
        numbers = [isinstance(part, int | float | np.ndarray) for part in parts]
        if not (parts and all(numbers)):
            return tuple(parts)
        if len({np.shape(part) for part in parts}) > 1:
            raise InvalidFile("the log contains an array whose rows differ in length.", "array")
        return np.array(parts)
    return INFINITE.get(value, value) if isinstance(value, str) else value


def _tuples(value: Any) -> Any:
    return (
        _tuples(value.tolist())
        if isinstance(value, np.ndarray)
        else (tuple(_tuples(part) for part in value) if isinstance(value, list | tuple) else value)
    )
