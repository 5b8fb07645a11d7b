"""`tarsus rerun`: repeat the run of a log and compare the results bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from tarsus import robots
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import FAILED, ArgumentCheck, Command, File, Trust, argument, print_json

if TYPE_CHECKING:
    from tarsus.comparison.rerun import RerunResult

MAX_ROWS = 12  # deviations that are printed
MAX_LENGTH = 24  # characters of a printed value


@dataclass(frozen=True)
class Rerun(Command):
    """Repeat the run of a log and compare every variable bit for bit.

    The exit code is 0 if the results are bit-identical. Otherwise it is 1, and the differences are
    printed.
    """

    position: ClassVar[int] = 52
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus rerun out/mini_cheetah.nc": "check that this machine reproduces a log",
    }

    log: Annotated[tyro.conf.Positional[Path], argument("LOG")]
    """Log of `tarsus run` or `Simulation.run` (.nc), complete or partial."""
    robot: Annotated[str | None, argument("ROBOT"), ArgumentCheck(robots.require)] = None
    """Use this robot instead of the one that the log names, for example if its file has moved."""
    out: File = None
    """Write the new log to this file (.nc)."""
    trust: Trust = ()
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.comparison.rerun import rerun
        from tarsus.simulation.recording.log import save_log
        from tarsus.simulation.recording.partial_log import log_path

        path = log_path(self.out) if self.out else None
        with self.progress() as progress:
            progress.show_stage(f"repeating the run of {self.log}")
            options = {"robot": self.base.load(self.robot)} if self.robot else {}
            result = rerun(self.log, **options)
        if path:
            save_log(result.log, path)
        print_json(_as_json(result)) if self.json else _print(self.log, result)
        return 0 if result.reproduced else FAILED


def _as_json(result: RerunResult) -> dict[str, Any]:
    return {
        "reproduced": result.reproduced,
        "steps": result.steps,
        "variables": result.variables,
        "changed": {name: list(pair) for name, pair in result.changed.items()},
        "deviations": [asdict(deviation) for deviation in result.deviations],
        "notes": list(result.notes),
    }


def _print(path: Path, result: RerunResult) -> None:
    """Print the verdict, and tables of the differences."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=110, soft_wrap=True)
    if result.reproduced:
        count = f"{result.steps} steps, {result.variables} variables"
        console.print(f"[green]reproduced[/] bit for bit: {path}, {count}")
    else:
        count = f"{len(result.deviations)} of {result.variables} variables differ"
        console.print(f"[red]not reproduced[/]: {path}, {result.steps} steps, {count}")
    for note in result.notes:
        console.print(f"[yellow]note[/] {note}")
    if result.changed:
        table = Table(
            *("item", "in the log", "now"),
            title="differences in software and inputs",
            title_justify="left",
        )
        for name, pair in result.changed.items():
            table.add_row(name, *(_shorten(value) for value in pair))
        console.print(table)
    if result.deviations:
        table = Table(
            *("variable", "first difference", "differing values", "largest difference"),
            title="differences in the results",
            title_justify="left",
        )
        for row in result.deviations[:MAX_ROWS]:
            first = "" if row.time is None else f"{row.time:.4f} s, step {row.step}"
            table.add_row(row.name, first, str(row.count), f"{row.largest:.1e}")
        console.print(table)
        if len(result.deviations) > MAX_ROWS:
            console.print(f"and {len(result.deviations) - MAX_ROWS} more; --json lists them all")


def _shorten(value: Any) -> str:
    text = str(value)
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 4]} ..."
