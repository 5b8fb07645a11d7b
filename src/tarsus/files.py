"""Files that are written whole or not at all, JSON text without infinities, and TOML read."""

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
)  # no file's name on Windows
MAX_COMPRESSION_RATIO = 100  # times its size: what an archive may hold
UNCHECKED_ARCHIVE_SIZE = 64 << 20  # that any archive may hold
MAX_NAME_LENGTH = 100  # bytes of a name in a file's name: file systems take 255 in all


def file_name(*parts: str) -> str:
    """One file's name of several names (a robot's, a law's), joined by "_".

    Whatever is no letter, digit, dot, plus or minus becomes "_": no blanks, and no way out of the
    folder. It is one on every system: Windows's names of devices get a "_" in front.
    """
    short = (re.sub(r"[^\w.+-]+", "_", part).lstrip(".") for part in parts)
    bounded = (part.encode()[:MAX_NAME_LENGTH].decode(errors="ignore") for part in short)
    name = "_".join(part or "unnamed" for part in bounded)
    return f"_{name}" if WINDOWS_DEVICE.fullmatch(name.partition(".")[0]) else name


def is_file(path: Path) -> bool:
    """True if a regular file is there; what cannot even be a file's name is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def missing_file(path: Path, wanted: str) -> InvalidFile:
    """Return an error for a missing file, with near names of its kind in that folder.

    wanted: what is asked for, such as "a log (.nc)"
    """
    if os.path.isdir(path):
        return InvalidFile(f"{path} is a folder: give {wanted} in it.", path)
    beside = os.listdir(path.parent) if path.suffix and os.path.isdir(path.parent) else []
    stems = {Path(name).stem: name for name in sorted(beside) if name.endswith(path.suffix)}
    near = [stems[stem] for stem in closest_names(path.stem, stems)]
    told = f"did you mean {' or '.join(near)}?" if near else f"give {wanted}."
    return InvalidFile(f"there is no file {path}: {told}", path)


def check_writable(folder: Path) -> None:
    """OSError unless files can be written to the folder, or it can be made; it is not made yet."""
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.exists(place))
    with _name_in_errors(folder):
        probe = temporary_path(there / "probe")
        try:
            probe.touch()
        finally:
            if there.is_dir():
                probe.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary file name in the folder of `path`, which takes the place of `path` at the end.

    Write to the name inside the `with` block. If the block raises, the temporary file is removed
    and `path` stays as it was. OSError names `path`; IsADirectoryError if `path` is a folder. What
    processes that were killed have left in the folder is removed first (`temporary_path`).
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
    """A name beside `path` that nobody else uses, for what is not whole yet.

    Files and folders of such names whose process has ended are removed, once a folder and process;
    where that cannot be told for certain they stay: of other machines or containers, of the time
    before this machine last started, and on systems other than Linux.
    """
    owner = _owner()
    if owner:
        _remove_leftovers(path.parent.absolute(), owner)
    return path.with_name(f".{owner}-{os.getpid()}-{uuid.uuid4().hex}.part")


@cache
def _owner() -> str:
    """Among whom a process's number is its own: a container, since the machine started; else ""."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        among = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return hashlib.sha256(f"{started}{among}".encode()).hexdigest()[:12]


@cache
def _remove_leftovers(folder: Path, owner: str) -> None:
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
    """An OSError inside the `with` block comes out as one about `path`."""
    try:
        yield
    except OSError as error:
        code = error.errno or errno.EIO
        raise OSError(code, error.strerror or str(error), str(path)) from error


def write_text(files: Mapping[Path, str]) -> None:
    """Write texts (UTF-8) by path: none is put in place before all of them are on the disk."""
    with ExitStack() as stack:
        for path, text in files.items():
            stack.enter_context(atomic_write(path)).write_text(text, encoding="utf-8")


def json_value(value: Any) -> Any:
    """The same value in the types that JSON has.

    Mappings, sequences and NumPy arrays become dictionaries and lists. A number that is not finite
    becomes None, since JSON has no word for it. Anything else becomes its text: a strange value
    must not cost the others, which may have been measured for minutes.
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
    """The JSON text of `json_value(value)`."""
    return json.dumps(json_value(value), allow_nan=False, indent=indent)


def read_npz(path: Path) -> dict[str, Any]:
    """Return the arrays of an .npz file; InvalidFile if it cannot be read, or declares more than
    its size explains.

    What an archive declares is looked at before memory is taken for it: a small one may declare any
    size.
    """
    import numpy as np
    from numpy.lib import format as npy

    try:
        # what it declares, all in all and member by member
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
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except TarsusError:
        raise
    except Exception:  # readers let whatever a damaged file provokes through
        raise InvalidFile(f"{path} cannot be read as a NumPy archive (.npz).", path) from None


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file; InvalidFile if it cannot be read."""
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
