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
from tarsus.program.run.owned_files import UntrustedCacheFile

COMPILER = Path(__file__).parents[1]  # the folder program/
CHECKSUM_SIZE = hashlib.sha256().digest_size
MAX_SIZE = 1 << 28  # bytes, far larger than any object
WINDOWS = os.name == "nt"


def cache_folder() -> Path:
    """Find the folder of the cache: $TARSUS_CACHE, else the user's cache folder."""
    if given := os.environ.get("TARSUS_CACHE"):
        return Path(given)
    if WINDOWS and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "tarsus" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "tarsus"


@cache
def source_hash(compiler: Path = COMPILER) -> str:
    """Hash all source files of the compiler and their paths.

    It is part of every cache key: a change anywhere under `program/` gives all objects new names.
    """
    digest = hashlib.sha256()
    for file in sorted(compiler.rglob("*.py")):
        digest.update(f"{file.relative_to(compiler).as_posix()}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def read(name: str) -> bytes | None:
    """Read the object cached under a name; None if it is missing, damaged or not the user's."""
    try:
        content = _choose_file_module().content(cache_folder(), name, MAX_SIZE)
    except (OSError, RuntimeError):  # no such file, or no home folder
        return None
    except UntrustedCacheFile as reason:
        _warn(str(reason))
        return None
    code, checksum = content[:-CHECKSUM_SIZE], content[-CHECKSUM_SIZE:]
    return code if checksum == _checksum(name, code) else None


def write(name: str, code: bytes) -> None:
    """Write an object to the cache; do nothing if the cache cannot be written.

    It is written to a temporary file and renamed, so that no reader sees half an object.
    """
    try:
        cache_folder().mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        _choose_file_module().replace(cache_folder(), name, code + _checksum(name, code))
    except (OSError, RuntimeError):
        return
    except UntrustedCacheFile as reason:
        _warn(str(reason))


def _choose_file_module() -> ModuleType:
    """Choose the module for files that only the user can write, on this system."""
    return profile_files if WINDOWS else owned_files


def _checksum(name: str, code: bytes) -> bytes:
    """Compute the checksum of an object and its name; damaged or renamed objects are not run."""
    return hashlib.sha256(name.encode() + b"\0" + code).digest()


@cache  # one warning per reason
def _warn(reason: str) -> None:
    warnings.warn(
        TarsusWarning(
            f"{reason}: its compiled code is not used, so the first step takes longer; set"
            " TARSUS_CACHE to a folder of your own.",
            "cache-not-used",
            "TARSUS_CACHE",
        ),
        stacklevel=3,
    )
