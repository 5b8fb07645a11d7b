"""Read a robot from a file, MJCF, URDF or SDF, told apart by the file's root tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from pathlib import Path
from typing import Any

from tarsus.errors import TarsusError, unknown
from tarsus.model.check import check
from tarsus.model.files import existing_file, naming, root_tag
from tarsus.model.mechanism import Mechanism


class UnknownOption(TarsusError):
    """What is loaded has no such option."""


def read(path: str | Path, **options: Any) -> Mechanism:
    """The mechanism of an MJCF (<mujoco>), URDF (<robot>) or SDF (<sdf>) file, checked.

    options: its importer's; TarsusError with near names for one that it has not
    """
    path = existing_file(path)
    with naming(str(path)):
        reader = _reader(root_tag(path))
        check_options(reader, options)
    mechanism = reader(path, **options)
    with naming(path.name):
        return check(mechanism)


def check_options(
    reader: Callable[..., Mechanism], options: Iterable[str], beside: Iterable[str] = ()
) -> None:
    """UnknownOption with near names for an option that is no reader's, nor one of those beside."""
    known = [*(name for name in signature(reader).parameters if name != "source"), *beside]
    for name in options:
        if name not in known:
            raise UnknownOption(str(unknown("option of such a robot", name, known)))


def _reader(tag: str) -> Callable[..., Mechanism]:
    """The importer of files with this root tag; the others are not loaded."""
    if tag == "mujoco":
        from tarsus.model.mjcf import read_mjcf

        return read_mjcf
    if tag == "robot":
        from tarsus.model.urdf import read_urdf

        return read_urdf
    if tag == "sdf":
        from tarsus.model.sdf import read_sdf

        return read_sdf
    raise TarsusError(
        f"its root tag is <{tag}>: only <mujoco> (MJCF), <robot> (URDF) and <sdf> can be read."
    )
