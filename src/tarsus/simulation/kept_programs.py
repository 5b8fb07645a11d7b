"""Programs kept on disk, so that what was traced once starts at once in the next process.

A program's name is a hash of its plan, of Tarsus' source and of the packages that trace it. A plan
with a part of the user's own is always traced, and so is everything while something in Tarsus'
modules is not what its source says: constants are patched to try something, and that must show.
"""

from __future__ import annotations

import ast
import hashlib
import logging
import platform
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from time import perf_counter
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from tarsus.program.ir.blocks import Program
from tarsus.program.ir.written import read, written
from tarsus.program.run import cache as disk
from tarsus.simulation.alike import description

SOURCE = Path(__file__).parents[1]
PACKAGES = ("casadi", "numpy")  # that decide what is traced
CONSTANT = re.compile(r"^([A-Z][A-Z0-9_]*)(?:: [^=\n]+)? = (.+?)(?:  #.*)?$", re.MULTILINE)
LOG = logging.getLogger(__name__)
P = TypeVar("P")


def kept(plan: P, traced: Callable[[P], Program]) -> Program:
    """The plan's program, read if it was kept, else traced and kept."""
    began, name = perf_counter(), _name(plan)
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


def _name(plan: object) -> str | None:
    """What the program is kept under; None if it must be traced."""
    of_plan = description(plan)
    if of_plan is None or any(map(_changed, _own_modules())):
        return None
    parts = (
        of_plan,
        disk.source_hash(SOURCE),
        platform.machine(),
        *map(metadata.version, PACKAGES),
    )
    return f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:40]}.program"


def _own_modules() -> Iterator[ModuleType]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tarsus" and getattr(module, "__file__", None):
            yield module


def _changed(module: ModuleType) -> bool:
    """Whether a constant is not as its source says, or code in it comes from elsewhere."""
    held = vars(module)
    if any(held.get(name) != value for name, value in _constants(module.__file__ or "").items()):
        return True
    own = [value for value in held.values() if getattr(value, "__module__", "") == module.__name__]
    methods = (
        method for value in own if isinstance(value, type) for method in vars(value).values()
    )
    return any(map(_foreign, (*held.values(), *methods)))


@cache
def _constants(file: str) -> dict[str, Any]:
    """A module's constants of one line by name, as they are written."""
    found: dict[str, Any] = {}
    for name, text in CONSTANT.findall(Path(file).read_text(encoding="utf-8")):
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
    return found


def _foreign(value: object) -> bool:
    """Whether it is a function or class of the user's: neither ours nor of what is installed."""
    return isinstance(value, FunctionType | type) and not _installed(value.__module__)


@cache
def _installed(module: str) -> bool:
    root = module.partition(".")[0]
    if root in ("tarsus", "builtins") or root in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(root), "__file__", None)
    return bool(file) and not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)
