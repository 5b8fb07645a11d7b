"""Write the log of a run to disk while the run goes on, so that it survives a kill.

NetCDF's classic format with an unlimited dimension `time` stores step after step behind everything
without a time, and the number of steps in one word at the front. A part is appended first and
counted afterwards, so that the file is complete at every instant.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import BinaryIO

import xarray as xr

from tarsus.errors import InvalidFile, TarsusWarning
from tarsus.file_locks import write_lock
from tarsus.files import atomic_write, check_writable
from tarsus.simulation.recording.log import save_log
from tarsus.simulation.recording.netcdf_classic import COUNT_OFFSET, encode

SUFFIX = ".nc"
MIN_INTERVAL = 2.0  # s between two parts
MIN_INTERVAL_RATIO = 20.0  # of the time to write the last part
PIECE_BYTES = 16 << 20  # long parts are written in pieces, each of which survives a kill
FINAL_ATTRIBUTES = (
    "wall_time",
    "fast_steps",
    "impacts_lost",
    "overflow_steps",
    "max_overflow",
    "warnings",
)
PARTIAL_WARNING = "this log is partial: the run was killed or is still going on."


def log_path(to: str | Path) -> Path:
    """Create the folder of a log to be written, and return the log's path.

    Raises
    ------
    InvalidFile
        If the name is not that of a netCDF file.
    OSError
        If the folder is not writable.
    """
    path = Path(to)
    if path.suffix != SUFFIX:
        raise InvalidFile(f"a log is a netCDF file; name it *{SUFFIX}, not {path.name!r}.", to)
    check_writable(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def partial_path(path: Path) -> Path:
    """Return the path of the log until the run ends."""
    return path.with_name(f"{path.stem}.partial{SUFFIX}")


class PartialLog:
    """The log of a run, written to `to` at the end, and until then in parts next to it.

    Inside its `with` block no other process can write the same log (`write_lock`). The partial log
    of an earlier run that did not end is renamed with a date. With `to=None` nothing is written.

    Parameters
    ----------
    to : path or None
        Path of the log.
    made : callable
        Returns the log from one step to another.
    """

    def __init__(self, to: str | Path | None, build_log: Callable[[int, int], xr.Dataset]) -> None:
        self._log = None if to is None else log_path(to)
        self._made = build_log
        self._done = 0
        self._first: xr.Dataset | None = None
        self._head = 0  # bytes before the first step
        self._next = perf_counter() + MIN_INTERVAL
        self._warned = False
        self._claim = ExitStack()

    def __enter__(self) -> PartialLog:
        if self._log is not None:
            self._claim.enter_context(write_lock(self._log))
            _set_aside(partial_path(self._log))
        return self

    def __exit__(self, *error: object) -> None:
        self._claim.close()

    def write_if_due(self, steps: int) -> None:
        """Write the steps so far if enough time has passed."""
        began = perf_counter()
        if began >= self._next:
            self.write(steps)
            took = perf_counter() - began
            self._next = began + took + max(MIN_INTERVAL, MIN_INTERVAL_RATIO * took)

    def write(self, steps: int) -> None:
        """Write the steps so far, piece by piece; the first piece determines the size of a step.

        If the disk is full, the steps that fit are written with a TarsusWarning, and the next call
        tries again.
        """
        limit = steps
        while self._log is not None and self._done < steps:
            piece = 1 if self._first is None else max(PIECE_BYTES // self._first.nbytes, 1)
            piece = min(piece, limit, steps - self._done)
            try:
                self._write(partial_path(self._log), self._done + piece)
            except OSError as error:
                limit = piece // 2
                if not limit:
                    self._warn(partial_path(self._log), error)
                    return

    def _write(self, path: Path, steps: int) -> None:
        part, first = self._made(self._done, steps), self._first
        if first is not None and _is_continuation(first, part):
            # variables without time are those of the first part
            fixed = {name: v for name, v in first.variables.items() if "time" not in v.dims}
            self._append(path, part.assign(fixed))
        else:
            whole = part if self._done == 0 else self._made(0, steps)
            first_step = whole.drop_attrs(deep=False).isel(time=slice(0, 1))
            head, content = encode(whole, "time")
            with atomic_write(path) as temporary:
                temporary.write_bytes(head + content)
            self._first, self._head = first_step, len(head)
        self._done = steps

    def _append(self, path: Path, part: xr.Dataset) -> None:
        """Append the steps of a part to the file, then update the count."""
        _, content = encode(part, "time")
        size, new = len(content) // part.sizes["time"], part.sizes["time"]
        with path.open("r+b") as file:
            file.seek(self._head + size * self._done)
            file.write(content)
            _sync_to_disk(file)
            file.seek(COUNT_OFFSET)
            file.write((self._done + new).to_bytes(4, "big"))
            _sync_to_disk(file)

    def _warn(self, path: Path, error: OSError) -> None:
        if not self._warned:
            text = (
                f"{path} cannot be written: {error.strerror or error}. The run continues and tries"
                " again; free some space."
            )
            warnings.warn(TarsusWarning(text, "partial-log-not-written", str(path)), stacklevel=3)
        self._warned = True

    def finish(self, log: xr.Dataset | None) -> None:
        """Write the complete log unless it is None (no steps), and remove the partial one.

        If the log cannot be written, the partial log stays and the OSError names it.
        """
        if self._log is None:
            return
        parts = partial_path(self._log)
        if log is not None:
            try:
                save_log(log, self._log)
            except OSError as error:
                steps = log.sizes["time"]
                self.write(steps)
                saved = f"the first {self._done} of {steps} steps are in {parts}"
                why = f"{error.strerror or error}; {saved if self._done else 'no step is saved'}"
                raise OSError(error.errno, why, str(self._log)) from None
        try:
            parts.unlink(missing_ok=True)
        except OSError as error:  # on Windows, while another process reads it
            text = f"{parts} is no longer needed but cannot be removed: {error.strerror or error}."
            warnings.warn(TarsusWarning(text, "partial-log-not-removed", str(parts)), stacklevel=2)


def _set_aside(path: Path) -> None:
    """Rename the partial log of an unfinished run by its date, and warn."""
    if not path.exists():
        return
    date = datetime.fromtimestamp(path.stat().st_mtime).strftime("%Y-%m-%dT%H%M%S")
    names = (f"{path.stem}-{date}{more}{SUFFIX}" for more in ("", *map("-{}".format, range(2, 99))))
    to = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    path.rename(to)
    text = f"an earlier run did not finish; its partial log {path.name} was renamed to {to}."
    warnings.warn(TarsusWarning(text, "partial-log-renamed", path.name), stacklevel=4)


def mark_partial(log: xr.Dataset) -> xr.Dataset:
    """Remove attributes of the log that are known only at the end, and mark it as partial."""
    remaining = {name: value for name, value in log.attrs.items() if name not in FINAL_ATTRIBUTES}
    return log.drop_attrs(deep=False).assign_attrs(
        remaining | {"partial": PARTIAL_WARNING, "warnings": PARTIAL_WARNING}
    )


def _sync_to_disk(file: BinaryIO) -> None:
    """Flush a file to disk."""
    file.flush()
    os.fsync(file.fileno())


def _is_continuation(first: xr.Dataset, part: xr.Dataset) -> bool:
    """Return whether a part continues a file.

    It must have the same variables and labels, and equal values in variables without a time.
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
