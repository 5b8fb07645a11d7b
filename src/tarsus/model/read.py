"""Read a robot from a file, MJCF or URDF, told apart by the file's root tag."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tarsus.errors import TarsusError
from tarsus.model.check import check
from tarsus.model.files import existing_file, naming, root_tag
from tarsus.model.mechanism import Mechanism


def read(path: str | Path, **options: Any) -> Mechanism:
    """An MJCF (<mujoco>) or URDF (<robot>) file's mechanism, checked; options: its importer's."""
    from tarsus.model.mjcf import read_mjcf
    from tarsus.model.urdf import read_urdf

    path = existing_file(path)
    readers = {"mujoco": read_mjcf, "robot": read_urdf}
    with naming(str(path)):
        tag = root_tag(path)
        if tag not in readers:
            raise TarsusError(
                f"its root tag is <{tag}>: only <mujoco> (MJCF) and <robot> (URDF) can be read."
            )
    mechanism = readers[tag](path, **options)
    with naming(path.name):
        return check(mechanism)
