"""A command's arguments as its help and the completion of shells show them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from tarsus.commands.base import Checked, Command, Group, OutputFlags

POSITIONAL = tyro.conf.Positional
EVERYWHERE, OTHERS, GIVEN = "Output", "Options", "Arguments"


@dataclass(frozen=True)
class Argument:
    """One argument.

    flags: "--dt", or several names; none of an argument that goes by its place
    value: the word for its value, "" of a flag; default: its text, "" if there is none to tell
    choices: the values that are known; fixed: whether there are no others; file: whether it may be
    a path; group: its heading
    """

    flags: tuple[str, ...]
    value: str
    about: str
    default: str
    choices: tuple[str, ...]
    fixed: bool
    file: bool
    group: str

    @property
    def invocation(self) -> str:
        """As it is typed: "--dt SECONDS"."""
        return " ".join([", ".join(reversed(self.flags)), self.value]).strip()


def options(kind: type[Command]) -> list[Argument]:
    """The arguments of a command: those that go by place, then the others, group after group."""
    groups = {name: group for group, names in kind.groups.items() for name in names.split()}
    found = list(_of_class(kind, groups))
    order = [GIVEN, *kind.groups, OTHERS, EVERYWHERE]
    return sorted(found, key=lambda option: order.index(option.group))


def _of_class(owner: type, groups: dict[str, str]) -> Iterator[Argument]:
    """Those of a dataclass, and of the dataclasses of flags in it."""
    hints = get_type_hints(owner, include_extras=True)
    about = {name: text for above in reversed(owner.__mro__) for name, text in _texts(above)}
    for f in fields(owner):  # type: ignore[arg-type]
        plain, marks = _unwrapped(hints[f.name])
        if isinstance(plain, type) and issubclass(plain, Group):
            heading = EVERYWHERE if plain is OutputFlags else groups.get(f.name, OTHERS)
            yield from _of_class(plain, {inner.name: heading for inner in fields(plain)})  # type: ignore[arg-type]
        else:
            yield _option(f, plain, marks, about.get(f.name, ""), groups.get(f.name, OTHERS))


def _option(f: Field[Any], plain: Any, marks: list[Any], about: str, group: str) -> Argument:
    """One field's."""
    words = [m for m in marks if hasattr(m, "metavar") and m.metavar is not None]
    value = words[-1].metavar if words else "" if plain is bool else f.name.upper()
    given = [m.help for m in marks if getattr(m, "help", None)]
    # what it may be
    choices = [str(part) for part in get_args(plain)] if get_origin(plain) is Literal else []
    if choices and not words:
        value = "|".join(choices)
    known = [name for m in marks if isinstance(m, Checked) for name in m.names()]
    place = POSITIONAL in marks
    file = Path in (plain, *get_args(plain)) or value.split("|")[0] in ("ROBOT", "LOG", "RUN")
    # how it is called
    short = [name for m in marks for name in getattr(m, "aliases", None) or ()]
    flags = () if place else (f"--{f.name.replace('_', '-')}", *short)
    unsaid = isinstance(f.default, bool) or f.default in (MISSING, None, "", ())
    return Argument(
        flags,
        value,
        " ".join((given[-1] if given else about).split()),
        "" if unsaid else str(f.default),
        tuple(choices or known),
        bool(choices),
        file,
        GIVEN if place else group,
    )


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """The type without what it is annotated with, inside of unions too, and all of that."""
    marks: list[Any] = []
    while hasattr(hint, "__metadata__"):
        marks[:0] = hint.__metadata__
        hint = hint.__origin__
    parts = [part for part in get_args(hint) if part is not type(None)]
    if get_origin(hint) is Union or type(hint).__name__ == "UnionType":
        inner, more = _unwrapped(parts[0])
        return inner, [*more, *marks]
    return hint, marks


@cache
def _texts(owner: type) -> list[tuple[str, str]]:
    """The string under each field of a class."""
    if owner is object or not hasattr(owner, "__dataclass_fields__"):
        return []
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = []
    for above, below in zip(body.body, body.body[1:], strict=False):
        told = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name) and told:
            found.append((above.target.id, str(below.value.value)))  # type: ignore[attr-defined]
    return found
