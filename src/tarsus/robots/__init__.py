"""Robots by name: one file is one robot, described as data with its sources by `describe()`.

To add a robot, write a file here whose `describe()` returns a `Mechanism`; its name is the file's.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarsus import registry
from tarsus.errors import InvalidValue, closest_names, unknown_name
from tarsus.model.robot_data import ARMS, LEGGED, file_of, robots_folder

if TYPE_CHECKING:
    from tarsus.dynamics.robot import Robot

KIND = "robots"
HELD = ("floating", "height")  # options that every robot has


def load(path_or_name: str | Path, **options: Any) -> Robot:
    """A robot by name, or from an MJCF, URDF or SDF file; also one of the package
    example-robot-data by name ("go2"), if that is installed.

    options: those of `describe` or of the importer; of all: floating=False holds the base in the
        world, at `height` (m, of its origin) or where the file draws it, a built-in robot's where
        it stands
    """
    from tarsus.dynamics.robot import Origin, Robot
    from tarsus.model.check import check
    from tarsus.model.fixed_base import check_height, fix_base
    from tarsus.model.read import check_options, read

    # one of ours
    require(path_or_name)
    name = str(path_or_name)
    if name in registry.names(__name__):
        own = {key: value for key, value in options.items() if key not in HELD}
        describe = registry.member_module(__name__, "robot", name).describe
        check_options(describe, own, HELD)
        described = describe(**own)
        floating, height = options.get("floating", True), options.get("height")
        check_height(floating, height)
        described = described if floating else fix_base(described, height)
        return replace(Robot.of(check(described)), origin=Origin(options=options))
    # a file, one's own or of the package
    path = Path(path_or_name)
    if not _a_path(path):
        options = ({"floating": False} if name in ARMS else {}) | options
        path = file_of(name) or path
    found = Robot.of(read(path, **options))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return replace(found, origin=Origin(str(path.resolve()), digest, options))


def require(path_or_name: str | Path) -> None:
    """TarsusError with near names unless it is a robot's name, or may be a path."""
    if not isinstance(path_or_name, str | os.PathLike):
        raise InvalidValue(
            f"the robot must be given by its name or path, not {path_or_name!r}.", "robot"
        )
    name, known = str(path_or_name), registry.names(__name__)
    if name in known or _a_path(Path(path_or_name)) or file_of(name) is not None:
        return
    beside = [*LEGGED, *ARMS] if robots_folder() is not None else []
    raise unknown_name("robot", name, [*known, *beside] if closest_names(name, beside) else known)


def _a_path(path: Path) -> bool:
    """Whether it may be one, not a name; a folder called as a robot of the package is none."""
    named_so = str(path) in LEGGED | ARMS and os.path.isdir(path)
    return bool(path.suffix) or len(path.parts) > 1 or (os.path.exists(path) and not named_so)
