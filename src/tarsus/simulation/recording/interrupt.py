"""Handle Ctrl-C during a run: finish the current step and keep the log."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `Simulation.run`.

    Attributes
    ----------
    log : xarray.Dataset or None
        Log of all steps before; None before the first step.

    Examples
    --------
    Keep what was simulated when the user presses Ctrl-C:

    >>> import tarsus
    >>> sim = tarsus.Simulation("mini_cheetah", controller="trot")
    >>> try:
    ...     log = sim.run(0.1)
    ... except tarsus.Interrupted as stop:
    ...     log = stop.log
    >>> log.sizes["time"]
    40
    """

    def __init__(self, message: str, log: xr.Dataset | None) -> None:
        super().__init__(message)
        self.log = log

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.log)


@contextmanager
def catch_interrupt() -> Iterator[Callable[[], bool]]:
    """Delay the first Ctrl-C inside the `with` block.

    Yields a function that returns whether Ctrl-C was pressed. A second Ctrl-C interrupts at once,
    as usual. Nothing is delayed outside the main thread, or where the process ignores Ctrl-C.
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
