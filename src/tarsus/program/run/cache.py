"""Compiled code kept on disk, under names made from everything that affects it.

A name must hold a hash of the program, of the processor and of `source_hash`, the compiler itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

COMPILER = Path(__file__).parents[1]  # program/ with its four folders
SEAL = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """Where compiled objects are kept: $TARSUS_CACHE, else the user's cache folder."""
    if given := os.environ.get("TARSUS_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tarsus"


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
    """The object kept under this name; None if there is none or it is damaged."""
    try:
        found = (cache_folder() / name).read_bytes()
    except OSError:
        return None
    code, seal = found[:-SEAL], found[-SEAL:]
    return code if seal == _seal(code) else None


def _seal(code: bytes) -> bytes:
    """A checksum that stands behind an object in the cache: damaged machine code must never run."""
    return hashlib.sha256(code).digest()


def keep(name: str, code: bytes) -> None:
    """Keep an object for later sessions; a cache that cannot be written is no error.

    It is written beside and renamed, so that a reader never sees half an object.
    """
    beside = None
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            beside = Path(file.name)
            file.write(code + _seal(code))
        os.replace(beside, folder / name)
    except OSError:
        with contextlib.suppress(OSError):
            if beside is not None:
                beside.unlink()
