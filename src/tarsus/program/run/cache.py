"""Cache compiled code on disk, under names made from everything that affects it.

A name must hold a hash of the program, of the processor and of `source_hash`, the compiler itself.
What is read here is run: an object or a folder that anyone but the user could have written is not
used (decision 0018).
"""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType

from tarsus.errors import TarsusWarning
from tarsus.program.run import owned_files, profile_files
from tarsus.program.run.owned_files import NotOurs

COMPILER = Path(__file__).parents[1]  # program/ with its four folders
SEAL = hashlib.sha256().digest_size
LARGEST = 1 << 28  # bytes; no object comes near it
WINDOWS = os.name == "nt"


def cache_folder() -> Path:
    """Return the folder of the cache: $TARSUS_CACHE, else the user's cache folder."""
    if given := os.environ.get("TARSUS_CACHE"):
        return Path(given)
    if WINDOWS and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "tarsus" / "cache"
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


def read(name: str) -> bytes | None:
    """Return the object cached under a name; None if it is missing, damaged or not the user's."""
    try:
        found = _files().content(cache_folder(), name, LARGEST)
    except (OSError, RuntimeError):  # there is none, or no home to look in
        return None
    except NotOurs as reason:
        _say(str(reason))
        return None
    code, seal = found[:-SEAL], found[-SEAL:]
    return code if seal == _seal(name, code) else None


def write(name: str, code: bytes) -> None:
    """Write an object for later processes; a cache that cannot be written is no error.

    It is written beside and renamed, so that a reader never sees half an object.
    """
    try:
        cache_folder().mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        _files().replace(cache_folder(), name, code + _seal(name, code))
    except (OSError, RuntimeError):
        return
    except NotOurs as reason:
        _say(str(reason))


def _files() -> ModuleType:
    """How files are kept on this system so that no one else writes them."""
    return profile_files if WINDOWS else owned_files


def _seal(name: str, code: bytes) -> bytes:
    """A checksum behind an object in the cache: damaged machine code must never run, nor must an
    object under another's name.
    """
    return hashlib.sha256(name.encode() + b"\0" + code).digest()


@cache  # a reason is said once
def _say(reason: str) -> None:
    warnings.warn(
        TarsusWarning(
            f"{reason}: its compiled code is not used, so the first step takes longer; set"
            " TARSUS_CACHE to a folder of your own.",
            "cache-not-used",
            "TARSUS_CACHE",
        ),
        stacklevel=3,
    )
