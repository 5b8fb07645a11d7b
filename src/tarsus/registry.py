"""One file adds one: a law, robot, terrain or gait is found by the name of its file."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

from tarsus.errors import unknown

T = TypeVar("T")


def names(package: str) -> tuple[str, ...]:
    """The public modules of a folder, sorted: nothing is imported but the folder itself."""
    path = importlib.import_module(package).__path__
    return tuple(sorted(m.name for m in pkgutil.iter_modules(path) if m.name not in ("base",) and m.name[0] != "_"))


def module(package: str, kind: str, name: str) -> ModuleType:
    """The file `name` of a folder; TarsusError with near names if there is none."""
    if name not in names(package):
        raise unknown(kind, name, names(package))
    return importlib.import_module(f"{package}.{name}")


def member(package: str, kind: str, name: str, family: type[T]) -> Callable[..., T]:
    """The one class of `family` that the file `name` defines."""
    return only_member(module(package, kind, name), family)


def only_member(source: ModuleType, family: type[T]) -> Callable[..., T]:
    """The one concrete class of `family` that a module itself defines."""
    found = [
        value
        for value in vars(source).values()
        if isinstance(value, type) and issubclass(value, family) and value.__module__ == source.__name__
    ]
    if len(found) != 1:
        raise TypeError(f"{source.__name__} must define exactly one {family.__name__}, it defines {len(found)}")
    return found[0]
