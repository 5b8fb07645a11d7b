"""`tarsus robots check`: which robots load, and stand; with --mujoco, how MuJoCo moves them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import degrees
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

import tyro

from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import Command, File, Flag, Seconds, called, print_json
from tarsus.errors import IncompatibleOptions, InvalidFile, join_names
from tarsus.files import check_writable, write_text

if TYPE_CHECKING:
    from tarsus.validation.robot_check import CheckedRobot
    from tarsus.validation.two_engines.outcome import TruthRow

T = TypeVar("T")
CHECKED, BESIDE = "checked robots", "robots beside MuJoCo"  # what a page's table is called
HEAD = ("robot", "dof", "mass / kg", "left out", "servos", "dt / ms", "stands", "lower by / mm")
HEAD = (*HEAD, "tilt / deg", "unconverged", "time / s")
SCENES = ("robot", "scene", "MuJoCo", "alike until / s", "events till then", "events")
SCENES = (*SCENES, "latest / steps", "trunk / mm", "angles / deg")
SCENES = (*SCENES, "MuJoCo itself: alike until / s", "events", "mm")
SCENES = (*SCENES, "deg", "unconverged", "remark")
SECONDS = 10.0
SOME = 2  # events that a remark names


@dataclass(frozen=True)
class Robots(Command):
    """Load robots and let them stand: one table of what came of it.

    `tarsus robots check` takes the built-in robots and those of the package example-robot-data,
    each held for ten seconds by its own servos or by the gait `stand`. It exits with 1 if one that
    was named does not stand. With `--mujoco` a robot
    flies, drops, stands and falls in Tarsus and in MuJoCo from one file, one with a fixed base
    swings and holds its posture (docs/validation.md).
    """

    place: ClassVar[int] = 55
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus robots check mini_cheetah robot.urdf": "two robots, each held for ten seconds",
        "tarsus robots check --mujoco robot.xml": "one file in both engines",
    }

    what: tyro.conf.Positional[Literal["check"]]
    """check: load them, let them stand."""
    robots: tyro.conf.Positional[Annotated[tuple[str, ...], called("ROBOT")]] = ()
    """Only these: built-in ones, names of the package's robots, or paths to files."""
    duration: Seconds = SECONDS
    """How long each stands; not with --mujoco, whose scenes have their own times."""
    mujoco: Flag = False
    """Compare with MuJoCo, as hard as its steps allow and at its named settings: events and poses
    of a flight, a limp drop, a stand and a fall; of a fixed base a swing and a hold."""
    page: File = None
    """Write the table to this Markdown file: a new one, or between the lines `<!-- checked robots
    -->` (with --mujoco `<!-- robots beside MuJoCo -->`) and `<!-- end of ... -->` of one that is
    there."""
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        from tarsus.simulation.time_steps import step_count
        from tarsus.validation.robot_check import checked, named
        from tarsus.validation.two_engines import truth

        # what is asked, and whether its table has a place
        step_count(self.duration, 1e-3)
        if self.mujoco and self.duration != SECONDS:
            raise IncompatibleOptions(
                "--duration cannot be combined with --mujoco, whose scenes have fixed durations.",
                "--duration",
            )
        if self.mujoco and self.base.fixed_base:
            raise IncompatibleOptions(
                "--fixed-base cannot be combined with --mujoco, whose scenes need a floating base.",
                "--fixed-base",
            )
        before, after = _around(self.page, BESIDE if self.mujoco else CHECKED)
        chosen = named(self.robots or (truth.ROBOTS if self.mujoco else ()))
        # its rows; of robots that were named each shall stand
        failed = False
        with self.progress() as progress:
            if self.mujoco:
                beside = list(_each(truth.rows(chosen, progress.say), _met, progress.result))
                table = ToldTable(
                    SCENES, [_scene(row) for row in beside], ("robot", "scene", "MuJoCo", "remark")
                )
                told, closing = [row.as_json() for row in beside], truth.stated()
            else:
                known = checked(chosen, self.duration, progress.say, self.base.options)
                rows = list(_each(known, _stood, progress.result))
                failed = bool(self.robots) and not all(row.well for row in rows)
                short = without_common_folder([row.robot for row in rows])
                cells = [_cells(row, name) for row, name in zip(rows, short, strict=True)]
                table = ToldTable(HEAD, cells, ("robot", "stands"))
                told, closing = [row.as_json() for row in rows], _closing(rows)
        # told
        print_json(told) if self.json else table.tell(closing)
        if self.page is not None:
            self.page.parent.mkdir(parents=True, exist_ok=True)
            write_text({self.page: f"{before}\n{table.markdown()}{after}"})
        return int(failed)


