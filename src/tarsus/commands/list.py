"""`tarsus list`: what there is, by the files in a folder."""

from __future__ import annotations

import ast
import importlib
import shutil
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from tarsus import registry
from tarsus.commands.base import Command, Flag, called, print_json
from tarsus.errors import IncompatibleOptions

if TYPE_CHECKING:
    from tarsus.parameters import ParameterRow

FOLDERS = {
    "robots": "tarsus.robots",
    "laws": "tarsus.contact.laws",
    "solvers": "tarsus.contact.solvers",
    "steppers": "tarsus.stepping.methods",
    "terrains": "tarsus.terrain",
    "gaits": "tarsus.control.gaits",
    "sensors": "tarsus.sensing",
    "tasks": "tarsus.tasks",
    "goals": "tarsus.planning.goals",
    "planners": "tarsus.planning.methods",
    "scenes": "tarsus.validation.scenes",
    "experiments": "tarsus.experiments",
    "peers": "tarsus.benchmarks.peers",
}

FAMILIES = {  # kinds with parameters: where their base class is, and its name
    "laws": ("tarsus.contact.base", "Law"),
    "steppers": ("tarsus.stepping.base", "Stepper"),
    "terrains": ("tarsus.terrain.base", "Terrain"),
    "gaits": ("tarsus.control.base", "Controller"),
    "sensors": ("tarsus.sensing.base", "Sensor"),
    "tasks": ("tarsus.tasks.base", "LearningTask"),
    "goals": ("tarsus.planning.goals.base", "Goal"),
    "planners": ("tarsus.planning.methods.base", "SamplingMethod"),
}


@dataclass(frozen=True)
class List(Command):
    """List robots, laws, steppers, terrains, gaits, sensors, tasks and goals."""

    place: ClassVar[int] = 20
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus list": "everything, a line each",
        "tarsus list laws --parameters": "contact laws with their parameters",
        "tarsus list robots --json": "names and descriptions as JSON",
    }

    what: Annotated[
        tyro.conf.Positional[
            Literal[
                "all",
                "robots",
                "laws",
                "solvers",
                "steppers",
                "terrains",
                "gaits",
                "sensors",
                "tasks",
                "goals",
                "planners",
                "scenes",
                "experiments",
                "peers",
            ]
        ],
        called("[KIND]"),
    ] = "all"
    """Of what there is: robots, laws, solvers, steppers, terrains, gaits, sensors, tasks, goals,
    planners, scenes, experiments or peers.
    """

    parameters: Flag = False
    """Their parameters too (not of robots, solvers, scenes, papers, peers), with unit and range."""

    def execute(self) -> int:
        if self.parameters and self.what not in ("all", *FAMILIES):
            raise IncompatibleOptions(
                f"--parameters applies to {', '.join(FAMILIES)}, not to {self.what}.",
                "--parameters",
            )
        kinds = list(FOLDERS) if self.what == "all" else [self.what]
        if self.json:
            print_json({kind: _as_json(kind, self.parameters) for kind in kinds})
            return 0
        for kind in kinds:
            if self.what == "all":
                print(f"{kind}:")
            for name in registry.names(FOLDERS[kind]):
                indent = "  " if self.what == "all" else ""
                print(_hanging(f"{indent}{name:20} ", _summary(kind, name)))
                if self.parameters and kind in FAMILIES:
                    _print_parameters(kind, name)
        return 0


def _hanging(head: str, text: str) -> str:
    """Return a line; on a terminal wrapped, the text under itself."""
    if not sys.stdout.isatty():
        return head + text
    width = max(shutil.get_terminal_size().columns, len(head) + 20)
    blanks = " " * len(head)
    return textwrap.fill(text, width, initial_indent=head, subsequent_indent=blanks)


def _as_json(kind: str, parameters: bool) -> list[dict[str, Any]]:
    """The members of a kind, with what the table says of each."""
    from tarsus.parameters import COLUMNS

    found: list[dict[str, Any]] = []
    for name in registry.names(FOLDERS[kind]):
        member: dict[str, Any] = {"name": name, "summary": _summary(kind, name)}
        if parameters and kind in FAMILIES:
            heads = [heading.lower() for heading in COLUMNS]
            member["parameters"] = [dict(zip(heads, row, strict=True)) for row in _rows(kind, name)]
        found.append(member)
    return found


def _rows(kind: str, name: str) -> list[ParameterRow]:
    """The table of one member's parameters."""
    from tarsus import parameters

    base, family = FAMILIES[kind]
    owner: Any = registry.member(
        FOLDERS[kind], kind, name, getattr(importlib.import_module(base), family)
    )
    return parameters.table(owner)


def _summary(kind: str, name: str) -> str:
    """The first sentence of a file, read without running it."""
    source = registry.source(FOLDERS[kind], name)
    first, _, _ = (ast.get_docstring(source) or "").partition("\n\n")
    return " ".join(first.split())


def _print_parameters(kind: str, name: str) -> None:
    """The table of one member: in columns, wrapped in a terminal, one line per row in a pipe."""
    from tarsus.parameters import COLUMNS

    rows = _rows(kind, name)
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
