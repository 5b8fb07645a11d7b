"""Parse a command's arguments with tyro, and print its help.

The help is tyro's own. Its boxes have the headings in the command's `groups`; the examples follow
them. Each error is one sentence (`_usage_errors`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from types import NoneType
from typing import Annotated, Any, get_args

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from tarsus.commands._options import field_texts
from tarsus.commands.base import Command, Group

HELP = ("-h", "--help")
EXIT_CODES = "Exit codes: 0 success, 1 failure, 2 invalid input, 130 interrupted by Ctrl-C."
CONFIG = (tyro.conf.FlagCreatePairsOff,)
LINE_WIDTH = 80  # characters, for prose


def parse(name: str, kind: type[Command], words: Sequence[str]) -> Command:
    """Parse a command with its arguments; print the help and exit for `-h` or `--help`.

    Parameters
    ----------
    name
        Name of the command.
    kind
        Class of the command.
    words
        Arguments that follow the command's name.

    Raises
    ------
    UnknownName
        If an option or a value does not exist.
    InvalidValue
        If an argument is missing or has the wrong type.
    """
    if any(word in HELP for word in words):
        _print_help(name, kind)
        raise SystemExit(0)

    with _tyro_errors(name, kind):
        return tyro.cli(
            kind, prog=f"tarsus {name}", args=words, config=CONFIG, registry=_create_registry()
        )


def _tyro_errors(name: str, kind: type[Command]) -> AbstractContextManager[None]:
    """Raise tyro's errors as TarsusError; without its event API tyro prints its own error box."""
    try:
        from tarsus.commands._usage_errors import raise_usage_errors
    except ImportError:
        return nullcontext()
    return raise_usage_errors(name, kind)


def example_lines(examples: Mapping[str, str]) -> list[str]:
    """Format each example command line, followed by the line that describes it."""
    return [row for line, text in examples.items() for row in (f"  {line}", f"      {text}")]


# ------------------------------------------------------------------------------------------- types


def _create_registry() -> ConstructorRegistry:
    """Create tyro's rules, plus one for integers whose error message users can read."""
    registry = ConstructorRegistry()
    registry.primitive_rule(_integer)
    return registry


def _integer(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    if {*get_args(info.type)} - {NoneType} != {int} and info.type is not int:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="NUMBER",
        instance_from_str=_read_integer,
        is_instance=lambda value: value is None or isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    )


def _read_integer(words: list[str]) -> int:
    try:
        return int(words[0])
    except ValueError:
        raise ValueError(f"{words[0]!r} is not a whole number") from None


# -------------------------------------------------------------------------------------------- help


def _print_help(name: str, kind: type[Command]) -> None:
    """Print tyro's help, the rest of the docstring, the examples and the exit codes."""
    with suppress(SystemExit):  # tyro exits after it printed its part
        tyro.cli(
            kind,
            prog=f"tarsus {name}",
            description=kind.summary(),
            args=["--help"],
            config=CONFIG,
            registry=_create_heading_rules(kind),
        )
    _, _, details = (kind.__doc__ or "").partition("\n\n")
    lines = list[str]()
    for paragraph in filter(None, details.split("\n\n")):
        lines += [*textwrap.wrap(" ".join(paragraph.split()), LINE_WIDTH), ""]
    if kind.examples:
        lines += ["Examples:", *example_lines(kind.examples), ""]
    print("\n".join([*lines, EXIT_CODES]), flush=True)


def _create_heading_rules(kind: type[Command]) -> ConstructorRegistry:
    """Create rules that split a command's options into one box for each of its `groups`.

    tyro draws a box for each nested structure, so each heading becomes a structure. The rules serve
    only the help: arguments are parsed into the fields of the command itself.
    """
    registry = _create_registry()
    boxes: dict[type, tuple[StructFieldSpec, ...]] = {}
    expanding = set[type]()

    @registry.struct_rule
    def split(info: StructTypeInfo) -> StructConstructorSpec | None:
        if info.type in boxes:
            return StructConstructorSpec(dict, boxes[info.type])
        ours = isinstance(info.type, type) and issubclass(info.type, Command | Group)
        if not ours or info.type in expanding:
            return None
        expanding.add(info.type)  # so that the next line applies tyro's own rule
        spec: Any = ConstructorRegistry.get_struct_spec(info)
        expanding.remove(info.type)
        texts = field_texts(info.type)
        fields = {f.name: replace(f, helptext=texts.get(f.name)) for f in spec.fields}
        if info.type is not kind:
            return StructConstructorSpec(dict, tuple(fields.values()))
        headings = list[StructFieldSpec]()
        for heading, names in kind.groups.items():
            box = type(heading, (), {})
            boxes[box] = tuple(fields.pop(name) for name in names.split())
            headings.append(_add_heading(heading, box))
        shared = [fields.pop(n) for n in [*fields] if isinstance(fields[n].default, Group)]
        return StructConstructorSpec(dict, (*fields.values(), *headings, *shared[::-1]))

    return registry


def _add_heading(heading: str, box: type) -> StructFieldSpec:
    """Title a field that tyro then draws as a box with this heading."""
    annotations = tyro.conf.OmitArgPrefixes, tyro.conf.arg(name=heading, help="")
    hint: Any = Annotated[box, *annotations]
    return StructFieldSpec(heading.replace(" ", "_"), hint, tyro.MISSING_NONPROP)
