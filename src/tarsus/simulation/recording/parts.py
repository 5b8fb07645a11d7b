"""A log on the disk while its run goes on: written in parts, it opens whenever the run is killed.

NetCDF's classic format with an unlimited dimension `time` keeps what has a time behind all else,
step after step, and counts the steps in one word at the front. So a part is appended, and only
then counted: a file is whole at every instant.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import BinaryIO

import xarray as xr

from tarsus.errors import TarsusError, TarsusWarning
from tarsus.files import check_writable, replacing
from tarsus.simulation.recording.classic_file import COUNT_AT, written

SUFFIX = ".nc"
EVERY = 2.0  # s between two parts, at least
SHARE = 20.0  # times as long as it took to write the last one, at least
PIECE = 16 << 20  # bytes: a long part is written piece by piece, each of which a kill leaves
TOTALS = ("wall_time", "fast_steps", "strikes_lost", "crowded_steps", "most_left_out", "warnings")
NOTICE = "the run had not ended when this was written: it was killed, or goes on."


def log_path(to: str | Path) -> Path:
    """The path of a log to be written; TarsusError if it is no netCDF file's, OSError if nobody may
    write there.
    """
    path = Path(to)
    if path.suffix != SUFFIX:
        raise TarsusError(f"a log is a netCDF file: name it *{SUFFIX}, not {path.name!r}.")
    check_writable(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def partial_path(path: Path) -> Path:
    """Where the log of a run is that has not ended."""
    return path.with_name(f"{path.stem}.partial{SUFFIX}")


class Parts:
    """Writes a log in parts beside `path`, until `close`; none if there is no path.

    made: gives the log of the steps from one to another, whenever it is asked
    A part that cannot be written, on a full disk, is told of in a TarsusWarning, and the run goes
    on without parts.
    """

    def __init__(self, path: Path | None, made: Callable[[int, int], xr.Dataset]) -> None:
        self.path, self.made = None if path is None else partial_path(path), made
        self._done = 0
        self._first: xr.Dataset | None = None
        self._next = perf_counter() + EVERY

    def look(self, steps: int) -> None:
        """Write the steps up to this one, if it is time."""
        began = perf_counter()
        if began >= self._next:
            self.write(steps)
            took = perf_counter() - began
            self._next = began + took + max(EVERY, SHARE * took)

    def write(self, steps: int) -> None:
        """Write the steps up to this one, piece by piece; the first tells how large a step is."""
        while self.path is not None and self._done < steps:
            piece = 1 if self._first is None else max(PIECE // self._first.nbytes, 1)
            self._write(self.path, min(self._done + piece, steps))

    def _write(self, path: Path, steps: int) -> None:
        part, first = self.made(self._done, steps), self._first
        try:
            if first is not None and _alike(first, part):
                # what has no time is the first part's
                fixed = {name: v for name, v in first.variables.items() if "time" not in v.dims}
                _append(path, part.assign(fixed))
            else:
                whole = part if self._done == 0 else self.made(0, steps)
                self._first = whole.drop_attrs(deep=False).isel(time=slice(0, 1))
                with replacing(path) as temporary:
                    temporary.write_bytes(b"".join(written(whole, "time")))
        except OSError as error:
            warnings.warn(
                f"the log cannot be kept while the run goes on: {error.strerror or error}.",
                TarsusWarning,
                stacklevel=2,
            )
            self.path = None
        self._done = steps

    def close(self) -> None:
        """The log is written elsewhere, whole: the parts are not needed any more."""
        if self.path is None:
            return
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:  # on Windows, while someone reads it
            warnings.warn(
                f"{self.path} is not needed any more and stays: {error.strerror or error}.",
                TarsusWarning,
                stacklevel=2,
            )


def _append(path: Path, part: xr.Dataset) -> None:
    """The steps of a part behind those of a file, and only then counted."""
    _, steps = written(part, "time")
    with path.open("r+b") as file:
        file.seek(COUNT_AT)
        before = int.from_bytes(file.read(4), "big")
        file.seek(0, os.SEEK_END)
        file.write(steps)
        _settled(file)
        file.seek(COUNT_AT)
        file.write((before + part.sizes["time"]).to_bytes(4, "big"))
        _settled(file)


def partial(log: xr.Dataset) -> xr.Dataset:
    """The log without what is known at the end alone, and with a notice that it is partial."""
    kept = {name: value for name, value in log.attrs.items() if name not in TOTALS}
    return log.drop_attrs(deep=False).assign_attrs(kept | {"partial": NOTICE, "warnings": NOTICE})


def _settled(file: BinaryIO) -> None:
    """On the disk, not on the way there."""
    file.flush()
    os.fsync(file.fileno())


def _alike(first: xr.Dataset, part: xr.Dataset) -> bool:
    """Whether a part continues a file: the same variables and labels, and nothing without a time
    that grows.
    """
    one, other = (
        {n: (v.dims, v.shape[1:], v.dtype) for n, v in log.variables.items() if "time" in v.dims}
        for log in (first, part)
    )
    fixed = [str(name) for name, v in first.variables.items() if "time" not in v.dims]
    return (
        list(one.items()) == list(other.items())
        and all(
            name in part.variables
            and (name.endswith("_start") or first.variables[name].equals(part.variables[name]))
            for name in fixed
        )
        and set(part.variables) == set(first.variables)
    )
