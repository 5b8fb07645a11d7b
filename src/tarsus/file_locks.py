"""Lock files for writing, so that two processes do not write the same file."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tarsus.errors import TarsusError, TarsusWarning

LOCKED_ERRNOS = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK}
OPEN_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


class FileInUse(TarsusError):
    """Another process is writing the file."""


@contextmanager
def write_lock(path: Path) -> Iterator[None]:
    """Lock a file for writing inside the `with` block.

    The lock is held on a hidden file next to `path`. The operating system releases it when the
    process ends, however it ends.

    Raises
    ------
    FileInUse
        If another process, or another thread of this one, holds the lock.
    """
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _open_locked(path, lock)
    try:
        yield
    finally:
        if sys.platform == "win32":  # Windows cannot remove an open file
            os.close(descriptor)
        with suppress(OSError):
            lock.unlink()
        if sys.platform != "win32":
            os.close(descriptor)


def _open_locked(path: Path, lock: Path) -> int:
    """Open and lock the lock file, and return its descriptor."""
    while True:
        descriptor = os.open(lock, OPEN_FLAGS, 0o666)
        try:
            if not _try_lock(descriptor, path):
                raise FileInUse(
                    f"another process is writing {path}: wait until it ends, or write to another"
                    " folder.",
                    path,
                )
            if _is_same_file(lock, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last owner has just removed it, so try again


def _is_same_file(path: Path, descriptor: int) -> bool:
    """Return whether the open file is still the one at `path`."""
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    return False


def _try_lock(descriptor: int, path: Path) -> bool:
    """Lock an open file if it is free, and return whether it is locked now.

    Warns if the file system of `path` does not support locks.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in LOCKED_ERRNOS:
            return False
        warnings.warn(
            TarsusWarning(
                f"the file system of {path} has no locks ({error.strerror or error}): do not let"
                " two runs write the same file.",
                "no-file-locks",
                str(path),
            ),
            stacklevel=2,
        )
    return True
