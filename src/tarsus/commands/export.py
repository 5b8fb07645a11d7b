"""`tarsus export`: a log as CSV, Parquet or MCAP."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from tarsus import robots
from tarsus.commands.base import Checked, Command, called
from tarsus.errors import TarsusError, unknown

TABLES, MCAP = (".csv", ".parquet"), ".mcap"


@dataclass(frozen=True)
class Export(Command):
    """Write a log as a table (.csv, .parquet) or for Foxglove (.mcap).

    A CSV file needs nothing more; Parquet and MCAP need the extra `exchange`:
    pip install "tarsus[exchange]".
    """

    place: ClassVar[int] = 54

    log: Annotated[tyro.conf.Positional[Path], called("LOG")]
    """A log of `tarsus run` (.nc)."""
    to: Annotated[tyro.conf.Positional[Path | None], called("FILE")] = None
    """Where to: *.csv, *.parquet or *.mcap."""
    robot: Annotated[str | None, called("ROBOT"), Checked(robots.require)] = None
    """Robot of the log, in place of the one that it names (for .mcap)."""

    def execute(self) -> int:
        known = (*TABLES, MCAP)
        if self.to is None:
            raise TarsusError("name the file to write: *.csv, *.parquet or *.mcap.")
        if self.to.suffix not in known:
            raise unknown("format", self.to.suffix or self.to.name, known)
        if self.log.suffix != ".nc":
            raise TarsusError(f"a log is a netCDF file (.nc), not {self.log.name}.")
        from tarsus.exchange.mcap_file import write_mcap
        from tarsus.exchange.table import write_table
        from tarsus.files import check_writable
        from tarsus.robots import load
        from tarsus.viewer.track import opened, robot_of

        log = opened(self.log)
        check_writable(self.to.parent)
        self.to.parent.mkdir(parents=True, exist_ok=True)
        if self.to.suffix == MCAP:
            robot = load(self.robot) if self.robot else robot_of(log)
            written = write_mcap(log, robot, self.to)
        else:
            written = write_table(log, self.to)
        for path in written:
            print(f"written {path} ({path.stat().st_size / 1e6:.1f} MB)")
        return 0
