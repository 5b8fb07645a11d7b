"""Pickle simulations: frozen parts once, registers, and the remaining attributes."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from tarsus.control.base import Controller
from tarsus.errors import InvalidFile, Unsupported
from tarsus.program.run.backend import Array, Backend
from tarsus.simulation.step_program import CACHE_SIZE, step_program

FROZEN = ("robot", "law", "stepper", "terrain", "plan")  # shared by copies, pickled together
REBUILT = ("_worlds", "_action")  # compiled code and the registers it runs over
DERIVED = ("_snapshot_format", "_settable")  # recomputed from the others

_PARTS: dict[bytes, dict[str, Any]] = {}


def to_pickle(attributes: Mapping[str, Any], worlds: Backend) -> dict[str, Any]:
    """Collect the content of a simulation's pickle.

    Raises
    ------
    Unsupported
        If a part cannot be pickled; the message names it.
    """
    shared = {name: attributes[name] for name in FROZEN}
    excluded = {*FROZEN, *REBUILT, *DERIVED}
    rest = {name: value for name, value in attributes.items() if name not in excluded}
    controller = attributes["controller"]
    if isinstance(controller, Controller):
        shared["controller"] = rest.pop("controller")
    else:
        _check_picklable("controller", controller)
    parts = _pickle_parts(shared)
    _cache_parts(parts, shared)
    return {
        "parts": parts,
        "rest": rest,
        "registers": register_values(worlds),
        "fingerprint": worlds.program.fingerprint,
    }


def from_pickle(content: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read a simulation's attributes without its worlds, and the values of its registers."""
    attributes = _unpickle_parts(content["parts"]) | content["rest"]
    if step_program(attributes["plan"]).fingerprint != content["fingerprint"]:
        raise InvalidFile(
            "this simulation was pickled by another version of Tarsus or CasADi and would not"
            " continue with the same bits; create it again and set q and u.",
            "fingerprint",
        )
    return attributes, content["registers"]


def register_values(worlds: Backend) -> dict[str, Array]:
    """Read every register of the worlds by name, shape (worlds, size)."""
    return {r.name: worlds.get(r.name) for r in worlds.program.persistent}


def _pickle_parts(parts: dict[str, Any]) -> bytes:
    """Pickle the parts together; raise Unsupported naming the first that cannot be pickled."""
    try:
        content = pickle.dumps(parts)
    except Exception:
        for kind, part in parts.items():
            _check_picklable(kind, part)
        raise
    return content


def _check_picklable(kind: str, part: Any) -> None:
    """Raise Unsupported, naming the part, unless it can be pickled."""
    try:
        pickle.dumps(part)
    except Exception as error:
        name = getattr(part, "__qualname__", type(part).__qualname__)
        reason = str(error).rstrip(".")
        raise Unsupported(
            f"the {kind} {name!r} cannot be pickled ({reason}); define its function or class at the"
            " top level of a module.",
            name,
        ) from error


def _cache_parts(pickled: bytes, parts: dict[str, Any]) -> dict[str, Any]:
    """Cache the parts of a pickle, so that reading it again gives the same objects."""
    _PARTS[pickled] = parts
    for oldest in list(_PARTS)[:-CACHE_SIZE]:
        _PARTS.pop(oldest, None)
    return parts


def _unpickle_parts(pickled: bytes) -> dict[str, Any]:
    """Unpickle the parts: the same objects if this process has read the pickle before."""
    return _PARTS.get(pickled) or _cache_parts(pickled, pickle.loads(pickled))
