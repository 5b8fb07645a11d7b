"""Write files atomically, and read JSON, TOML and NumPy archives."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import shutil
import tomllib
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile, TarsusError, closest_names

WINDOWS_DEVICE = re.compile(
    r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE
)  # names of devices on Windows
MAX_COMPRESSION_RATIO = 100  # declared size over the size of the archive
UNCHECKED_ARCHIVE_SIZE = 64 << 20  # bytes that any archive may declare
MAX_NAME_LENGTH = 100  # bytes of one part; file systems allow 255 in total


def file_name(*parts: str) -> str:
    """Join several names, such as a robot's and a law's, with "_" to a file name.

    Characters other than letters, digits, dot, plus and minus become "_", so that the name has no
    blanks and cannot leave its folder. Names of Windows devices get a "_" in front.
    """
    short = (re.sub(r"[^\w.+-]+", "_", part).lstrip(".") for part in parts)
    bounded = (part.encode()[:MAX_NAME_LENGTH].decode(errors="ignore") for part in short)
    name = "_".join(part or "unnamed" for part in bounded)
    return f"_{name}" if WINDOWS_DEVICE.fullmatch(name.partition(".")[0]) else name


def is_file(path: Path) -> bool:
    """Return whether a regular file exists; False for paths that cannot be file names."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def missing_file_error(path: Path, wanted: str) -> InvalidFile:
    """Create an error for a missing file that suggests similar files in its folder.

    Parameters
    ----------
    path
        Path given by the user.
    wanted
        Description of the expected file, such as "a log (.nc)".
    """
    if os.path.isdir(path):
        return InvalidFile(f"{path} is a folder: give {wanted} in it.", path)
    siblings = os.listdir(path.parent) if path.suffix and os.path.isdir(path.parent) else []
    stems = {Path(name).stem: name for name in sorted(siblings) if name.endswith(path.suffix)}
    suggestions = [stems[stem] for stem in closest_names(path.stem, stems)]
    hint = f"did you mean {' or '.join(suggestions)}?" if suggestions else f"give {wanted}."
    return InvalidFile(f"there is no file {path}: {hint}", path)


def check_writable(folder: Path) -> None:
    """Raise OSError unless files can be written to a folder, which need not exist yet."""
    parent = next(
        folder_or_parent
        for folder_or_parent in (folder, *folder.absolute().parents)
        if os.path.exists(folder_or_parent)
    )
    with _name_in_errors(folder):
        probe = temporary_path(parent / "probe")
        try:
            probe.touch()
        finally:
            if parent.is_dir():
                probe.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Write a file completely or not at all.

    Yields the path of a temporary file in the same folder, which replaces `path` at the end of the
    `with` block. If the block raises, the temporary file is removed and `path` stays as it was.
    Temporary files that killed processes left in the folder are removed first (`temporary_path`).

    Raises
    ------
    OSError
        If the file cannot be written; it names `path`. IsADirectoryError if `path` is a folder.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = temporary_path(path)
    with _name_in_errors(path):
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """Return a unique path next to `path` for a file that is not complete yet.

    Leftovers of processes that have ended are removed, once per folder and process. They stay where
    that cannot be decided: leftovers of other machines or containers, of the time before this
    machine started, and on systems other than Linux.
    """
    owner = _owner()
    if owner:
        _remove_leftovers(path.parent.absolute(), owner)
    return path.with_name(f".{owner}-{os.getpid()}-{uuid.uuid4().hex}.part")


@cache
def _owner() -> str:
    """Return an identifier of this machine's boot and container, where process numbers are unique.

    Empty on systems other than Linux.
    """
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        among = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return hashlib.sha256(f"{started}{among}".encode()).hexdigest()[:12]


@cache
def _remove_leftovers(folder: Path, owner: str) -> None:
    """Remove temporary files in a folder whose process has ended."""
    for left in folder.glob(f".{owner}-*.part"):
        process = left.name.split("-")[1]
        if not process.isdecimal() or Path(f"/proc/{process}").exists():
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            with suppress(OSError):
                left.unlink()


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    """Replace an OSError in the `with` block by one that names `path`."""
    try:
        yield
    except OSError as error:
        code = error.errno or errno.EIO
        raise OSError(code, error.strerror or str(error), str(path)) from error


def write_text(files: Mapping[Path, str]) -> None:
    """Write several text files (UTF-8); none is replaced before all of them are on disk."""
    with ExitStack() as stack:
        for path, text in files.items():
            stack.enter_context(atomic_write(path)).write_text(text, encoding="utf-8")


def json_value(value: Any) -> Any:
    """Convert a value to JSON types.

    Mappings, sequences and NumPy arrays become dictionaries and lists. Numbers that are not finite
    become None, because JSON cannot represent them. Other values become text, so that one
    unexpected value does not lose the results of a long measurement.
    """
    if isinstance(value, Mapping):
        return {str(key): json_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(part) for part in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return json_value(value.tolist())
    if value is None or isinstance(value, str | bool | int):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else None


def json_text(value: Any, indent: int | None = None) -> str:
    """Convert `json_value(value)` to JSON text."""
    return json.dumps(json_value(value), allow_nan=False, indent=indent)


def read_npz(path: Path) -> dict[str, Any]:
    """Read the arrays of an .npz file.

    The declared sizes are checked before memory is allocated, because a small archive may declare
    any size.

    Raises
    ------
    InvalidFile
        If the file cannot be read, or declares much more data than its size explains.
    """
    import numpy as np
    from numpy.lib import format as npy

    try:
        # check the declared size, in total and by member
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            declared = sum(member.file_size for member in members)
            if declared > UNCHECKED_ARCHIVE_SIZE + MAX_COMPRESSION_RATIO * path.stat().st_size:
                raise InvalidFile(
                    f"{path} declares {declared / 1e6:.0f} MB, more than {MAX_COMPRESSION_RATIO}"
                    " times its size: it is damaged or malicious.",
                    path,
                )
            for member in members:
                with archive.open(member) as file:
                    version = npy.read_magic(file)
                    read: Any = getattr(npy, f"read_array_header_{version[0]}_0")
                    shape, _, kind = read(file)
                    if kind.hasobject or math.prod(shape) * kind.itemsize > member.file_size:
                        raise ValueError(member.filename)
        with np.load(path, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    except TarsusError:
        raise
    except Exception:  # readers raise anything on damaged files
        raise InvalidFile(f"{path} cannot be read as a NumPy archive (.npz).", path) from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read the tables of a TOML file; raise InvalidFile if it cannot be read."""
    if path.exists() and not is_file(path):
        raise InvalidFile(f"{path} is not a file.", path)
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror}.", path) from None
    except RecursionError:
        raise InvalidFile(f"{path} is nested too deeply.", path) from None
    except (ValueError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path} is not valid TOML: {error}.", path) from None
