"""Read a robot from a file, MJCF, URDF or SDF, told apart by the file's root tag."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from inspect import signature
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile, UnknownName, unknown_name
from tarsus.model.check import check
from tarsus.model.files import existing_file, naming, root_tag
from tarsus.model.mechanism import Mechanism
from tarsus.model.robot_files import LFS_POINTER, file_bytes

LOGS = (b"CDF", b"\x89HDF")  # netCDF files, as logs are, begin with one of them
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # before the XML of some files
HEAD = 256  # bytes


class UnknownOption(UnknownName):
    """The robot has no such option."""


def read(path: str | Path, **options: Any) -> Mechanism:
    """The mechanism of an MJCF (<mujoco>), URDF (<robot>) or SDF (<sdf>) file, checked.

    options: its importer's; TarsusError with near names for one that it has not
    """
    path = existing_file(path)
    with naming(str(path)):
        _check_xml(path)
        reader = _reader(root_tag(path))
        check_options(reader, options)
    mechanism = reader(path, **options)
    with naming(path.name, path):
        return check(mechanism)


def _check_xml(path: Path) -> None:
    """TarsusError for a log, and for what is no XML at all; broken XML is told where it is read."""
    try:
        with path.open("rb") as file:
            begin = file.read(HEAD).lstrip()
    except OSError:
        return
    if begin.startswith(LOGS):
        raise InvalidFile(
            "this is a log, not a robot: give the robot's name or file, or repeat the logged run"
            " with `tarsus rerun LOG`."
        )
    if begin.startswith(LFS_POINTER):
        file_bytes(path)  # says so
    if begin and not begin.startswith((b"<", *MARKS)):
        raise InvalidFile("this is not XML: give an MJCF, URDF or SDF file.")


def check_options(
    reader: Callable[..., Mechanism], options: Iterable[str], beside: Iterable[str] = ()
) -> None:
    """UnknownOption with near names for an option that is no reader's, nor one of those beside."""
    known = [*(name for name in signature(reader).parameters if name != "source"), *beside]
    for name in options:
        if name not in known:
            raise UnknownOption(str(unknown_name("option of this robot", name, known)), name)


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
    raise InvalidFile(
        f"the root tag must be <mujoco> (MJCF), <robot> (URDF) or <sdf>, not <{tag}>.", tag
    )
