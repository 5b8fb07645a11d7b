"""`tarsus list`: list the members of each kind, from its folder and from plug-ins."""

from __future__ import annotations

import ast
import importlib
import shutil
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from tarsus import plugins, registry
from tarsus.commands.base import ArgumentCheck, Command, Flag, argument, print_json
from tarsus.errors import IncompatibleOptions, PluginError, unknown_name_error

if TYPE_CHECKING:
    from tarsus.parameters import ParameterRow

FOLDERS = {
    "robots": "tarsus.robots",
    "laws": "tarsus.contact.laws",
    "solvers": "tarsus.contact.solvers",
    "steppers": "tarsus.stepping.methods",
    "terrains": "tarsus.terrain",
    "gaits": "tarsus.control.gaits",
    "actuators": "tarsus.control.actuators",
    "sensors": "tarsus.sensing",
    "tasks": "tarsus.tasks",
    "goals": "tarsus.planning.goals",
    "planners": "tarsus.planning.methods",
    "scenes": "tarsus.validation.scenes",
    "engines": "tarsus.engines",
}

BASE_CLASSES = {  # kinds with parameters: module and name of their base class
    "laws": ("tarsus.contact.base", "Law"),
    "steppers": ("tarsus.stepping.base", "Stepper"),
    "terrains": ("tarsus.terrain.base", "Terrain"),
    "gaits": ("tarsus.control.base", "Controller"),
    "actuators": ("tarsus.control.actuators.base", "ActuatorModel"),
    "sensors": ("tarsus.sensing.base", "Sensor"),
    "tasks": ("tarsus.tasks.base", "LearningTask"),
    "goals": ("tarsus.planning.goals.base", "Goal"),
    "planners": ("tarsus.planning.methods.base", "SamplingMethod"),
}


def list_folders() -> dict[str, str]:
    """List the folder of every kind; kinds of plug-ins come last."""
    plugin_kinds = plugins.find_plugins(plugins.KINDS_GROUP)
    for kind in sorted(FOLDERS.keys() & plugin_kinds):
        raise plugins.name_conflict("kinds", kind, "tarsus", plugin_kinds[kind].package)
    return FOLDERS | {kind: plugin.module for kind, plugin in sorted(plugin_kinds.items())}


def _list_kinds() -> tuple[str, ...]:
    return "all", *list_folders()


def _check_kind(kind: str) -> None:
    if kind not in _list_kinds():
        raise unknown_name_error("kind", kind, _list_kinds())


@dataclass(frozen=True)
class List(Command):
    """List robots, laws, steppers, terrains, gaits, actuators, sensors and tasks."""

    position: ClassVar[int] = 20
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus list": "list everything, one line each",
        "tarsus list laws --parameters": "list contact laws with their parameters",
        "tarsus list robots --json": "print names and descriptions as JSON",
    }

    what: Annotated[
        tyro.conf.Positional[str],
        argument("[KIND]"),
        ArgumentCheck(_check_kind, _list_kinds),
    ] = "all"
    """Kind of object to list: robots, laws, solvers, steppers, terrains, gaits, sensors, tasks,
    goals, planners, scenes, or a kind that a plug-in adds, such as experiments or peers.
    """

    parameters: Flag = False
    """List parameters too, with unit and range (not for robots, solvers, scenes and plug-in
    kinds)."""

    def execute(self) -> int:
        if self.parameters and self.what not in ("all", *BASE_CLASSES):
            raise IncompatibleOptions(
                f"--parameters applies to {', '.join(BASE_CLASSES)}, not to {self.what}.",
                "--parameters",
            )
        known = list_folders()
        kinds = known if self.what == "all" else {self.what: known[self.what]}
        if self.json:
            rows = {kind: _as_json(kind, kinds[kind], self.parameters) for kind in kinds}
            print_json(rows)
            return 0
        for kind, folder in kinds.items():
            if self.what == "all":
                print(f"{kind}:")
            for name, summary in _read_summaries(kind, folder).items():
                indent = "  " if self.what == "all" else ""
                print(_format_hanging_line(f"{indent}{name:20} ", summary))
                if self.parameters and kind in BASE_CLASSES:
                    _print_parameters(kind, name)
        return 0


def _read_summaries(kind: str, folder: str) -> dict[str, str]:
    """Read the first sentence of every member's docstring without running its file.

    A plug-in that cannot be read is skipped with a warning.
    """
    summaries = dict[str, str]()
    if kind not in FOLDERS:
        plugin = plugins.find_plugins(plugins.KINDS_GROUP)[kind]
        try:
            if not hasattr(plugin.load(), "__path__"):
                raise plugin.broken_error("its module must be a folder of members")
        except PluginError as error:
            registry.warn_skipped(error)
            return summaries
    for name in registry.names(folder):
        try:
            text = ast.get_docstring(registry.parse_member(folder, name)) or ""
        except PluginError as error:
            registry.warn_skipped(error)
        else:
            summaries[name] = " ".join(text.partition("\n\n")[0].split())
    return summaries


def _format_hanging_line(head: str, text: str) -> str:
    """Format head and text on one line; on a terminal, wrap the text with a hanging indent."""
    if not sys.stdout.isatty():
        return head + text
    width = max(shutil.get_terminal_size().columns, len(head) + 20)
    blanks = " " * len(head)
    return textwrap.fill(text, width, initial_indent=head, subsequent_indent=blanks)


def _as_json(kind: str, folder: str, parameters: bool) -> list[dict[str, Any]]:
    """Convert the members of a kind to JSON records."""
    from tarsus.parameters import COLUMNS

    members: list[dict[str, Any]] = []
    for name, summary in _read_summaries(kind, folder).items():
        member: dict[str, Any] = {"name": name, "summary": summary}
        if parameters and kind in BASE_CLASSES:
            heads = [heading.lower() for heading in COLUMNS]
            member["parameters"] = [
                dict(zip(heads, row, strict=True)) for row in _build_rows(kind, name)
            ]
        members.append(member)
    return members


def _build_rows(kind: str, name: str) -> list[ParameterRow]:
    """Build the parameter table of one member."""
    from tarsus import parameters

    module, class_name = BASE_CLASSES[kind]
    owner: Any
    try:
        owner = registry.member_class(
            FOLDERS[kind], kind, name, getattr(importlib.import_module(module), class_name)
        )
    except PluginError as error:
        registry.warn_skipped(error)
        return []
    return parameters.table(owner)


def _print_parameters(kind: str, name: str) -> None:
    """Print the parameters of one member: a wrapped table on a terminal, plain lines in a pipe."""
    from tarsus.parameters import COLUMNS

    rows = _build_rows(kind, name)
    if not rows:
        return print("    no parameters\n")
    if sys.stdout.isatty():
        return _print_wrapped(rows)
    lines = [COLUMNS, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(rows[0]) - 1)]
    for row in lines:
        cells = (cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True))
        print(f"    {'  '.join(cells)}  {row[-1]}")
    print()


def _print_wrapped(rows: list[ParameterRow]) -> None:
    from rich import box
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from tarsus.parameters import COLUMNS

    table = Table(box=box.SIMPLE_HEAD)
    for heading in COLUMNS:
        table.add_column(heading, no_wrap=heading in ("Name", "Unit"))
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(Padding(table, (0, 0, 0, 4)))
