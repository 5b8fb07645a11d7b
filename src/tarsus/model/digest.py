"""A hash of a robot: two robots that move alike by all their numbers have the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tarsus.model.mechanism import Mechanism

WORDS = ("notes", "left_out", "timestep", "visuals")  # fields for readers alone


@lru_cache(maxsize=8)
def digest(mechanism: Mechanism) -> str:
    """SHA-256, hexadecimal, of all that makes a mechanism move, to the last bit.

    Notes for readers, and where a robot was read from, are none of it.
    """
    found = hashlib.sha256()
    names = [f.name for f in fields(Mechanism) if f.name not in WORDS]
    _feed(found, [(name, getattr(mechanism, name)) for name in names])
    return found.hexdigest()


def _feed(found: hashlib._Hash, value: Any) -> None:
    if isinstance(value, Mechanism):
        _feed(found, digest(value))
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [(f.name, getattr(value, f.name)) for f in fields(value) if f.init]
        _feed(found, [type(value).__name__, *parts])
    elif isinstance(value, Mapping):
        _feed(found, [(str(name), part) for name, part in value.items()])
    elif isinstance(value, np.ndarray):
        found.update(f"array {value.dtype.str} {value.shape}".encode())
        found.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple):
        found.update(f"list {len(value)}".encode())
        for part in value:
            _feed(found, part)
    else:
        found.update(f"{type(value).__name__} {value!r}\0".encode())
