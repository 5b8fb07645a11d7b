"""One file adds one: a law, robot, terrain or gait is found by the name of its file."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

from tarsus.errors import TarsusError, unknown

T = TypeVar("T")


def names(package: str) -> tuple[str, ...]:
    """The public modules of a folder, sorted: nothing is imported but the folder itself."""
    path = importlib.import_module(package).__path__
    return tuple(
        sorted(
            m.name
            for m in pkgutil.iter_modules(path)
            if m.name not in ("base",) and m.name[0] != "_"
        )
    )


def listed(given: str) -> list[str]:
    """What stands between commas, each once."""
    return list(dict.fromkeys(part.strip() for part in given.split(",")))


def require(package: str, kind: str, name: str, also: tuple[str, ...] = ()) -> None:
    """TarsusError with near names unless a folder has the file `name`, or `also` has it."""
    known = (*names(package), *also)
    if name not in known:
        raise unknown(kind, name, known)


def module(package: str, kind: str, name: str) -> ModuleType:
    """The file `name` of a folder; TarsusError with near names if there is none."""
    require(package, kind, name)
    return importlib.import_module(f"{package}.{name}")


def source(package: str, name: str) -> ast.Module:
    """The file `name` of a folder, read without running it."""
    spec = importlib.util.find_spec(f"{package}.{name}")
    return ast.parse(Path(str(spec.origin)).read_text(encoding="utf-8") if spec else "")


def parameters_of(package: str, name: str) -> tuple[str, ...]:
    """The parameters that the file `name` of a folder declares, read without running it."""
    return tuple(
        ast.unparse(field.target)
        for defined in source(package, name).body
        if isinstance(defined, ast.ClassDef)
        for field in defined.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.value, ast.Call)
        and not ast.unparse(field.annotation).startswith("ClassVar")
    )


def member(package: str, kind: str, name: str, family: type[T]) -> Callable[..., T]:
    """The one class of `family` that the file `name` defines."""
    return only_member(module(package, kind, name), family)


def name_of(member: object) -> str:
    """The name of the file that a law, stepper, terrain or gait stands in: its name in lists."""
    return type(member).__module__.rpartition(".")[2]


class _AsItIs(SourceFileLoader):
    """Reads the source itself: Python's cache takes a file of the same second and size for the one
    before it.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def from_file(path: str, kind: str) -> ModuleType:
    """The module in a user's own file; TarsusError if there is none or it does not run."""
    file = Path(path)
    if not os.path.isfile(file):
        raise TarsusError(f"there is no file {path} to read the {kind} from.")
    spec = importlib.util.spec_from_file_location(
        file.stem, file, loader=_AsItIs(file.stem, str(file))
    )
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = found
    try:
        spec.loader.exec_module(found)
    except Exception as error:
        raise TarsusError(
            f"{path}: the {kind} cannot be read: {type(error).__name__}: {error}"
        ) from error
    return found


def only_member(source: ModuleType, family: type[T]) -> Callable[..., T]:
    """The one concrete class of `family` that a module itself defines."""
    found = [
        value
        for value in vars(source).values()
        if isinstance(value, type)
        and issubclass(value, family)
        and value.__module__ == source.__name__
    ]
    if len(found) != 1:
        raise TarsusError(
            f"{source.__name__} must define exactly one {family.__name__}; it defines {len(found)}."
        )
    return found[0]
