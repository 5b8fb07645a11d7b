"""`tarsus reproduce`: reproduction of a paper's tables and figures."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from tarsus.commands.base import FAILED, Command, Flag, argument, file_record, print_json


@dataclass(frozen=True)
class Reproduce(Command):
    """Reproduce the tables and figures of a paper.

    Writes NAME.html and NAME.json. Without a name, lists the papers and their parts. Exits with 1
    if a required check fails.
    """

    position: ClassVar[int] = 60
    topic: ClassVar[str] = "Papers"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus reproduce": "the papers and their parts",
        "tarsus reproduce gehring2014 --parts table1 --quick --out out": "one table, in short",
    }

    name: tyro.conf.Positional[Annotated[str, argument("[NAME]")]] = ""
    """Paper (`tarsus list experiments`)."""
    out: Annotated[Path, argument("FOLDER")] = Path(".")
    """Folder for the page and the data."""
    parts: Annotated[str, argument("NAME,...")] = ""
    """Parts to reproduce, such as table1,figure5; by default all."""
    quick: Flag = False
    """Fewer and shorter runs, as in the tests."""

    def execute(self) -> int:
        import tarsus_papers

        if not self.name:
            return self._list()
        wanted = [part.strip() for part in self.parts.split(",") if part.strip()]
        with self.progress() as progress:
            say = _print_progress if not (self.json or self.output.quiet) else progress.show_stage
            record = tarsus_papers.reproduce(self.name, self.out, wanted, self.quick, say)
        files = [self.out / f"{self.name}.{kind}" for kind in ("html", "json")]
        failures = tarsus_papers.failed_checks(record)
        if self.json:
            rows = {name: part["rows"] for name, part in record["parts"].items()}
            output = {"parts": rows, "failed": failures, "written": [file_record(f) for f in files]}
            print_json(output)
            return FAILED if failures else 0
        _print_rows(record)
        for file in files:
            print(f"wrote {file}")
        for failure in failures:
            print(f"failed: {failure}", file=sys.stderr)
        return FAILED if failures else 0

    def _list(self) -> int:
        """List all experiments and their parts."""
        import tarsus_papers

        experiments = {name: tarsus_papers.load(name) for name in tarsus_papers.names()}
        if self.json:
            listing = {
                name: {
                    "title": experiment.title,
                    "parts": {p.name: p.title for p in experiment.parts},
                }
                for name, experiment in experiments.items()
            }
            print_json(listing)
            return 0
        for name, experiment in experiments.items():
            print(f"{name}: {experiment.title}")
            for part in experiment.parts:
                print(f"  {part.name:14} {part.title}")
        return 0


def _print_progress(text: str) -> None:
    """Print progress to standard error even without a terminal, because a run takes minutes."""
    print(text, file=sys.stderr, flush=True)


def _print_rows(record: Mapping[str, Any]) -> None:
    """Print published and measured numbers, one table per part."""
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
