"""Reader of robot files: the root tag decides between MJCF, URDF and SDF."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from inspect import signature
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile, UnknownName, unknown_name_error
from tarsus.model.check import check
from tarsus.model.files import add_file_to_errors, check_file_exists, root_tag
from tarsus.model.mechanism import Mechanism
from tarsus.model.robot_files import LFS_POINTER, file_bytes
from tarsus.model.robot_toml import TOML, read_robot_toml

LOG_SIGNATURES = (b"CDF", b"\x89HDF")  # of netCDF files, as logs are
BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HEAD_SIZE = 256  # bytes


class UnknownOption(UnknownName):
    """The robot has no such option."""


def read(path: str | Path, **options: Any) -> Mechanism:
    """Read and check a robot from an MJCF (<mujoco>), URDF (<robot>) or SDF (<sdf>) file.

    A TOML file names one of these and what it cannot say (`tarsus.model.robot_toml`).

    Parameters
    ----------
    path
        The file.
    options
        Options of the format's reader, such as `floating`.

    Raises
    ------
    UnknownOption
        If the reader has no such option.
    TarsusError
        If the file cannot be read, or describes a robot that cannot be simulated.
    """
    path = check_file_exists(path)
    if path.suffix == TOML:
        with add_file_to_errors(path.name, path):
            return check(read_robot_toml(path, lambda file: read(file, **options)))
    with add_file_to_errors(str(path)):
        _check_xml(path)
        reader = _reader(root_tag(path))
        check_options(reader, options)
    mechanism = reader(path, **options)
    with add_file_to_errors(path.name, path):
        return check(mechanism)


def _check_xml(path: Path) -> None:
    """Reject logs and files that are not XML; malformed XML is reported by the readers."""
    try:
        with path.open("rb") as file:
            begin = file.read(HEAD_SIZE).lstrip()
    except OSError:
        return
    if begin.startswith(LOG_SIGNATURES):
        raise InvalidFile(
            "this is a log, not a robot: give the robot's name or file, or repeat the logged run"
            " with `tarsus rerun LOG`."
        )
    if begin.startswith(LFS_POINTER):
        file_bytes(path)  # raises LfsPointer
    if begin and not begin.startswith((b"<", *BYTE_ORDER_MARKS)):
        raise InvalidFile("this is not XML: give an MJCF, URDF or SDF file.")


def check_options(
    reader: Callable[..., Mechanism], options: Iterable[str], accepted: Iterable[str] = ()
) -> None:
    """Check the options of a reader.

    Parameters
    ----------
    reader
        Function that reads a robot.
    options
        Names of the options given.
    accepted
        Further options that are allowed.

    Raises
    ------
    UnknownOption
        For an option that does not exist; the message suggests similar names.
    """
    known = [*(name for name in signature(reader).parameters if name != "source"), *accepted]
    for name in options:
        if name not in known:
            raise UnknownOption(str(unknown_name_error("option of this robot", name, known)), name)


def _reader(tag: str) -> Callable[..., Mechanism]:
    """Import the reader of files with this root tag, and no other."""
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
