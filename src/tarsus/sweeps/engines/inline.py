"""Engine that runs chunks in this process, one after the other, for debugging."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tarsus.sweeps.engines.base import WorkEngine


class InlineEngine(WorkEngine):
    """Engine without workers: a task runs when it is submitted."""

    @property
    def slots(self) -> int:
        return 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future
