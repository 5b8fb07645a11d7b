"""`tarsus view`: logs, or a live simulation, in a browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from tarsus import robots
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import (
    Checked,
    Command,
    GaitName,
    LawName,
    Seconds,
    TerrainName,
    Trust,
    called,
)
from tarsus.errors import IncompatibleOptions, InvalidValue
from tarsus.simulation.time_steps import DEFAULT_DT

if TYPE_CHECKING:
    from tarsus.viewer.access import Address
    from tarsus.viewer.live_panel import Choice

LOG = ".nc"


@dataclass(frozen=True)
class View(Command):
    """Watch logs, or a robot that is simulated live, in a browser.

    Of several logs, the first is solid and the others are ghosts. It needs the extra `view`, which
    `tarsus doctor` shows how to install.
    """

    place: ClassVar[int] = 15
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus view mini_cheetah": "a live simulation, with sliders and pushes",
        "tarsus view hyq --worlds 1000 --vary friction=0.1:0.9": "a thousand, each on its ground",
        "tarsus view out/moreau.nc out/compliant.nc": "two logs, one a ghost of the other",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Logs": "robot trust",
        "Live simulation": "law gait terrain dt worlds vary",
        "Page": "port host allow_host",
    }

    what: tyro.conf.Positional[Annotated[tuple[str, ...], called("LOG|ROBOT")]]
    """Logs of `tarsus run` (.nc), or one robot: a built-in name, or an MJCF, URDF or SDF file."""
    robot: Annotated[str | None, called("ROBOT"), Checked(robots.require)] = None
    """Robot of the logs, in place of the one that they name."""
    law: LawName = "moreau"
    gait: GaitName = "auto"
    terrain: TerrainName = "plane"
    dt: Seconds = DEFAULT_DT
    """Length of a time step of a live simulation."""
    worlds: Annotated[int, called("COUNT")] = 1
    """So many robots, all but the first without forces and plots."""
    vary: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], called("NAME=FIRST:LAST")] = ()
    """Parameter of the law that differs between them, from first to last: friction=0.1:0.9."""
    port: Annotated[int, called("PORT")] = 8080
    """Where the page is: the first free one of twenty from here on; 0: any."""
    host: Annotated[str, called("ADDRESS")] = "127.0.0.1"
    """Address of this machine to serve the page on; 0.0.0.0: all. If other machines reach it, the
    URL ends in a token."""
    allow_host: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], called("NAME")] = ()
    """Another host name by which browsers reach the page, such as a proxy's; once for each."""
    trust: Trust = ()
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        logs = [name for name in self.what if name.endswith(LOG)]
        if not self.what:
            raise InvalidValue("name what to view: logs of `tarsus run` (.nc) or a robot.", "what")
        robots_named = [name for name in self.what if name not in logs]
        if logs and robots_named:
            raise IncompatibleOptions(
                f"logs cannot be viewed together with a robot: leave out {robots_named[0]!r}.",
                robots_named[0],
            )
        if len(robots_named) > 1:
            raise InvalidValue(
                f"view one robot at a time, not {len(robots_named)}.", robots_named[1]
            )
        return self._logs([Path(name) for name in logs]) if logs else self._live(*self.what)

    def _logs(self, paths: list[Path]) -> int:
        from tarsus.simulation.recording.log import read_log
        from tarsus.viewer.page import viser
        from tarsus.viewer.playback import titles, watch
        from tarsus.viewer.track import track

        viser()
        own = self.base.load(self.robot) if self.robot else None
        return watch([track(read_log(path), own) for path in paths], titles(paths), self._address())

    def _live(self, name: str) -> int:
        robots.require(name)
        if self.vary and self.worlds < 3:
            raise IncompatibleOptions(
                "--vary needs several worlds: give --worlds with 3 or more.", "--vary"
            )
        from tarsus.processes import usable_cores
        from tarsus.simulation import resolve
        from tarsus.simulation.simulation import Simulation
        from tarsus.viewer.crowd import MOST, variations
        from tarsus.viewer.live import watch
        from tarsus.viewer.live_panel import Choice

        # what is asked
        if not 1 <= self.worlds <= MOST:
            raise InvalidValue(f"--worlds must be from 1 to {MOST}, not {self.worlds}.", "--worlds")
        vary = variations(self.vary, resolve.law(self.law))
        robot = self.base.load(name)
        pushed = robot.body_names[:1] if robot.floating else ()

        # what is simulated, now and when the page changes it
        def made(choice: Choice) -> Simulation:
            return Simulation(
                robot,
                choice.law,
                terrain=self.terrain,
                controller=choice.gait,
                dt=choice.dt,
                pushes=pushed,
                worlds=choice.worlds,
                threads=usable_cores() if choice.worlds > 1 else 1,
            )

        choice = Choice(self.law, self.gait, self.dt, self.worlds)
        return watch(made, choice, self._address(), vary)

    def _address(self) -> Address:
        from tarsus.viewer.access import Address

        return Address(self.port, self.host, self.allow_host)
