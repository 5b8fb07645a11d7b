"""Hash of a robot: robots with the same numbers have the same hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tarsus.model.mechanism import Mechanism

# without effect on the motion
IGNORED_FIELDS = ("notes", "unsupported", "timestep", "visuals", "merged_joints")


@lru_cache(maxsize=8)
def hash_robot(mechanism: Mechanism) -> str:
    """Compute the SHA-256, in hexadecimal, of all numbers and names that affect the motion.

    Notes, and the file that a robot was read from, do not count.
    """
    sha = hashlib.sha256()
    names = [f.name for f in fields(Mechanism) if f.name not in IGNORED_FIELDS]
    _feed(sha, [(name, getattr(mechanism, name)) for name in names])
    return sha.hexdigest()


def _feed(sha: hashlib._Hash, value: Any) -> None:
    """Add a value to the hash, with the names of its types and fields."""
    if isinstance(value, Mechanism):
        _feed(sha, hash_robot(value))
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [(f.name, getattr(value, f.name)) for f in fields(value) if f.init]
        _feed(sha, [type(value).__name__, *parts])
    elif isinstance(value, Mapping):
        _feed(sha, [(str(name), part) for name, part in value.items()])
    elif isinstance(value, np.ndarray):
        sha.update(f"array {value.dtype.str} {value.shape}".encode())
        sha.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple):
        sha.update(f"list {len(value)}".encode())
        for part in value:
            _feed(sha, part)
    else:
        sha.update(f"{type(value).__name__} {value!r}\0".encode())
