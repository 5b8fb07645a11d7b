"""Where the package example-robot-data keeps its robots' files."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

NAME = "example-robot-data"


@cache
def robots_folder() -> Path | None:
    """The folder with one folder a robot; None if the package is not installed."""
    try:
        files = distribution(NAME).files or ()
    except PackageNotFoundError:
        return None
    for file in files:
        if file.suffix == ".urdf":
            path = Path(str(file.locate()))
            return next(
                above
                for above in path.parents
                if above.name == "robots" and above.parent.name == NAME
            )
    return None
