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
import operator
import platform
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from time import perf_counter
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from tarsus.program.ir.blocks import Block, Later, Traced, with_later
from tarsus.program.ir.program import Program
from tarsus.program.ir.written import body_read, body_written, read, written
from tarsus.program.run import cache as disk
from tarsus.simulation.alike import PLAIN, Foreign, description, feed

SOURCE, LIBRARY = Path(__file__).parents[1], Path(sysconfig.get_path("stdlib"))  # ours, Python's
PACKAGES = ("casadi", "numpy")  # that decide what is traced
HARMLESS = frozenset((*sys.stdlib_module_names, "tarsus", *PACKAGES))  # whose objects may stand
MOCKS = ("unittest", "__main__")  # but not these
DEEP = 4  # levels of functions in functions
WITHOUT_REFERENCES = 2  # marshal's version that writes the same code in the same bytes
NOT_OF_CLASS = ("__dict__", "__weakref__", "__doc__", "__slotnames__")  # pickle writes the last
LOG = logging.getLogger(__name__)
P = TypeVar("P")

_KNOWN: dict[int, Namespace] = {}  # by id, with its owner


def kept(plan: P, traced: Callable[[P], Program]) -> Program:
    """The plan's program, read if it was kept, else traced and kept; so are the bodies of its later
    loops, when someone asks for them.
    """
    began, name = perf_counter(), name_of(plan)
    if name is None:
        return traced(plan)
    bodies = _Bodies(name, partial(traced, plan))
    content = disk.kept(f"{name}.program")
    if content is not None:
        program = replace(read(content, bodies.found), origin=name)
        LOG.debug("%s: program read in %.2f s", program.name, perf_counter() - began)
        return program
    program = traced(plan)
    LOG.debug("%s: program traced in %.2f s", program.name, perf_counter() - began)
    disk.keep(f"{name}.program", written(program))
    return replace(program, blocks=bodies.those_of(program.blocks), origin=name)


class _Bodies:
    """The bodies of a program's later loops, each by what says whether it goes on.

    program: traces the program
    """

    def __init__(self, name: str, program: Callable[[], Program]) -> None:
        self._name, self._program = name, program
        self._own: dict[str, Later] = {}

    def those_of(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        """Blocks as they were traced, with later loops whose bodies are kept here."""

        def new(later: Later) -> Block:
            self._own[later.more] = later
            return replace(later, make=partial(self.found, later.more))

        return with_later(blocks, new)

    def found(self, more: str) -> Traced:
        """A body, read if it was kept, else traced and kept."""
        began, number = perf_counter(), hashlib.sha256(more.encode()).hexdigest()[:8]
        file = f"{self._name}.{number}.program"
        content = disk.kept(file)
        if content is not None:
            return body_read(content, self.found)
        if more not in self._own:
            self.those_of(self._program().blocks)
        if more not in self._own:  # in the body of another, which was read
            assert " in " in more
            self.found_anew(more)
        body = self._own[more].traced
        LOG.debug("%s: the body of a loop traced in %.2f s", more, perf_counter() - began)
        disk.keep(file, body_written(body))
        return replace(body, body=self.those_of(body.body))

    def found_anew(self, more: str) -> None:
        """Trace the bodies around a loop, outermost first."""
        around = more.split(" in ")[1:]
        for k in range(len(around) - 1, -1, -1):
            outer = " in ".join(around[k:])
            self.those_of(self._own[outer].traced.body)


def name_of(plan: object) -> str | None:
    """What the plan's program is kept under (NAME.program); None if it must be traced."""
    of_plan = description(plan)
    if of_plan is None:
        return None
    try:
        code = _loaded()
    except Foreign:
        return None
    files, versions = disk.source_hash(SOURCE), tuple(map(metadata.version, PACKAGES))
    parts = (of_plan, code, files, sys.version, platform.machine(), versions)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]


