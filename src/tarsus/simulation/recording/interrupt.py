"""Ctrl-C during a run: the step at hand is finished, and nothing of what came before is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `Simulation.run`; `log` holds all up to there, None before the first step."""

    def __init__(self, message: str, log: xr.Dataset | None) -> None:
        super().__init__(message)
        self.log = log

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.log)


@contextmanager
def catch_interrupt() -> Iterator[Callable[[], bool]]:
    """Inside the `with` block the first Ctrl-C is only noted: the function tells whether it came.

    A second one interrupts at once, as usual. Nothing is noted in threads other than the main one,
    which no Ctrl-C reaches, or where the process ignores it.
    """
    came: list[bool] = []
    before = signal.getsignal(signal.SIGINT)
    reached = threading.current_thread() is threading.main_thread()
    if not reached or before in (None, signal.SIG_IGN):
        yield lambda: False
        return

    def note(number: int, frame: object) -> None:
        came.append(True)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGINT, before)
