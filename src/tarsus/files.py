"""Files that are written whole or not at all, and JSON text without infinities."""

from __future__ import annotations

import errno
import json
import math
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file name in the folder of `path`, which takes the place of `path` at the end.

    Write to the name inside the `with` block. If the block raises, the temporary file is removed
    and `path` stays as it was. IsADirectoryError if `path` is a folder.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(files: Mapping[Path, str]) -> None:
    """Write texts (UTF-8) by path: none is put in place before all of them are on the disk."""
    with ExitStack() as stack:
        for path, text in files.items():
            stack.enter_context(replacing(path)).write_text(text, encoding="utf-8")


def plain(value: Any) -> Any:
    """The same value in the types that JSON has.

    Mappings, sequences and NumPy arrays become dictionaries and lists. A number that is not finite
    becomes None, since JSON has no word for it. Anything else becomes its text: a strange value
    must not cost the others, which may have been measured for minutes.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return plain(value.tolist())
    if value is None or isinstance(value, str | bool | int):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else None


def json_text(value: Any, indent: int | None = None) -> str:
    """The JSON text of `plain(value)`."""
    return json.dumps(plain(value), allow_nan=False, indent=indent)
