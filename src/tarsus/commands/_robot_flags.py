"""The flags on how a robot is loaded, shared by commands that take one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from tarsus.commands.base import Flag, Group, called, number
from tarsus.errors import IncompatibleOptions

if TYPE_CHECKING:
    from tarsus.dynamics.robot import Robot


@dataclass(frozen=True)
class BaseFlags(Group):
    """How the robot's file is read (docs/own_robot.md)."""

    fixed_base: Flag = False
    """Hold the robot's base fixed, where its file draws it, as of an arm on a table."""
    base_height: Annotated[float | None, number("METERS"), called("METERS")] = None
    """With --fixed-base: how high its origin is held."""
    asset_folder: Annotated[tyro.conf.UseAppendAction[tuple[Path, ...]], called("FOLDER")] = ()
    """A folder outside the robot's own that its meshes, textures and packages may be read from; may
    be given several times.
    """

    @property
    def options(self) -> dict[str, Any]:
        """Those of `tarsus.load`."""
        folders = {"asset_folders": [*map(str, self.asset_folder)]} if self.asset_folder else {}
        if not self.fixed_base:
            return folders
        height = {} if self.base_height is None else {"height": self.base_height}
        return {"floating": False, **height, **folders}

    def load(self, robot: str) -> Robot:
        """A robot by name or from a file."""
        from tarsus import robots

        return robots.load(robot, **self.options)

    def check(self) -> None:
        """TarsusError for a height of what is not held, before anything heavy is imported."""
        if self.base_height is not None and not self.fixed_base:
            raise IncompatibleOptions(
                "--base-height needs a fixed base: give --fixed-base too.", "--base-height"
            )


Base = Annotated[BaseFlags, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="Robot file")]
