"""`tarsus export`: write a log as CSV, Parquet or MCAP; write a robot and its step as C."""

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
    ArgumentCheck,
    Command,
    Folder,
    LawName,
    Seconds,
    Settings,
    StepperName,
    TerrainName,
    argument,
    collect_settings,
    file_record,
    name_check,
    print_json,
)
from tarsus.errors import IncompatibleOptions, InvalidFile, InvalidValue, unknown_name_error
from tarsus.simulation.time_steps import DEFAULT_DT

if TYPE_CHECKING:
    from tarsus.simulation.simulation import Simulation

TABLE_SUFFIXES, MCAP_SUFFIX, LOG_SUFFIX = (".csv", ".parquet"), ".mcap", ".nc"
NO_GAIT = "none"


@dataclass(frozen=True)
class Export(Command):
    """Export a log as CSV, Parquet or MCAP (for Foxglove), or a robot as C code.

    Parquet and MCAP need the extra `exchange`; `tarsus doctor` shows how to install it.
    """

    position: ClassVar[int] = 54
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus export out/mini_cheetah.nc out/trot.csv": "export a log for a spreadsheet",
        "tarsus export out/mini_cheetah.nc out/trot.mcap": "export a log for Foxglove",
        "tarsus export mini_cheetah --c out/c": "write dynamics and time step as C, with tests",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Log": "robot",
        "C": "c law gait dt set contacts terrain stepper",
    }

    what: Annotated[tyro.conf.Positional[str], argument("LOG|ROBOT")]
    """A log of `tarsus run` (.nc); with --c, a robot: a built-in name or a file."""
    to: Annotated[tyro.conf.Positional[Path | None], argument("FILE")] = None
    """File to write for a log: *.csv, *.parquet or *.mcap."""
    robot: Annotated[str | None, argument("ROBOT"), ArgumentCheck(robots.require)] = None
    """Use this robot instead of the one that the log names (for .mcap)."""
    c: Folder = None
    """Write C code to this folder: dynamics, Jacobians, a time step, test vectors and CMake
    files."""
    law: LawName = "moreau"
    gait: Annotated[
        str,
        argument("NAME", "Gait of the C code, auto, or none: torques are the input `action`."),
        name_check("gait", GAITS, AUTO, NO_GAIT),
    ] = AUTO
    dt: Seconds = DEFAULT_DT
    """Time step of the C code."""
    set: Settings = ()
    """Set parameters of the law, gait, stepper or terrain (`tarsus list --parameters`), such as
    solver=sor kp=60."""
    contacts: Annotated[str | None, argument("NAME,...")] = None
    """Contact candidates to include: names, patterns, feet, or all. More candidates make the C code
    much longer. (default: all if there are at most 16, else the feet)"""
    terrain: TerrainName = "plane"
    stepper: StepperName = "midpoint"
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        if self.c is not None:
            if self.to is not None:
                raise IncompatibleOptions(
                    f"--c writes to its own folder: remove {self.to.name!r}.", "--c"
                )
            robots.require(self.what)
        with self.progress() as progress:
            progress.show_stage(f"exporting {self.what}")
            files = (
                self._export_c(self.c) if self.c is not None else self._export_log(Path(self.what))
            )
        if self.json:
            print_json({"written": [file_record(path) for path in files]})
            return 0
        for path in files:
            print(f"wrote {path} ({path.stat().st_size / 1e6:.2f} MB)")
        return 0

    def _export_log(self, log_file: Path) -> list[Path]:
        """Write the log in the format of `to` and return the files."""
        known = (*TABLE_SUFFIXES, MCAP_SUFFIX)
        if log_file.suffix != LOG_SUFFIX:
            raise InvalidFile(
                f"{log_file.name!r} is not a log (.nc): to export a robot, give --c FOLDER.",
                log_file,
            )
        if self.to is None:
            raise InvalidValue("name the file to write: *.csv, *.parquet or *.mcap.", "to")
        if self.to.suffix not in known:
            raise unknown_name_error("format", self.to.suffix or self.to.name, known)
        from tarsus.exchange.mcap_file import write_mcap
        from tarsus.exchange.table import write_table
        from tarsus.files import check_writable
        from tarsus.simulation.recording.log import read_log
        from tarsus.simulation.recording.log_robot import robot_of

        log = read_log(log_file)
        check_writable(self.to.parent)
        self.to.parent.mkdir(parents=True, exist_ok=True)
        if self.to.suffix == MCAP_SUFFIX:
            robot = self.base.load(self.robot) if self.robot else robot_of(log)
            return write_mcap(log, robot, self.to)
        return write_table(log, self.to)

    def _export_c(self, folder: Path) -> list[Path]:
        """Write the robot and its time step as C and return the files."""
        from tarsus.exchange.c_export import export_c
        from tarsus.files import check_writable

        check_writable(folder)
        return export_c(self._create_simulation(), folder)

    def _create_simulation(self) -> Simulation:
        """Create the simulation whose time step is written."""
        from tarsus.simulation.contact_selection import FEET, default_contacts
        from tarsus.simulation.simulation import Simulation

        robot = self.base.load(self.what)
        feet = FEET if default_contacts(robot, cheap=True) else None
        return Simulation(
            robot,
            self.law,
            self.stepper,
            self.terrain,
            None if self.gait == NO_GAIT else self.gait,
            self.dt,
            parameters=collect_settings(self.set),
            contacts=self.contacts or feet,
        )
