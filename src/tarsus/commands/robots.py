"""`tarsus robots check`: check that robots load and stand; with --mujoco, compare with MuJoCo."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import degrees
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

import tyro

from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import Command, File, Flag, Seconds, argument, print_json
from tarsus.errors import IncompatibleOptions, InvalidFile, join_names
from tarsus.files import check_writable, write_text

if TYPE_CHECKING:
    from tarsus.validation.robot_check import CheckedRobot
    from tarsus.validation.two_engines.run_difference import ComparisonRow

T = TypeVar("T")
# names of tables in a Markdown page
CHECK_TABLE, MUJOCO_TABLE = "checked robots", "robots compared with MuJoCo"
CHECK_COLUMNS = (
    *("robot", "DOF", "mass / kg", "unsupported", "servos", "dt / ms", "result", "trunk drop / mm"),
    *("tilt / deg", "unconverged steps", "wall time / s"),
)
MUJOCO_COLUMNS = (
    *("robot", "scene", "MuJoCo settings", "agree until / s", "events until then", "all events"),
    *("largest delay / steps", "position difference / mm", "joint difference / deg"),
    *("MuJoCo vs MuJoCo: agree until / s", "events", "mm"),
    *("deg", "unconverged steps", "remark"),
)
STAND_DURATION = 10.0  # s
MAX_REMARK_EVENTS = 2


@dataclass(frozen=True)
class Robots(Command):
    """Check that robots load and stand, and print the results in a table.

    Without names, `tarsus robots check` checks the built-in robots and those of the package
    example-robot-data. Each must stand for ten seconds with its own servos or the gait `stand`. The
    exit code is 1 if a robot that was named does not stand.

    With `--mujoco`, each robot flies, drops, stands and falls in Tarsus and in MuJoCo from the same
    file. A robot with a fixed base swings and holds its posture (docs/validation.md).
    """

    position: ClassVar[int] = 55
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus robots check mini_cheetah robot.urdf": "let two robots stand for ten seconds",
        "tarsus robots check --mujoco robot.xml": "simulate one file in both engines",
    }

    what: tyro.conf.Positional[Literal["check"]]
    """check: load the robots and let them stand."""
    robots: tyro.conf.Positional[Annotated[tuple[str, ...], argument("ROBOT")]] = ()
    """Robots to check: built-in robots, robots of example-robot-data, or paths to files. (default:
    all)"""
    duration: Seconds = STAND_DURATION
    """How long each robot must stand; not with --mujoco, whose scenes have fixed durations."""
    mujoco: Flag = False
    """Compare contact events and poses with MuJoCo, with contacts as stiff as its time step allows
    and at its named settings."""
    page: File = None
    """Write the table to this Markdown file. An existing file needs the lines `<!-- checked robots
    -->` (with --mujoco: `<!-- robots compared with MuJoCo -->`) and `<!-- end of ... -->` around
    it."""
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.simulation.time_steps import step_count
        from tarsus.validation.robot_check import check_robots, select_robots
        from tarsus.validation.two_engines import comparison

        step_count(self.duration, 1e-3)
        if self.mujoco and self.duration != STAND_DURATION:
            raise IncompatibleOptions(
                "--duration cannot be combined with --mujoco, whose scenes have fixed durations.",
                "--duration",
            )
        if self.mujoco and self.base.fixed_base:
            raise IncompatibleOptions(
                "--fixed-base cannot be combined with --mujoco, whose scenes need a floating base.",
                "--fixed-base",
            )
        before, after = _split_page(self.page, MUJOCO_TABLE if self.mujoco else CHECK_TABLE)
        chosen = select_robots(self.robots or (comparison.ROBOTS if self.mujoco else ()))
        failed = False
        with self.progress() as progress:
            if self.mujoco:
                compared = list(
                    _report_rows(
                        comparison.compare_robots(chosen, progress.show_stage),
                        _comparison_line,
                        progress.result,
                    )
                )
                table = ResultTable(
                    MUJOCO_COLUMNS,
                    [_format_comparison_cells(row) for row in compared],
                    ("robot", "scene", "MuJoCo settings", "remark"),
                )
                records, closing = [row.as_json() for row in compared], comparison.settings_text()
            else:
                checks = check_robots(chosen, self.duration, progress.show_stage, self.base.options)
                rows = list(_report_rows(checks, _check_line, progress.result))
                failed = bool(self.robots) and not all(row.passed for row in rows)
                short = without_common_folder([row.robot for row in rows])
                cells = [_check_cells(row, name) for row, name in zip(rows, short, strict=True)]
                table = ResultTable(CHECK_COLUMNS, cells, ("robot", "result"))
                records, closing = [row.as_json() for row in rows], _closing_line(rows)
        # print, and write the page
        print_json(records) if self.json else table.print(closing)
        if self.page is not None:
            self.page.parent.mkdir(parents=True, exist_ok=True)
            write_text({self.page: f"{before}\n{table.markdown()}{after}"})
        return int(failed)


def _report_rows(
    rows: Iterable[T], line: Callable[[T], str], report: Callable[[str], None]
) -> Iterator[T]:
    """Yield the rows, and report a line for each as soon as it is ready."""
    for row in rows:
        report(line(row))
        yield row


def _check_line(row: CheckedRobot) -> str:
    return (
        f"{row.robot}: {row.outcome}{f': {row.reason}' if row.reason else ''} ({row.seconds:.1f} s)"
    )


def _comparison_line(row: ComparisonRow) -> str:
    if row.difference is None:
        return f"{row.robot}: {f'{row.scene}: ' if row.scene else ''}{row.reason}"
    position = f"{_format_two_digits(1e3 * row.difference.position)} mm"
    angle = f"{_format_two_digits(degrees(row.difference.angle))} deg"
    settings = f", MuJoCo {row.settings}" if row.settings else ""
    until = f"they agree until {row.difference.agreement:.2f} s, then " if row.settings else ""
    return (
        f"{row.robot}: {row.scene}, {row.seconds:g} s{settings}: {until}differ by {position},"
        f" {angle}"
    )


@dataclass(frozen=True)
class ResultTable:
    """Table for the terminal and for a Markdown page.

    Attributes
    ----------
    head
        Headings.
    rows
        Cells of each row.
    left
        Headings of left-aligned columns.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[str]

    def markdown(self) -> str:
        """Format the table as Markdown."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

    def print(self, closing: str) -> None:
        """Print the table, wrapped on a terminal, and a closing line."""
        from rich.markup import escape

        from tarsus.viewer.tables import TextTable, text_console

        console = text_console()
        rows = [[escape(cell) for cell in row] for row in self.rows]
        TextTable(self.head, rows, self.left).print(console)
        console.print(closing)


def _split_page(page: Path | None, name: str) -> tuple[str, str]:
    """Split a page at the table `name`; raise InvalidFile if it has no markers."""
    if page is None:
        return "", ""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if not os.path.exists(page):
        check_writable(page.parent)
        return begin, f"{end}\n"
    try:
        before, has_begin, rest = page.read_text(encoding="utf-8").partition(begin)
    except UnicodeDecodeError:
        raise InvalidFile(
            f"cannot read {str(page)!r}: it is not UTF-8 text; save it as UTF-8.", page
        ) from None
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise InvalidFile(
            f"{str(page)!r} lacks the lines around the table: add {begin.strip()!r} and {end!r}.",
            page,
        )
    return before + begin, end + after


def without_common_folder(names: Sequence[str]) -> list[str]:
    """Remove the folders that all paths share."""
    folders = [Path(name).parts[:-1] for name in names if os.sep in name]
    shared = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared += 1
    return [str(Path(*Path(name).parts[shared:])) if os.sep in name else name for name in names]


def _check_cells(row: CheckedRobot, name: str) -> list[str]:
    """Format the cells of a row in the columns `CHECK_COLUMNS`."""
    result = f"{row.outcome}: {row.reason}" if row.reason else row.outcome
    if row.file.endswith("visual shapes"):
        result += " (on its visual shapes)"
    return [
        name,
        _number(row.dof, "d"),
        _number(row.mass, ".1f"),
        "" if row.dof is None else str(len(row.unsupported)),
        row.servos,
        _number(row.dt and 1e3 * row.dt, "g"),
        result,
        _number(None if row.trunk_drop is None else 1e3 * row.trunk_drop, ".1f"),
        _number(row.tilt, ".1f"),
        _number(row.unconverged, "d"),
        f"{row.seconds:.1f}",
    ]


def _closing_line(rows: Sequence[CheckedRobot]) -> str:
    passed = sum(row.passed for row in rows)
    return (
        f"{passed} of {len(rows)} robots stand or hold their posture. `tarsus inspect FILE` lists"
        " the unsupported elements of a file."
    )


def _format_comparison_cells(row: ComparisonRow) -> list[str]:
    """Format the cells of a row in the columns `MUJOCO_COLUMNS`."""
    if row.reason:
        return [row.robot, row.scene, row.settings, *[""] * (len(MUJOCO_COLUMNS) - 4), row.reason]
    remarks = [] if row.order is None else [f"order {row.order:.2f}"]
    for events, engine in ((row.only_tarsus, "Tarsus"), (row.only_mujoco, "MuJoCo")):
        if events:
            remarks.append(f"only in {engine}: {join_names(events, MAX_REMARK_EVENTS)}")
    result, mujoco = row.difference, row.soft
    assert result is not None
    differences = [
        _format_two_digits(1e3 * result.position),
        _format_two_digits(degrees(result.angle)),
    ]
    scene, remark = [row.robot, row.scene, row.settings], "; ".join(remarks)
    if row.order is not None:
        return [*scene, *[""] * 4, *differences, *[""] * 5, remark]
    mujoco_cells = [""] * 4
    if mujoco is not None:
        mujoco_cells = [f"{mujoco.agreement:.2f}", f"{mujoco.agreeing} of {mujoco.common_events}"]
        mujoco_cells += [
            _format_two_digits(1e3 * mujoco.position),
            _format_two_digits(degrees(mujoco.angle)),
        ]
    return [
        *scene,
        f"{result.agreement:.2f}",
        f"{result.early_agreeing} of {result.early_events}",
        f"{result.agreeing} of {result.common_events}",
        f"{result.latest:+d}",
        *differences,
        *mujoco_cells,
        str(row.unsolved),
        remark,
    ]


def _format_two_digits(value: float) -> str:
    """Format a positive number with two significant digits and no exponent."""
    return f"{value:.4f}" if value < 0.01 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _number(value: float | None, spec: str) -> str:
    return "" if value is None else format(value, spec)
