"""Compiled code kept on disk, under names made from everything that affects it.

A name must hold a hash of the program, of the processor and of `source_hash`, the compiler itself.
What is read here is run: an object or a folder that anyone but the user could have written is not
used (decision 0018).
"""

from __future__ import annotations

import hashlib
import os
import stat
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from tarsus.errors import TarsusWarning

COMPILER = Path(__file__).parents[1]  # program/ with its four folders
SEAL = hashlib.sha256().digest_size
LARGEST = 1 << 28  # bytes; no object comes near it
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class NotOurs(Exception):
    """A file or folder that someone else could have written."""


def cache_folder() -> Path:
    """Where compiled objects are kept: $TARSUS_CACHE, else the user's cache folder."""
    if given := os.environ.get("TARSUS_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tarsus"


@cache
def source_hash(compiler: Path = COMPILER) -> str:
    """A hash of every source file of the compiler, its path included.

    Code in the cache is only as good as the compiler that made it: a change anywhere under
    `program/` gives every object a new name.
    """
    digest = hashlib.sha256()
    for file in sorted(compiler.rglob("*.py")):
        digest.update(f"{file.relative_to(compiler).as_posix()}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def kept(name: str) -> bytes | None:
    """The object kept under this name; None if there is none, or it is damaged or not ours."""
    try:
        with _folder() as folder:
            found = _content(folder, name)
    except (OSError, RuntimeError):  # there is none, or no home to look in
        return None
    except NotOurs as reason:
        _say(str(reason))
        return None
    code, seal = found[:-SEAL], found[-SEAL:]
    return code if seal == _seal(name, code) else None


def keep(name: str, code: bytes) -> None:
    """Keep an object for later sessions; a cache that cannot be written is no error.

    It is written beside and renamed, so that a reader never sees half an object.
    """
    try:
        cache_folder().mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        with _folder() as folder:
            _replace(folder, name, code + _seal(name, code))
    except (OSError, RuntimeError):
        return
    except NotOurs as reason:
        _say(str(reason))


def _seal(name: str, code: bytes) -> bytes:
    """A checksum behind an object in the cache: damaged machine code must never run, nor must an
    object under another's name.
    """
    return hashlib.sha256(name.encode() + b"\0" + code).digest()


@contextmanager
def _folder() -> Iterator[int]:
    """The cache's folder, open: what is then done in it cannot be led elsewhere by a rename."""
    path = cache_folder()
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _must_be_ours(os.fstat(folder), f"the folder {path}")
        yield folder
    finally:
        os.close(folder)


def _content(folder: int, name: str) -> bytes:
    """A regular file's bytes; neither a link is followed nor a pipe waited for."""
    what = f"the file {cache_folder() / name}"
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError:
        raise NotOurs(f"{what} cannot be opened as a regular file") from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
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


@cache  # a reason is said once
def _say(reason: str) -> None:
    warnings.warn(
        f"{reason}: its compiled code is not used, and the first step takes longer; TARSUS_CACHE"
        " can name a folder of your own.",
        TarsusWarning,
        stacklevel=3,
    )
