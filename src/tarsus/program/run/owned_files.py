"""Read and write files of a folder that only the user can write, on POSIX systems."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UntrustedCacheFile(Exception):
    """File or folder that another user could have written."""


def content(path: Path, name: str, max_size: int) -> bytes:
    """Read a file of a folder.

    Parameters
    ----------
    path
        Folder.
    name
        Name of the file.
    max_size
        Largest size in bytes.

    Returns
    -------
    bytes
        Content of the file.

    Raises
    ------
    FileNotFoundError
        If the file is missing.
    UntrustedCacheFile
        If another user could have written it.
    """
    with _open_folder(path) as folder:
        return _read_file(folder, path / name, max_size)


def replace(path: Path, name: str, content: bytes) -> None:
    """Write a temporary file and rename it; raise OSError or UntrustedCacheFile."""
    with _open_folder(path) as folder:
        _replace(folder, name, content)


@contextmanager
def _open_folder(path: Path) -> Iterator[int]:
    """Open a folder, so that a rename cannot redirect what is done in it."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _check_owner(os.fstat(folder), f"the folder {path}")
        yield folder
    finally:
        os.close(folder)


def _read_file(folder: int, path: Path, max_size: int) -> bytes:
    """Read a regular file; follow no link and wait for no pipe."""
    what = f"the file {path}"
    try:
        file = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError:
        raise UntrustedCacheFile(f"{what} cannot be opened as a regular file") from None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > max_size:
            raise UntrustedCacheFile(f"{what} is not a regular file, or is too large")
        _check_owner(status, what)
        with open(file, "rb", closefd=False) as opened:
            return opened.read(status.st_size)
    finally:
        os.close(file)


def _replace(folder: int, name: str, content: bytes) -> None:
    temporary = f".{name}.{uuid.uuid4().hex}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        mode = stat.S_IRUSR | stat.S_IWUSR
        with open(os.open(temporary, flags, mode, dir_fd=folder), "wb") as file:
            file.write(content)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def _check_owner(status: os.stat_result, what: str) -> None:
    if status.st_uid != os.geteuid():
        raise UntrustedCacheFile(f"{what} belongs to another user (uid {status.st_uid})")
    if status.st_mode & WRITABLE_BY_OTHERS:
        raise UntrustedCacheFile(f"other users can write to {what} (run chmod go-w on it)")
