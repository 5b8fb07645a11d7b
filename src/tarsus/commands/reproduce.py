"""`tarsus reproduce`: a paper's tables and figures, measured again."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from tarsus.commands.base import FAILED, Command, Flag, called


@dataclass(frozen=True)
class Reproduce(Command):
    """Reproduce the tables and figures of a paper.

    Writes NAME.html and NAME.json. Without a name, lists the papers and their parts. Exits with 1
    if a required check fails.
    """

    place: ClassVar[int] = 60

    name: tyro.conf.Positional[Annotated[str, called("[NAME]")]] = ""
    """Paper (`tarsus list experiments`)."""
    out: Annotated[Path, called("FOLDER")] = Path(".")
    """Folder for the page and the data."""
    parts: Annotated[str, called("NAME,...")] = ""
    """Parts to reproduce, such as table1,figure5; by default all."""
    quick: Flag = False
    """Fewer and shorter runs, as in the tests."""

    def execute(self) -> int:
        from tarsus import experiments

        if not self.name:
            return _list()
        wanted = [part.strip() for part in self.parts.split(",") if part.strip()]
        record = experiments.reproduce(self.name, self.out, wanted, self.quick, _say)
        _tell(record)
        for kind in ("html", "json"):
            print(f"written {self.out / f'{self.name}.{kind}'}")
        failures = experiments.failed(record)
        for failure in failures:
            print(f"failed: {failure}", file=sys.stderr)
        return FAILED if failures else 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _list() -> int:
    """Every experiment and its parts."""
    from tarsus import experiments

    for name in experiments.names():
        experiment = experiments.load(name)
        print(f"{name}: {experiment.title}")
        for part in experiment.parts:
            print(f"  {part.name:14} {part.title}")
    return 0


def _tell(record: Mapping[str, Any]) -> None:
    """Published beside measured, one table per part."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    for part in record["parts"].values():
        rows = [
            (row["quantity"], row["published"], row["measured"], row["ratio"], row["unit"])
            for row in part["rows"]
        ]
        if rows:
            table = Table(title=part["title"], title_justify="left")
            for k, column in enumerate(("", "published", "measured", "ratio", "unit")):
                table.add_column(column, justify="right" if k in (1, 2, 3) else "left")
            for quantity, *numbers, unit in rows:
                table.add_row(quantity, *("" if n is None else f"{n:,.4g}" for n in numbers), unit)
            console.print(table)
