"""Programs kept on disk, so that what was traced once starts at once in the next process.

A program's name is a hash of its plan, of the code that traces it as it is loaded, and of what is
not yet loaded as it stands in the files. What someone patches to try it, a constant, a function or
a method, makes other names; where code of the user's own stands in Tarsus' modules or in the plan,
it is always traced.
"""

from __future__ import annotations

import hashlib
import logging
import marshal
import platform
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from time import perf_counter
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from tarsus.program.ir.blocks import Program
from tarsus.program.ir.written import read, written
from tarsus.program.run import cache as disk
from tarsus.simulation.alike import PLAIN, description

SOURCE = Path(__file__).parents[1]
PACKAGES = ("casadi", "numpy")  # that decide what is traced
HARMLESS = frozenset((*sys.stdlib_module_names, "tarsus", *PACKAGES))  # whose objects may stand
MOCKS = ("unittest", "__main__")  # but not these
DEEP = 4  # levels of what holds constants
WITHOUT_REFERENCES = 2  # marshal's version that writes the same code in the same bytes
LOG = logging.getLogger(__name__)
P = TypeVar("P")


class Foreign(Exception):
    """Code whose doings no hash here knows."""


def kept(plan: P, traced: Callable[[P], Program]) -> Program:
    """The plan's program, read if it was kept, else traced and kept."""
    began, name = perf_counter(), name_of(plan)
    content = disk.kept(name) if name else None
    if content is not None:
        program = read(content)
        LOG.debug("%s: program read in %.2f s", program.name, perf_counter() - began)
        return program
    program = traced(plan)
    LOG.debug("%s: program traced in %.2f s", program.name, perf_counter() - began)
    if name:
        disk.keep(name, written(program))
    return program


def name_of(plan: object) -> str | None:
    """What the plan's program is kept under; None if it must be traced."""
    of_plan = description(plan)
    if of_plan is None:
        return None
    try:
        code = _loaded()
    except Foreign:
        return None
    files, versions = disk.source_hash(SOURCE), tuple(map(metadata.version, PACKAGES))
    parts = (of_plan, code, files, sys.version, platform.machine(), versions)
    return f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:40]}.program"


def _loaded() -> str:
    """A hash of what Tarsus' loaded modules hold: constants, functions, methods."""
    digest = hashlib.sha256()
    modules = [name for name in list(sys.modules) if name.partition(".")[0] == "tarsus"]
    for name in sorted(modules):
        digest.update(f"\n{name}\n".encode())
        for key, value in sorted(vars(sys.modules[name]).items()):
            private = key.startswith("_") and not isinstance(value, (*PLAIN, FunctionType, type))
            if key.startswith("__") or isinstance(value, ModuleType) or private:
                continue
            digest.update(f"{key}=".encode())
            _feed(value, digest)
            if isinstance(value, type) and value.__module__ == name:
                for attribute, held in sorted(vars(value).items()):
                    if attribute not in ("__dict__", "__weakref__", "__doc__"):
                        digest.update(f".{attribute}=".encode())
                        _feed(held, digest)
    return digest.hexdigest()


def _feed(value: Any, digest: hashlib._Hash, deep: int = DEEP) -> None:
    """Tell the digest what a name stands for; raises Foreign where that cannot be told."""
    # code
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if isinstance(value, property):
        return _all((value.fget, value.fset, value.fdel), digest, deep)
    if isinstance(value, partial):
        return _all((value.func, value.args, value.keywords), digest, deep)
    if isinstance(value, FunctionType):
        return _function(value, digest, deep)
    if hasattr(value, "__wrapped__"):  # of a cache
        return _feed(value.__wrapped__, digest, deep)
    if isinstance(value, type | BuiltinFunctionType):
        return _told(f"{value.__module__}.{value.__qualname__}", type(value).__module__, digest)
    # constants, and what holds them
    if value is None or isinstance(value, PLAIN):
        return digest.update(f"{value!r};".encode())
    if isinstance(value, np.ndarray):
        return digest.update(repr((value.dtype.str, value.shape)).encode() + value.tobytes())
    if isinstance(value, dict) and deep:
        return _all((part for pair in value.items() for part in pair), digest, deep - 1)
    if isinstance(value, tuple | list) and deep:
        return _all(value, digest, deep - 1)
    if isinstance(value, set | frozenset) and deep:
        return _all(sorted(value, key=repr), digest, deep - 1)
    # anything else by what it is, and as it describes itself if it can
    _told(description(value) or type(value).__qualname__, type(value).__module__, digest)


def _all(values: Iterable[Any], digest: hashlib._Hash, deep: int) -> None:
    digest.update(b"(")
    for value in values:
        _feed(value, digest, deep)
    digest.update(b")")


def _told(words: str, module: str, digest: hashlib._Hash) -> None:
    root = module.partition(".")[0]
    if root in MOCKS or not (root in HARMLESS or _installed(root)):
        raise Foreign
    digest.update(f"{words};".encode())


def _function(function: FunctionType, digest: hashlib._Hash, deep: int) -> None:
    if not _of_a_package(function.__code__.co_filename):
        raise Foreign
    _code(function.__code__, digest)
    held = [cell.cell_contents for cell in function.__closure__ or ()] if deep else []
    _all((function.__defaults__, function.__kwdefaults__, *held), digest, max(deep - 1, 0))


def _code(code: CodeType, digest: hashlib._Hash) -> None:
    digest.update(marshal.dumps(code, WITHOUT_REFERENCES))


@cache
def _of_a_package(file: str) -> bool:
    """Whether code in this file is ours, Python's, an installed package's or made by one."""
    if file == "<string>" or file.startswith("<frozen"):
        return True
    parts = Path(file).parts
    own = (SOURCE, Path(sysconfig.get_paths()["stdlib"]))
    inside = any(Path(file).is_relative_to(folder) for folder in own)
    return inside or not {"site-packages", "dist-packages"}.isdisjoint(parts)


@cache
def _installed(root: str) -> bool:
    file = getattr(sys.modules.get(root), "__file__", None)
    return bool(file) and _of_a_package(file)
