"""`tarsus rerun`: run again what a log says, and compare bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from tarsus import robots
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import FAILED, Checked, Command, File, Trust, called, print_json

if TYPE_CHECKING:
    from tarsus.comparison.rerun import RunAgain

SHOWN = 12  # rows of deviations
LETTERS = 24  # of a value


@dataclass(frozen=True)
class Rerun(Command):
    """Run again what a log says was run, and compare every variable bit for bit.

    Exit code 0: the same bits; 1: not, and what differs is printed.
    """

    place: ClassVar[int] = 52
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus rerun out/mini_cheetah.nc": "does this machine make the same bits?",
    }

    log: Annotated[tyro.conf.Positional[Path], called("LOG")]
    """A log of `tarsus run` or of `Simulation.run` (.nc), whole or partial."""
    robot: Annotated[str | None, called("ROBOT"), Checked(robots.require)] = None
    """Robot in place of the one that the log names, such as its file where it is now."""
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
            progress.say(f"running {self.log} again")
            found = rerun(self.log, **({"robot": self.base.load(self.robot)} if self.robot else {}))
        if path:
            save_log(found.log, path)
        print_json(told(found)) if self.json else _tell(self.log, found)
        return 0 if found.reproduced else FAILED


def told(found: RunAgain) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "reproduced": found.reproduced,
        "steps": found.steps,
        "variables": found.variables,
        "otherwise": {name: list(pair) for name, pair in found.otherwise.items()},
        "deviations": [asdict(deviation) for deviation in found.deviations],
        "notes": list(found.notes),
    }


def _tell(path: Path, found: RunAgain) -> None:
    """A verdict, and tables of what differs."""
    from rich.console import Console
    from rich.table import Table

    # the verdict
    console = Console(highlight=False, width=110, soft_wrap=True)
    if found.reproduced:
        count = f"{found.steps} steps, {found.variables} variables"
        console.print(f"[green]reproduced[/] bit for bit: {path}, {count}")
    else:
        count = f"{len(found.deviations)} of {found.variables} variables differ"
        console.print(f"[red]not reproduced[/]: {path}, {found.steps} steps, {count}")
    for note in found.notes:
        console.print(f"[yellow]note[/] {note}")
    # what was not as it was
    if found.otherwise:
        table = Table("what", "then", "now", title="not as it was", title_justify="left")
        for name, pair in found.otherwise.items():
            table.add_row(name, *(_short(value) for value in pair))
        console.print(table)
    if found.deviations:
        table = Table(
            "variable",
            "first at",
            "numbers",
            "largest",
            title="came out otherwise",
            title_justify="left",
        )
        for row in found.deviations[:SHOWN]:
            at = "" if row.time is None else f"{row.time:.4f} s, step {row.step}"
            table.add_row(row.name, at, str(row.count), f"{row.largest:.1e}")
        console.print(table)
        if len(found.deviations) > SHOWN:
            console.print(f"and {len(found.deviations) - SHOWN} more; --json has them all")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 4]} ..."
