"""Compute a hash of a plan that is equal for plans made of the same numbers and the same code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
SCALAR_TYPES = (bool, int, float, str, np.generic)
KNOWN_PACKAGES = frozenset(("builtins", "types", "numpy", "tarsus"))
"""Packages whose classes and functions are identified by name, the same in every process."""


@dataclass(frozen=True)
class Fingerprint:
    """Hash of a value.

    Attributes
    ----------
    digest : str
        Equal for values that are made of the same numbers and the same code, to the last bit.
    portable : bool
        Whether the digest means the same in every process. It does not where the value holds code
        or objects from outside the package: these are identified by their address.
    """

    digest: str
    portable: bool


def fingerprint(value: Any) -> Fingerprint:
    """Hash a value with everything that is reachable from its attributes."""
    digest, portable = hashlib.sha256(), True
    for part in _parts(value):
        if isinstance(part, _Object):
            portable = False
            part = f"object {id(part.value)};".encode()
        digest.update(part)
    return Fingerprint(digest.hexdigest(), portable)


@dataclass(frozen=True, eq=False)
class _Object:
    """A part that only this process can identify."""

    value: Any


def _parts(value: Any) -> Iterator[bytes | _Object]:
    kind = type(value)
    if isinstance(value, type | FunctionType):
        yield _find_stable_name(value)
        return
    yield _find_stable_name(kind)
    if value is None or isinstance(value, SCALAR_TYPES):
        yield f"{value!r};".encode()
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"{value.dtype.str} {value.shape};".encode()
        yield value.tobytes()
    elif isinstance(value, tuple | list):
        yield b"%d " % len(value)
        for part in value:
            yield from _parts(part)
    elif isinstance(value, set | frozenset):
        yield from _parts(sorted(value, key=repr))
    elif isinstance(value, Mapping):
        yield from _parts([part for pair in value.items() for part in pair])
    elif is_dataclass(value):
        yield from _parts(_collect_attributes(value))
    else:
        yield _Object(value)


def _find_stable_name(code: type | FunctionType) -> bytes | _Object:
    """Find the name of a class or function of a known package, or return the object itself."""
    known = code.__module__.partition(".")[0] in KNOWN_PACKAGES
    if not known or "<" in code.__qualname__:
        return _Object(code)
    return f"{code.__module__}.{code.__qualname__}:".encode()


def _collect_attributes(value: Any) -> dict[str, Any]:
    """Collect attributes by name, without cached properties, which follow from the others."""
    kind = type(value)
    return {
        name: part
        for name, part in sorted(vars(value).items())
        if not isinstance(getattr(kind, name, None), cached_property)
    }


def find_or_add(recent: dict[str, T], new: T, limit: int) -> T:
    """Return a recent value with the same fingerprint, or add and return the new one.

    Parameters
    ----------
    recent : dict
        Values by the digest of their fingerprint, the last used last.
    new : object
        A value that may equal one of them.
    limit : int
        Number of values that are retained.
    """
    digest = fingerprint(new).digest
    value = recent[digest] = recent.pop(digest, new)
    while len(recent) > limit:
        del recent[next(iter(recent))]
    return value
