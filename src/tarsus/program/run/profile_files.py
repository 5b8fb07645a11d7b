"""Read and write files of a folder that only the user can write, on Windows.

Windows has no file modes, and Python does not read its access control lists. By default only the
user and administrators can write to the user's profile, so the folder must be inside of it.
"""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path

from tarsus.program.run.owned_files import UntrustedCacheFile


def content(path: Path, name: str, max_size: int) -> bytes:
    """Read a file of at most `max_size` bytes; raise FileNotFoundError or UntrustedCacheFile."""
    _check_in_profile(path)
    file = path / name
    status = os.lstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_size > max_size:
        raise UntrustedCacheFile(f"the file {file} is not a regular file, or is too large")
    return file.read_bytes()


def replace(path: Path, name: str, content: bytes) -> None:
    """Write a temporary file and rename it; raise OSError while another process reads it."""
    _check_in_profile(path)
    temporary = path / f".{name}.{uuid.uuid4().hex}"
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path / name)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _check_in_profile(path: Path) -> None:
    """Check that a folder, with links resolved, is inside of the user's profile."""
    if not path.resolve().is_relative_to(Path.home().resolve()):
        raise UntrustedCacheFile(f"the folder {path} is outside of your profile {Path.home()}")
