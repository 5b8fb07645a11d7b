"""`tarsus view`: show logs or a live simulation in a browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from tarsus import robots
from tarsus.commands._robot_flags import Base, BaseFlags
from tarsus.commands.base import (
    ArgumentCheck,
    Command,
    GaitName,
    LawName,
    OptionalSeconds,
    TerrainName,
    Trust,
    argument,
)
from tarsus.errors import IncompatibleOptions, InvalidValue

if TYPE_CHECKING:
    from tarsus.viewer.access import Address
    from tarsus.viewer.live_panel import Choice

LOG_SUFFIX = ".nc"


@dataclass(frozen=True)
class View(Command):
    """Show logs, or a live simulation of a robot, in a browser.

    With several logs, the first is solid and the others are transparent. This command needs the
    extra `view`; `tarsus doctor` shows how to install it.
    """

    position: ClassVar[int] = 15
    topic: ClassVar[str] = "Simulate"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus view mini_cheetah": "simulate live, with sliders and pushes",
        "tarsus view hyq --worlds 1000 --vary friction=0.1:0.9": "1000 robots, each with its own"
        " friction",
        "tarsus view out/moreau.nc out/compliant.nc": "overlay two logs",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Log": "robot trust",
        "Live simulation": "law gait terrain dt worlds vary",
        "Page": "port host allow_host",
    }

    what: tyro.conf.Positional[Annotated[tuple[str, ...], argument("LOG|ROBOT")]]
    """Logs of `tarsus run` (.nc), or one robot: a built-in name, or an MJCF, URDF or SDF file."""
    robot: Annotated[str | None, argument("ROBOT"), ArgumentCheck(robots.require)] = None
    """Use this robot instead of the one that the logs name."""
    law: LawName = "moreau"
    gait: GaitName = "auto"
    terrain: TerrainName = "plane"
    dt: OptionalSeconds = None
    """Time step. (default: that of the robot's file, if any; otherwise 0.0025, or 0.001 if the
    servos of light feet need it)"""
    worlds: Annotated[int, argument("COUNT")] = 1
    """Number of robots. Forces and plots are shown only for the first."""
    vary: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], argument("NAME=FIRST:LAST")] = ()
    """Law parameter to vary linearly from the first robot to the last, such as friction=0.1:0.9."""
    port: Annotated[int, argument("PORT")] = 8080
    """Port of the page. If it is in use, the next free one of twenty is taken; 0 takes any."""
    host: Annotated[str, argument("ADDRESS")] = "127.0.0.1"
    """Address to serve the page on; 0.0.0.0 means every address of this machine. If other machines
    can reach it, the URL contains an access token."""
    allow_host: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], argument("NAME")] = ()
    """Extra host name by which browsers reach the page, such as that of a proxy; may be
    repeated."""
    trust: Trust = ()
    base: Base = field(default_factory=BaseFlags)

    def execute(self) -> int:
        logs = [name for name in self.what if name.endswith(LOG_SUFFIX)]
        if not self.what:
            raise InvalidValue("name what to view: logs of `tarsus run` (.nc) or a robot.", "what")
        robots_named = [name for name in self.what if name not in logs]
        if logs and robots_named:
            raise IncompatibleOptions(
                f"logs cannot be viewed together with a robot: remove {robots_named[0]!r}.",
                robots_named[0],
            )
        if len(robots_named) > 1:
            raise InvalidValue(
                f"view one robot at a time, not {len(robots_named)}.", robots_named[1]
            )
        return (
            self._view_logs([Path(name) for name in logs]) if logs else self._view_live(*self.what)
        )

    def _view_logs(self, paths: list[Path]) -> int:
        from tarsus.simulation.recording.log import read_log
        from tarsus.viewer.page import import_viser
        from tarsus.viewer.playback import titles, watch
        from tarsus.viewer.track import build_track

        import_viser()
        robot = self.base.load(self.robot) if self.robot else None
        return watch(
            [build_track(read_log(path), robot) for path in paths],
            titles(paths),
            self._create_address(),
        )

    def _view_live(self, name: str) -> int:
        robots.require(name)
        if self.vary and self.worlds < 3:
            raise IncompatibleOptions(
                "--vary needs several worlds: give --worlds with 3 or more.", "--vary"
            )
        from tarsus.processes import usable_cores
        from tarsus.simulation import resolve
        from tarsus.simulation.default_controller import default_time_step
        from tarsus.simulation.simulation import Simulation
        from tarsus.viewer.extra_worlds import MAX_WORLDS, variations
        from tarsus.viewer.live import watch
        from tarsus.viewer.live_panel import Choice

        if not 1 <= self.worlds <= MAX_WORLDS:
            raise InvalidValue(
                f"--worlds must be from 1 to {MAX_WORLDS}, not {self.worlds}.", "--worlds"
            )
        vary = variations(self.vary, resolve.resolve_law(self.law))
        robot = self.base.load(name)
        pushed = robot.base_name if robot.mobile else ()

        # called now, and again when the user changes a setting on the page
        def make(choice: Choice) -> Simulation:
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

        dt = default_time_step(robot, self.gait) if self.dt is None else self.dt
        choice = Choice(self.law, self.gait, dt, self.worlds)
        return watch(make, choice, self._create_address(), vary)

    def _create_address(self) -> Address:
        from tarsus.viewer.access import Address

        return Address(self.port, self.host, self.allow_host)
