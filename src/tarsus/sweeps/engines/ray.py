"""Ray: an existing cluster, or this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tarsus.model.files import import_library
from tarsus.sweeps.engines.base import WorkEngine, WorkerLost


class RayEngine(WorkEngine):
    """Engine that runs each task on one core of a Ray cluster.

    The cluster is that of RAY_ADDRESS, or of `ray start` on this machine, or else a new one on this
    machine. All machines need the same version of Tarsus.
    """

    def __init__(self, workers: int | None, folder: Path) -> None:
        super().__init__(workers, folder)
        self._ray: Any = import_library("ray", "the engine ray", "ray")
        self._started = not self._ray.is_initialized()
        if self._started:
            try:
                self._ray.init(address="auto", log_to_driver=False, logging_level="error")
            except ConnectionError:
                self._ray.init(num_cpus=workers, log_to_driver=False, logging_level="error")
        self._remote: dict[Callable[..., Any], Any] = {}

    @property
    def slots(self) -> int:
        available = int(self._ray.cluster_resources().get("CPU", 1))
        return min(self.workers or available, available)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        if function not in self._remote:
            self._remote[function] = self._ray.remote(num_cpus=1, max_retries=0)(function)
        inner = self._remote[function].remote(*arguments).future()
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()
        inner.add_done_callback(lambda done: self._transfer(done, outer))
        return outer

    def _transfer(self, done: Future[Any], outer: Future[Any]) -> None:
        """Transfer a result; errors of workers and machines become WorkerLost."""
        exceptions = self._ray.exceptions
        error = done.exception()
        if error is None:
            outer.set_result(done.result())
        elif isinstance(error, exceptions.RayTaskError):
            outer.set_exception(getattr(error, "cause", None) or error)
        elif isinstance(error, exceptions.RayError):
            outer.set_exception(WorkerLost(str(error)))
        else:
            outer.set_exception(error)

    def close(self) -> None:
        if self._started:
            self._ray.shutdown()
