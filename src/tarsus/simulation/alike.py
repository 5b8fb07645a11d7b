"""Whether two things are described by the same numbers and the same code, to the last bit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
Told = Callable[[Any, "hashlib._Hash"], None]
PLAIN = (bool, int, float, str, np.generic)


class Foreign(Exception):
    """Something whose doings no hash here knows."""


def alike(a: Any, b: Any) -> bool:
    """The very same object, or of one class and made of parts that are alike, whatever attributes
    hold them; of what is neither plain nor made of plain parts, the very same object alone.
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, PLAIN):
        return repr(a) == repr(b)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(alike(a[key], b[key]) for key in a)
    described = is_dataclass(a) and not isinstance(a, type)
    return described and alike(_given(a), _given(b))


def description(whole: Any) -> str | None:
    """A hash of all that it is made of, equal in every process for what is alike; None where
    something in it is not Tarsus' own, whose code no hash here knows.
    """
    digest = hashlib.sha256()
    try:
        feed(whole, digest, _named)
    except Foreign:
        return None
    return digest.hexdigest()


def feed(a: Any, digest: hashlib._Hash, other: Told) -> None:
    """Tell the digest what a value is made of.

    other: tells it of what is neither plain nor made of parts, or raises Foreign
    """
    digest.update(f"{type(a).__module__}.{type(a).__qualname__}:".encode())
    if a is None or isinstance(a, PLAIN):
        digest.update(repr(a).encode() + b";")
    elif isinstance(a, np.ndarray) and not a.dtype.hasobject:
        digest.update(repr((a.dtype.str, a.shape)).encode() + a.tobytes())
    elif type(a) in (tuple, list):
        _parts(list(a), digest, other)
    elif type(a) in (set, frozenset):
        _parts(sorted(a, key=repr), digest, other)
    elif type(a) is dict:
        _parts([part for pair in a.items() for part in pair], digest, other)
    elif is_dataclass(a) and _ours(type(a)):
        feed(_given(a), digest, other)
    else:
        other(a, digest)


def _parts(parts: Sequence[Any], digest: hashlib._Hash, other: Told) -> None:
    digest.update(b"%d " % len(parts))
    for part in parts:
        feed(part, digest, other)


def _named(code: Any, digest: hashlib._Hash) -> None:
    """Our own functions and classes by name."""
    own = isinstance(code, type | FunctionType) and _ours(code)
    if not own or "<" in code.__qualname__:
        raise Foreign
    digest.update(f"{code.__module__}.{code.__qualname__};".encode())


def _ours(code: type | FunctionType) -> bool:
    return code.__module__.partition(".")[0] == "tarsus"


def first_alike(kept: list[T], new: T, most: int) -> T:
    """One of those kept that is alike, or the new one, which is then kept; the last `most` are."""
    known = next((known for known in kept if alike(known, new)), new)
    kept[:] = [*(other for other in kept if other is not known), known][-most:]
    return known


def _given(whole: Any) -> dict[str, Any]:
    """Its attributes by name, without those that follow from others."""
    kept = {
        name: value
        for name, value in vars(whole).items()
        if not isinstance(getattr(type(whole), name, None), cached_property)
    }
    return dict(sorted(kept.items()))
