"""Files of a folder that the user alone may write, on systems with owners and modes (POSIX)."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class NotOurs(Exception):
    """A file or folder that someone else could have written."""


def content(place: Path, name: str, most: int) -> bytes:
    """The bytes of a file of a folder, at most so many; FileNotFoundError, or NotOurs."""
    with _opened(place) as folder:
        return _content(folder, place / name, most)


def replace(place: Path, name: str, content: bytes) -> None:
    """Write a file beside and rename it; OSError, or NotOurs."""
    with _opened(place) as folder:
        _replace(folder, name, content)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A folder, open: what is then done in it cannot be led elsewhere by a rename."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _must_be_ours(os.fstat(folder), f"the folder {path}")
        yield folder
    finally:
        os.close(folder)


def _content(folder: int, path: Path, most: int) -> bytes:
    """A regular file's bytes; neither a link is followed nor a pipe waited for."""
    what = f"the file {path}"
    try:
        file = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError:
        raise NotOurs(f"{what} cannot be opened as a regular file") from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            raise NotOurs(f"{what} is no regular file of sensible size")
        _must_be_ours(found, what)
        with open(file, "rb", closefd=False) as opened:
            return opened.read(found.st_size)
    finally:
        os.close(file)


def _replace(folder: int, name: str, content: bytes) -> None:
    beside = f".{name}.{uuid.uuid4().hex}"
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with open(os.open(beside, how, stat.S_IRUSR | stat.S_IWUSR, dir_fd=folder), "wb") as file:
            file.write(content)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)


def _must_be_ours(found: os.stat_result, what: str) -> None:
    if found.st_uid != os.geteuid():
        raise NotOurs(f"{what} belongs to another user (number {found.st_uid})")
    if found.st_mode & WRITABLE_BY_OTHERS:
        raise NotOurs(f"others may write to {what} (chmod go-w)")
