"""A part of a benchmark in its own process, so that a GPU that faults or hangs harms no other."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

from tarsus.processes import SPAWN, Child

GRACE = 5.0  # s to end by itself after the result


def in_child(part: Callable[[], Any], seconds: float | None) -> Any:
    """What `part` (picklable) returns from a new process, ended with its children after `seconds`,
    or however long it takes.

    What it prints goes to standard error. Raises TimeoutError after `seconds`, ChildProcessError if
    the process died without a word, and RuntimeError with the name and text of whatever the part
    raised.
    """
    # start the child, and hold only our end of the pipe
    ours, theirs = SPAWN.Pipe(duplex=False)
    child = Child(_send, part, theirs)
    theirs.close()
    # wait for its answer, at most `seconds`
    said: tuple[bool, Any] | None = None
    try:
        if not ours.poll(seconds):
            raise TimeoutError(f"ended after {seconds:.0f} s, before it was done")
        with contextlib.suppress(EOFError):
            said = ours.recv()
        wait([child.process.sentinel], GRACE)
    finally:
        child.end()
    # its answer, or the error that it met
    if said is None:
        raise ChildProcessError(f"the process died with exit code {child.process.exitcode}")
    worked, found = said
    if not worked:
        raise RuntimeError(found)
    return found


def _send(part: Callable[[], Any], to: Connection) -> None:
    os.dup2(2, 1)  # standard output is for the results, whatever a library prints
    try:
        to.send((True, part()))
    except Exception as error:
        to.send((False, f"{type(error).__name__}: {error}"))
