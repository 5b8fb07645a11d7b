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
from tarsus.sweeps.engines.base import WorkEngine, WorkerLost

TASK_MODULE = "tarsus.sweeps.task"


class ProcessEngine(WorkEngine):
    """Engine with one new process per core; a process that was killed is replaced."""

    def __init__(self, workers: int | None, folder: Path) -> None:
        super().__init__(workers or os.cpu_count() or 1, folder)
        self._pool = WorkerPool(self.slots)

    @property
    def slots(self) -> int:
        return self.workers or 1

    def warm_up(self) -> list[Future[Any]]:
        return [self._pool.submit(import_task) for _ in range(self.slots)]

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        try:
            inner = self._pool.submit(function, *arguments)
        except BrokenProcessPool:
            self._pool.close()
            self._pool = WorkerPool(self.slots)
            inner = self._pool.submit(function, *arguments)
        return translate_errors(inner, BrokenProcessPool)

    def close(self) -> None:
        self._pool.close()


def import_task() -> None:
    """Import the modules that a task needs."""
    importlib.import_module(TASK_MODULE)


def translate_errors(inner: Future[Any], *kinds: type[BaseException]) -> Future[Any]:
    """Create a future with the same result, in which errors of these kinds become WorkerLost."""
    outer: Future[Any] = Future()
    outer.set_running_or_notify_cancel()

    def on_done(done: Future[Any]) -> None:
        error = done.exception() if not done.cancelled() else WorkerLost("the task was canceled")
        if error is None:
            outer.set_result(done.result())
        else:
            outer.set_exception(WorkerLost(str(error)) if isinstance(error, kinds) else error)

    inner.add_done_callback(on_done)
    return outer
