"""Files of a folder that the user alone may write, on Windows: one inside the user's profile.

Windows has no modes; who may write to a folder is said by lists that Python does not read. What
lies in a profile is by default its user's, and the administrators'.
"""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path

from tarsus.program.run.owned_files import NotOurs


def content(place: Path, name: str, most: int) -> bytes:
    """The bytes of a file of a folder, at most so many; FileNotFoundError, or NotOurs."""
    _must_be_in_profile(place)
    file = place / name
    found = os.lstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_size > most:
        raise NotOurs(f"the file {file} is no regular file of sensible size")
    return file.read_bytes()


def replace(place: Path, name: str, content: bytes) -> None:
    """Write a file beside and rename it; OSError, also while another process reads it."""
    _must_be_in_profile(place)
    beside = place / f".{name}.{uuid.uuid4().hex}"
    try:
        beside.write_bytes(content)
        os.replace(beside, place / name)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _must_be_in_profile(place: Path) -> None:
    """Where links lead is what counts."""
    if not place.resolve().is_relative_to(Path.home().resolve()):
        raise NotOurs(f"the folder {place} lies outside of your profile {Path.home()}")
