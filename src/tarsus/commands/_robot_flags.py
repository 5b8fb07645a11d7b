"""Options for loading a robot, shared by the commands that take one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from tarsus.commands.base import Flag, Group, argument, number_argument
from tarsus.errors import IncompatibleOptions

if TYPE_CHECKING:
    from tarsus.dynamics.robot import Robot


@dataclass(frozen=True)
class BaseFlags(Group):
    """Options for reading a robot file (docs/own_robot.md)."""

    fixed_base: Flag = False
    """Fix the robot's base to the world at the pose in its file, as for an arm on a table."""
    base_height: Annotated[float | None, number_argument("METERS"), argument("METERS")] = None
    """Height of the fixed base's origin, with --fixed-base."""
    asset_folder: Annotated[tyro.conf.UseAppendAction[tuple[Path, ...]], argument("FOLDER")] = ()
    """Extra folder to read the robot's meshes, textures and packages from; may be repeated."""

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for `tarsus.load`."""
        folders = {"asset_folders": [*map(str, self.asset_folder)]} if self.asset_folder else {}
        if not self.fixed_base:
            return folders
        height = {} if self.base_height is None else {"height": self.base_height}
        return {"floating": False, **height, **folders}

    def load(self, robot: str) -> Robot:
        """Load a robot by name or from a file."""
        from tarsus import robots

        return robots.load(robot, **self.options)

    def check(self) -> None:
        """Raise IncompatibleOptions for `--base-height` without `--fixed-base`."""
        if self.base_height is not None and not self.fixed_base:
            raise IncompatibleOptions(
                "--base-height needs a fixed base: add --fixed-base.", "--base-height"
            )


Base = Annotated[BaseFlags, tyro.conf.OmitArgPrefixes, tyro.conf.arg(name="Robot file")]
