"""Whether two things are described by the same numbers and the same code, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
PLAIN = (bool, int, float, str, np.generic)


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
