"""Arguments of a command as shell completion and the help show them."""

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

from tarsus.commands.base import ArgumentCheck, Group

POSITIONAL = tyro.conf.Positional


@dataclass(frozen=True)
class Argument:
    """One argument of a command.

    Attributes
    ----------
    flags
        Option names, such as ("--quiet", "-q"); empty for a positional argument.
    value
        Placeholder of the value; "" for a flag.
    about
        Help text.
    choices
        Known values.
    fixed
        Whether only `choices` are allowed.
    file
        Whether the value may be a path.
    """

    flags: tuple[str, ...]
    value: str
    about: str
    choices: tuple[str, ...]
    fixed: bool
    file: bool


def options(kind: type) -> list[Argument]:
    """List the arguments of a command, positional ones first."""
    return sorted(_class_arguments(kind), key=lambda option: bool(option.flags))


def _class_arguments(owner: type) -> Iterator[Argument]:
    """Yield the arguments of a dataclass and of the option groups in it."""
    hints = get_type_hints(owner, include_extras=True)
    about = field_texts(owner)
    for f in fields(owner):  # type: ignore[arg-type]
        plain, annotations = _unwrap(hints[f.name])
        if isinstance(plain, type) and issubclass(plain, Group):
            yield from _class_arguments(plain)
        else:
            yield _field_argument(f, plain, annotations, about.get(f.name, ""))


def _field_argument(f: Field[Any], plain: Any, annotations: list[Any], about: str) -> Argument:
    """Return the argument of one field."""
    named = [a for a in annotations if hasattr(a, "metavar") and a.metavar is not None]
    value = named[-1].metavar if named else "" if plain is bool else f.name.upper()
    helps = [a.help for a in annotations if getattr(a, "help", None)]
    # allowed values
    choices = [str(choice) for choice in get_args(plain)] if get_origin(plain) is Literal else []
    if choices and not named:
        value = "|".join(choices)
    known = [name for a in annotations if isinstance(a, ArgumentCheck) for name in a.names()]
    file = Path in (plain, *get_args(plain)) or value.split("|")[0] in ("ROBOT", "LOG", "RUN")
    # option names
    short = [name for a in annotations for name in getattr(a, "aliases", None) or ()]
    flags = () if POSITIONAL in annotations else (f"--{f.name.replace('_', '-')}", *short)
    return Argument(
        flags,
        value,
        helps[-1] if helps else about,
        tuple(choices or known),
        bool(choices),
        file,
    )


def _unwrap(hint: Any) -> tuple[Any, list[Any]]:
    """Remove the annotations of a type, also inside unions; return it and their list."""
    annotations: list[Any] = []
    while hasattr(hint, "__metadata__"):
        annotations[:0] = hint.__metadata__
        hint = hint.__origin__
    members = [member for member in get_args(hint) if member is not type(None)]
    if get_origin(hint) is Union or type(hint).__name__ == "UnionType":
        inner, more = _unwrap(members[0])
        return inner, [*more, *annotations]
    return hint, annotations


def field_texts(owner: type) -> dict[str, str]:
    """Read the help text of each field of a dataclass: the string under it, on one line."""
    pairs = (pair for base in reversed(owner.__mro__) for pair in _read_class_texts(base))
    return {name: " ".join(text.split()) for name, text in pairs}


@cache
def _read_class_texts(owner: type) -> list[tuple[str, str]]:
    """Read the name of each field in a class's source, with the string under it."""
    if owner is object or not hasattr(owner, "__dataclass_fields__"):
        return []
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(body, ast.ClassDef)
    texts = []
    for field, text in zip(body.body, body.body[1:], strict=False):
        documented = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and documented:
            texts.append((field.target.id, str(text.value.value)))  # type: ignore[attr-defined]
    return texts
