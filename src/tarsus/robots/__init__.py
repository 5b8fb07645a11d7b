"""Built-in robots, one per file, and `load` for robots from files.

To add a robot, write a file here whose `describe()` returns a `Mechanism` with its sources. The
robot's name is the name of the file.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarsus import registry
from tarsus.errors import InvalidValue, closest_names, unknown_name_error
from tarsus.model.robot_data import ARMS, LEGGED, find_file, robots_folder

if TYPE_CHECKING:
    from tarsus.dynamics.robot import Robot

KIND = "robots"
BASE_OPTIONS = ("floating", "height")  # options of all robots


def load(path_or_name: str | Path, **options: Any) -> Robot:
    """Load a robot by name or from an MJCF, URDF or SDF file.

    Parameters
    ----------
    path_or_name
        Name of a built-in robot, path of a file, or name of a robot of the package
        example-robot-data ("go2"), if it is installed.
    options
        Options of the importer, or of `describe` of a built-in robot. For all robots,
        floating=False fixes the base to the world, at `height` (m, of its origin). By default this
        is where the file draws it, or where a built-in robot stands.

    Returns
    -------
    Robot
        The robot.

    Raises
    ------
    TarsusError
        If there is no such robot, or its file is invalid; the message suggests similar names.

    Examples
    --------
    >>> import tarsus
    >>> tarsus.load("hyq").name
    'hyq'
    """
    from tarsus.dynamics.robot import Origin, Robot
    from tarsus.model.check import check
    from tarsus.model.fixed_base import check_height, fix_base
    from tarsus.model.read import check_options, read

    # a built-in robot
    require(path_or_name)
    name = str(path_or_name)
    if name in registry.names(__name__):
        file_options = {key: value for key, value in options.items() if key not in BASE_OPTIONS}
        describe = registry.member_module(__name__, "robot", name).describe
        check_options(describe, file_options, BASE_OPTIONS)
        described = describe(**file_options)
        floating, height = options.get("floating", True), options.get("height")
        check_height(floating, height)
        described = described if floating else fix_base(described, height)
        return replace(Robot.of(check(described)), origin=Origin(options=options))
    # a file, of the user or of the package
    path = Path(path_or_name)
    if not _is_path(path):
        options = ({"floating": False} if name in ARMS else {}) | options
        path = find_file(name) or path
    robot = Robot.of(read(path, **options))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return replace(robot, origin=Origin(str(path.resolve()), digest, options))


def require(path_or_name: str | Path) -> None:
    """Raise TarsusError with similar names, unless it is a robot's name or may be a path."""
    if not isinstance(path_or_name, str | os.PathLike):
        raise InvalidValue(
            f"the robot must be given by its name or path, not {path_or_name!r}.", "robot"
        )
    name, known = str(path_or_name), registry.names(__name__)
    if name in known or _is_path(Path(path_or_name)) or find_file(name) is not None:
        return
    others = [*LEGGED, *ARMS] if robots_folder() is not None else []
    raise unknown_name_error(
        "robot", name, [*known, *others] if closest_names(name, others) else known
    )


def _is_path(path: Path) -> bool:
    """Return whether the argument names a file rather than a robot."""
    is_name = str(path) in LEGGED | ARMS and os.path.isdir(path)
    return bool(path.suffix) or len(path.parts) > 1 or (os.path.exists(path) and not is_name)