def _loaded() -> str:
    """A hash of what Tarsus' loaded modules hold: constants, functions, methods."""
    digest = hashlib.sha256()
    modules = [name for name in list(sys.modules) if name.partition(".")[0] == "tarsus"]
    for name in sorted(modules):
        module = Namespace.of(sys.modules[name])
        for own in (module, *map(Namespace.of, module.classes)):
            digest.update(own.digest)
            for key, value in own.changing:
                digest.update(f"{key}=".encode())
                feed(value, digest, _held)
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Namespace:
    """What a module or a class holds, told once for as long as it holds the very same.

    digest: of all but what may change within
    changing: what may, by name: tables, arrays, objects, functions that hold others
    functions, made: those told, and code and defaults of each, one behind the other
    classes: those that a module defines
    """

    owner: ModuleType | type
    names: tuple[str, ...]
    values: tuple[Any, ...]
    functions: list[FunctionType]
    made: list[Any]
    changing: list[tuple[str, Any]]
    classes: list[type]
    digest: bytes

    @staticmethod
    def of(owner: ModuleType | type) -> Namespace:
        """As it is now; raises Foreign."""
        known = _KNOWN.get(id(owner))
        if known is None or not known.still():
            known = _KNOWN[id(owner)] = Namespace.told(owner)
        return known

    @staticmethod
    def told(owner: ModuleType | type) -> Namespace:
        """With a hash made anew."""
        held, digest = dict(vars(owner)), hashlib.sha256(f"\n{owner.__name__}\n".encode())
        functions, changing, classes = list[FunctionType](), list[tuple[str, Any]](), list[type]()
        chosen = _of_module if isinstance(owner, ModuleType) else _of_class
        for key, value in sorted(held.items()):
            if not chosen(key, value):
                continue
            inside = functions_in(value)
            if inside is None and not key.startswith("__"):
                changing.append((key, value))
                continue
            digest.update(f"{key}=".encode())
            feed(value, digest, _held)
            functions += inside or []
            if isinstance(value, type) and value.__module__ == owner.__name__:
                classes += [value] if isinstance(owner, ModuleType) else []
        told = tuple(held), tuple(held.values()), functions, _made(functions)
        return Namespace(owner, *told, changing, classes, digest.digest())

    def still(self) -> bool:
        """Whether it holds the very same objects, and its functions the same code."""
        held, made = vars(self.owner), _made(self.functions)
        return (
            len(held) == len(self.values)
            and len(made) == len(self.made)
            and all(map(operator.is_, held.values(), self.values))
            and all(map(operator.is_, made, self.made))
            and tuple(held) == self.names
        )


def _of_module(key: str, value: Any) -> bool:
    private = key.startswith("_") and not isinstance(value, (*PLAIN, FunctionType, type))
    return not (key.startswith("__") or isinstance(value, ModuleType) or private)


def _of_class(key: str, value: Any) -> bool:
    return key not in NOT_OF_CLASS


def functions_in(value: Any) -> list[FunctionType] | None:
    """The functions that code is made of, none of what cannot change; None of what can otherwise
    than by its functions' code and defaults.
    """
    if isinstance(value, FunctionType):
        return None if value.__closure__ else [value]
    if isinstance(value, (list, set, dict, np.ndarray, partial)):
        return None
    if is_dataclass(value) and not isinstance(value, type):
        return None
    # of anything else the class is told
    parts = value if isinstance(value, tuple | frozenset) else _code_parts(value) or ()
    inside = [functions_in(part) for part in parts]
    return None if None in inside else [f for part in inside if part for f in part]


def _made(functions: list[FunctionType]) -> list[Any]:
    found = list[Any]()
    for f in functions:
        found += (f.__code__, f.__defaults__, *(f.__kwdefaults__ or {}).values())
    return found


def _held(value: Any, digest: hashlib._Hash, deep: int = DEEP) -> None:
    """Tell the digest of code, and of what only its class is known of; raises Foreign where it is
    not ours, Python's or a package's.

    deep: levels of functions that functions hold
    """
    parts = _code_parts(value)
    if isinstance(value, FunctionType):
        if not _of_a_package(value.__code__.co_filename):
            raise Foreign
        digest.update(code_bytes(value.__code__))
        cells = [cell.cell_contents for cell in value.__closure__ or ()] if deep else []
        parts, deep = (value.__defaults__, value.__kwdefaults__, *cells), max(deep - 1, 0)
    if parts is not None:
        return feed(parts, digest, partial(_held, deep=deep))
    # what has a name, and anything else by its class
    named = value if isinstance(value, type | BuiltinFunctionType) else type(value)
    root = type(value).__module__.partition(".")[0]
    if root in MOCKS or not (root in HARMLESS or _installed(root)):
        raise Foreign
    digest.update(f"{named.__module__}.{named.__qualname__};".encode())


def code_bytes(code: CodeType) -> bytes:
    """The same bytes for the same code."""
    try:
        return marshal.dumps(code, WITHOUT_REFERENCES)
    except ValueError:  # Python 3.14 has slices among the constants
        return marshal.dumps(_unsliced(code), WITHOUT_REFERENCES)


def _unsliced(value: Any) -> Any:
    """Code or a constant with slices as tuples, which marshal's old version can write."""
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, tuple):
        return tuple(map(_unsliced, value))
    if isinstance(value, CodeType):
        return value.replace(co_consts=_unsliced(value.co_consts))
    return value


def _code_parts(value: Any) -> tuple[Any, ...] | None:
    """What wrapped code is made of; None of anything else."""
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, partial):
        return value.func, value.args, value.keywords
    if hasattr(value, "__wrapped__") and not isinstance(value, FunctionType):  # of a cache
        return (value.__wrapped__,)
    return None


@cache
def _of_a_package(file: str) -> bool:
    """Whether code in this file is ours, Python's, an installed package's or made by one."""
    if file == "<string>" or file.startswith("<frozen"):
        return True
    path = Path(file)
    inside = any(path.is_relative_to(folder) for folder in (SOURCE, LIBRARY))
    return inside or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


@cache
def _installed(root: str) -> bool:
    file = getattr(sys.modules.get(root), "__file__", None)
    return bool(file) and _of_a_package(file)
