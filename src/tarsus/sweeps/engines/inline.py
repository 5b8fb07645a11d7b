"""This process, one chunk after the other: to look at what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tarsus.sweeps.engines.base import WorkEngine


class Inline(WorkEngine):
    """No workers: a chunk is worked on as it is submitted."""

    @property
    def slots(self) -> int:
        return 1

    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*given))
        except Exception as error:
            future.set_exception(error)
        return future
