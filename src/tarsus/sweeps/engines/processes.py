"""Processes on this machine."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from tarsus.processes import WorkerPool
from tarsus.sweeps.engines.base import Lost, WorkEngine

TASK = "tarsus.sweeps.task"


class Processes(WorkEngine):
    """As many processes as there are processors, each fresh; a killed one is replaced."""

    def __init__(self, workers: int | None, folder: Path) -> None:
        super().__init__(workers or os.cpu_count() or 1, folder)
        self._pool = WorkerPool(self.slots)

    @property
    def slots(self) -> int:
        return self.workers or 1

    def warm(self) -> list[Future[Any]]:
        return [self._pool.submit(imported) for _ in range(self.slots)]

    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        try:
            inner = self._pool.submit(function, *given)
        except BrokenProcessPool:
            self._pool.close()
            self._pool = WorkerPool(self.slots)
            inner = self._pool.submit(function, *given)
        return translated(inner, BrokenProcessPool)

    def close(self) -> None:
        self._pool.close()


def imported() -> None:
    """Import what a task needs, in a worker that has none yet."""
    importlib.import_module(TASK)


def translated(inner: Future[Any], *lost: type[BaseException]) -> Future[Any]:
    """The same future, an error of a kind in `lost` told as `Lost`."""
    outer: Future[Any] = Future()
    outer.set_running_or_notify_cancel()

    def told(done: Future[Any]) -> None:
        error = done.exception() if not done.cancelled() else Lost("it was dropped")
        if error is None:
            outer.set_result(done.result())
        else:
            outer.set_exception(Lost(str(error)) if isinstance(error, lost) else error)

    inner.add_done_callback(told)
    return outer
