"""A command's arguments as the completion of shells and the help show them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import Field, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from tarsus.commands.base import Checked, Group

POSITIONAL = tyro.conf.Positional


@dataclass(frozen=True)
class Argument:
    """One argument.

    flags: "--dt", or several names; none of a positional argument
    value: placeholder of its value, "" of a flag; about: its help
    choices: the values that are known; fixed: whether there are no others; file: whether it may be
    a path
    """

    flags: tuple[str, ...]
    value: str
    about: str
    choices: tuple[str, ...]
    fixed: bool
    file: bool


def options(kind: type) -> list[Argument]:
    """Return the arguments of a command, positional ones first."""
    return sorted(_of_class(kind), key=lambda option: bool(option.flags))


def _of_class(owner: type) -> Iterator[Argument]:
    """Yield those of a dataclass, and of the groups of flags in it."""
    hints = get_type_hints(owner, include_extras=True)
    about = field_texts(owner)
    for f in fields(owner):  # type: ignore[arg-type]
        plain, marks = _unwrapped(hints[f.name])
        if isinstance(plain, type) and issubclass(plain, Group):
            yield from _of_class(plain)
        else:
            yield _option(f, plain, marks, about.get(f.name, ""))


def _option(f: Field[Any], plain: Any, marks: list[Any], about: str) -> Argument:
    """Return one field's argument."""
    words = [m for m in marks if hasattr(m, "metavar") and m.metavar is not None]
    value = words[-1].metavar if words else "" if plain is bool else f.name.upper()
    given = [m.help for m in marks if getattr(m, "help", None)]
    # what it may be
    choices = [str(part) for part in get_args(plain)] if get_origin(plain) is Literal else []
    if choices and not words:
        value = "|".join(choices)
    known = [name for m in marks if isinstance(m, Checked) for name in m.names()]
    file = Path in (plain, *get_args(plain)) or value.split("|")[0] in ("ROBOT", "LOG", "RUN")
    # how it is called
    short = [name for m in marks for name in getattr(m, "aliases", None) or ()]
    flags = () if POSITIONAL in marks else (f"--{f.name.replace('_', '-')}", *short)
    return Argument(
        flags,
        value,
        given[-1] if given else about,
        tuple(choices or known),
        bool(choices),
        file,
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


def field_texts(owner: type) -> dict[str, str]:
    """Return the help of each field of a dataclass: the string under it, on one line."""
    pairs = (pair for above in reversed(owner.__mro__) for pair in _texts(above))
    return {name: " ".join(text.split()) for name, text in pairs}


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
