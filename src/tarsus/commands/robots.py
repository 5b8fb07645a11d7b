"""`tarsus robots check`: which robots load, and stand."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

from tarsus.commands.base import Command, File, Seconds, called, print_json
from tarsus.errors import TarsusError
from tarsus.files import write_text

if TYPE_CHECKING:
    from tarsus.validation.robot_check import CheckedRobot

BEGIN, END = "<!-- checked robots -->\n", "<!-- end of checked robots -->"
HEAD = ("robot", "dof", "mass / kg", "left out", "servos", "dt / ms", "stands", "lower by / mm")
HEAD = (*HEAD, "tilt / deg", "unconverged", "time / s")


@dataclass(frozen=True)
class Robots(Command):
    """Load robots and let them stand: one table of what came of it.

    `tarsus robots check` takes the built-in robots and those of the package example-robot-data,
    each held for ten seconds by its own servos or by the gait `stand`.
    """

    place: ClassVar[int] = 55
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus robots check mini_cheetah robot.urdf": "two robots, each held for ten seconds",
    }

    what: tyro.conf.Positional[Literal["check"]]
    """check: load them, let them stand."""
    robots: tyro.conf.Positional[Annotated[tuple[str, ...], called("ROBOT")]] = ()
    """Only these: built-in ones, names of the package's robots, or paths to files."""
    duration: Seconds = 10.0
    """How long each stands."""
    page: File = None
    """Write the table to this Markdown file, between its lines `<!-- checked robots -->` and
    `<!-- end of checked robots -->`."""

    def execute(self) -> int:
        from tarsus.simulation.inputs import steps
        from tarsus.validation.robot_check import checked, named

        steps(self.duration, 1e-3)
        before, after = self._around()
        with self.progress() as progress:
            rows = list(checked(named(self.robots), self.duration, progress.say))
        print_json([row.as_json() for row in rows]) if self.json else _tell(rows)
        if self.page is not None:
            write_text({self.page: f"{before}\n{_markdown(rows)}{after}"})
        return 0

    def _around(self) -> tuple[str, str]:
        """What of the page stands around its table; TarsusError if it has no place for one."""
        if self.page is None:
            return "", ""
        text = self.page.read_text(encoding="utf-8")
        before, begin, rest = text.partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise TarsusError(
                f"{str(self.page)!r} has no lines {BEGIN.strip()!r} and {END!r} for a table."
            )
        return before + begin, end + after


def _cells(row: CheckedRobot) -> list[str]:
    """A row of the table, in the columns of `HEAD`."""
    told = f"{row.outcome}: {row.why}" if row.why else row.outcome
    if row.file.endswith("visual shapes"):
        told += " (on its visual shapes)"
    return [
        row.robot,
        _number(row.dof, "d"),
        _number(row.mass, ".1f"),
        "" if row.dof is None else str(len(row.left_out)),
        row.servos,
        _number(row.dt and 1e3 * row.dt, "g"),
        told,
        _number(None if row.sinks is None else 1e3 * row.sinks, ".1f"),
        _number(row.tilt, ".1f"),
        _number(row.unconverged, "d"),
        f"{row.seconds:.1f}",
    ]


def _number(value: float | None, how: str) -> str:
    return "" if value is None else format(value, how)


def _markdown(rows: Sequence[CheckedRobot]) -> str:
    lines = [HEAD, ["---"] * len(HEAD), *map(_cells, rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _tell(rows: Sequence[CheckedRobot]) -> None:
    """The table, wrapped in a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in HEAD:
        table.add_column(column, justify="left" if column in ("robot", "stands") else "right")
    for row in rows:
        table.add_row(*map(escape, _cells(row)))
    console.print(table)
    well = sum(row.well for row in rows)
    console.print(
        f"{well} of {len(rows)} stand or hold; `tarsus inspect FILE` names what of one is left out"
    )
