"""`tarsus export`: a log as CSV, Parquet or MCAP; a robot and its step as C."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from tarsus import robots
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import (
    AUTO,
    GAITS,
    Checked,
    Command,
    Folder,
    LawName,
    Seconds,
    Settings,
    StepperName,
    TerrainName,
    called,
    each_setting,
    name_of,
    print_json,
    written,
)
from tarsus.errors import IncompatibleOptions, InvalidFile, InvalidValue, unknown_name
from tarsus.simulation.time_steps import DEFAULT_DT

if TYPE_CHECKING:
    from tarsus.simulation.simulation import Simulation

TABLES, MCAP, LOG, NONE = (".csv", ".parquet"), ".mcap", ".nc", "none"


@dataclass(frozen=True)
class Export(Command):
    """Write a log as CSV, Parquet or MCAP (for Foxglove), or a robot as C.

    A CSV file and C need nothing more; Parquet and MCAP need the extra `exchange`, which
    `tarsus doctor` shows how to install.
    """

    place: ClassVar[int] = 54
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus export out/mini_cheetah.nc out/trot.csv": "a log for spreadsheets",
        "tarsus export out/mini_cheetah.nc out/trot.mcap": "a log for Foxglove",
        "tarsus export mini_cheetah --c out/c": "dynamics and the step as C, with tests",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Log": "robot",
        "C": "c law gait dt set contacts terrain stepper",
    }

    what: Annotated[tyro.conf.Positional[str], called("LOG|ROBOT")]
    """A log of `tarsus run` (.nc); with --c a robot: a built-in one's name, or a file."""
    to: Annotated[tyro.conf.Positional[Path | None], called("FILE")] = None
    """Where a log goes: *.csv, *.parquet or *.mcap."""
    robot: Annotated[str | None, called("ROBOT"), Checked(robots.require)] = None
    """Robot of the log, in place of the one that it names (for .mcap)."""
    c: Folder = None
    """Write dynamics, Jacobians and a step as C, with test vectors and CMake, to this folder."""
    law: LawName = "moreau"
    gait: Annotated[
        str,
        called("NAME", "Gait of the C step, auto, or none: torques come in as `action`."),
        name_of("gait", GAITS, AUTO, NONE),
    ] = AUTO
    dt: Seconds = DEFAULT_DT
    """Length of the C step."""
    set: Settings = ()
    """Parameters of law, gait, stepper, terrain (`tarsus list --parameters`): solver=sor kp=60."""
    contacts: Annotated[str | None, called("NAME,...")] = None
    """Points that may touch: names, patterns, feet or all; by default 16, or the feet: what else
    may touch makes the C code several times as long."""
    terrain: TerrainName = "plane"
    stepper: StepperName = "midpoint"
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        if self.c is not None:
            if self.to is not None:
                raise IncompatibleOptions(
                    f"--c writes to its own folder: leave out {self.to.name!r}.", "--c"
                )
            robots.require(self.what)
        with self.progress() as progress:
            progress.say(f"exporting {self.what}")
            files = self._c(self.c) if self.c is not None else self._log(Path(self.what))
        if self.json:
            print_json({"written": [written(path) for path in files]})
            return 0
        for path in files:
            print(f"written {path} ({path.stat().st_size / 1e6:.2f} MB)")
        return 0

    def _log(self, log_file: Path) -> list[Path]:
        """The log in its new format."""
        known = (*TABLES, MCAP)
        if log_file.suffix != LOG:
            raise InvalidFile(
                f"{log_file.name!r} is not a log (.nc): to export a robot, give --c FOLDER.",
                log_file,
            )
        if self.to is None:
            raise InvalidValue("name the file to write: *.csv, *.parquet or *.mcap.", "to")
        if self.to.suffix not in known:
            raise unknown_name("format", self.to.suffix or self.to.name, known)
        from tarsus.exchange.mcap_file import write_mcap
        from tarsus.exchange.table import write_table
        from tarsus.files import check_writable
        from tarsus.simulation.recording.log import read_log
        from tarsus.simulation.recording.log_robot import robot_of

        log = read_log(log_file)
        check_writable(self.to.parent)
        self.to.parent.mkdir(parents=True, exist_ok=True)
        if self.to.suffix == MCAP:
            own = self.base.load(self.robot) if self.robot else robot_of(log)
            return write_mcap(log, own, self.to)
        return write_table(log, self.to)

    def _c(self, folder: Path) -> list[Path]:
        """The robot and its step as C."""
        from tarsus.exchange.c_export import export_c
        from tarsus.files import check_writable

        check_writable(folder)
        return export_c(self._simulation(), folder)

    def _simulation(self) -> Simulation:
        """Whose step is written."""
        from tarsus.simulation.contact_selection import FEET, default_contacts
        from tarsus.simulation.simulation import Simulation

        robot = self.base.load(self.what)
        feet = FEET if default_contacts(robot, cheap=True) else None
        return Simulation(
            robot,
            self.law,
            self.stepper,
            self.terrain,
            None if self.gait == NONE else self.gait,
            self.dt,
            parameters=each_setting(self.set),
            contacts=self.contacts or feet,
        )