def _each(rows: Iterable[T], line: Callable[[T], str], tell: Callable[[str], None]) -> Iterator[T]:
    """The rows, each told in a line as soon as it is there."""
    for row in rows:
        tell(line(row))
        yield row


def _stood(row: CheckedRobot) -> str:
    return f"{row.robot}: {row.outcome}{f': {row.why}' if row.why else ''} ({row.seconds:.1f} s)"


def _met(row: TruthRow) -> str:
    if row.found is None:
        return f"{row.robot}: {f'{row.scene}: ' if row.scene else ''}{row.why}"
    ends = f"{_figure(1e3 * row.found.place)} mm, {_figure(degrees(row.found.angle))} deg apart"
    beside = f", MuJoCo {row.settings}" if row.settings else ""
    alike = f"alike until {row.found.together:.2f} s, then " if row.settings else ""
    return f"{row.robot}: {row.scene} of {row.seconds:g} s{beside}: {alike}{ends}"


@dataclass(frozen=True)
class ToldTable:
    """Cells under a head; `left`: columns of words."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[str]

    def markdown(self) -> str:
        """For a page."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

    def tell(self, closing: str) -> None:
        """Wrapped in a terminal, with a last line."""
        from rich.markup import escape

        from tarsus.viewer.tables import TextTable, text_console

        console = text_console()
        rows = [[escape(cell) for cell in row] for row in self.rows]
        TextTable(self.head, rows, self.left).print(console)
        console.print(closing)


def _around(page: Path | None, name: str) -> tuple[str, str]:
    """What of a page, or of a new one, stands around the table called so; TarsusError if it has no
    place for one.
    """
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
            f"{str(page)!r} is not a Markdown file: its text is not UTF-8.", page
        ) from None
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise InvalidFile(
            f"{str(page)!r} lacks the lines around the table: add {begin.strip()!r} and {end!r}.",
            page,
        )
    return before + begin, end + after


def without_common_folder(names: Sequence[str]) -> list[str]:
    """Names as they are, paths without the folders that all paths among them share."""
    folders = [Path(name).parts[:-1] for name in names if os.sep in name]
    shared = 0
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared += 1
    return [str(Path(*Path(name).parts[shared:])) if os.sep in name else name for name in names]


def _cells(row: CheckedRobot, name: str) -> list[str]:
    """A row of the table, in the columns of `HEAD`."""
    told = f"{row.outcome}: {row.why}" if row.why else row.outcome
    if row.file.endswith("visual shapes"):
        told += " (on its visual shapes)"
    return [
        name,
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


def _closing(rows: Sequence[CheckedRobot]) -> str:
    well = sum(row.well for row in rows)
    return (
        f"{well} of {len(rows)} stand or hold; `tarsus inspect FILE` names what of one is left out"
    )


def _scene(row: TruthRow) -> list[str]:
    """A row of the table, in the columns of `SCENES`."""
    if row.why:
        return [row.robot, row.scene, row.settings, *[""] * (len(SCENES) - 4), row.why]
    # what is said beside the figures
    remarks = [] if row.order is None else [f"order {row.order:.2f}"]
    for events, whose in ((row.ours_alone, "Tarsus"), (row.theirs_alone, "MuJoCo")):
        remarks += [f"in {whose} alone: {join_names(events, SOME)}"] if events else []
    # the figures
    found, soft = row.found, row.soft
    assert found is not None
    ends = [_figure(1e3 * found.place), _figure(degrees(found.angle))]
    where, remark = [row.robot, row.scene, row.settings], "; ".join(remarks)
    if row.order is not None:
        return [*where, *[""] * 4, *ends, *[""] * 5, remark]
    itself = [""] * 4
    if soft is not None:
        itself = [f"{soft.together:.2f}", f"{soft.within} of {soft.shared}"]
        itself += [_figure(1e3 * soft.place), _figure(degrees(soft.angle))]
    return [
        *where,
        f"{found.together:.2f}",
        f"{found.early_within} of {found.early}",
        f"{found.within} of {found.shared}",
        f"{found.latest:+d}",
        *ends,
        *itself,
        str(row.unsolved),
        remark,
    ]


def _figure(value: float) -> str:
    """Two digits, and no exponent."""
    return f"{value:.4f}" if value < 0.01 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _number(value: float | None, how: str) -> str:
    return "" if value is None else format(value, how)
