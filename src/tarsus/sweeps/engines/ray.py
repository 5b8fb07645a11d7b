"""Ray: a cluster that is there already, or this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tarsus.model.files import needed_library
from tarsus.sweeps.engines.base import Lost, WorkEngine


class OnRay(WorkEngine):
    """Tasks of one processor each. The cluster is that of RAY_ADDRESS, or of `ray start` on this
    machine, else a new one here; machines need the same Tarsus.
    """

    def __init__(self, workers: int | None, folder: Path) -> None:
        super().__init__(workers, folder)
        self._ray: Any = needed_library("ray", "the engine ray", "ray")
        self._ours = not self._ray.is_initialized()
        if self._ours:
            try:
                self._ray.init(address="auto", log_to_driver=False, logging_level="error")
            except ConnectionError:
                self._ray.init(num_cpus=workers, log_to_driver=False, logging_level="error")
        self._remote: dict[Callable[..., Any], Any] = {}

    @property
    def slots(self) -> int:
        here = int(self._ray.cluster_resources().get("CPU", 1))
        return min(self.workers or here, here)

    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        if function not in self._remote:
            self._remote[function] = self._ray.remote(num_cpus=1, max_retries=0)(function)
        inner = self._remote[function].remote(*given).future()
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()
        inner.add_done_callback(lambda done: self._told(done, outer))
        return outer

    def _told(self, done: Future[Any], outer: Future[Any]) -> None:
        """Ray's errors of workers and machines as `Lost`, a task's own error as it was."""
        own = self._ray.exceptions
        error = done.exception()
        if error is None:
            outer.set_result(done.result())
        elif isinstance(error, own.RayTaskError):
            outer.set_exception(getattr(error, "cause", None) or error)
        elif isinstance(error, own.RayError):
            outer.set_exception(Lost(str(error)))
        else:
            outer.set_exception(error)

    def close(self) -> None:
        if self._ours:
            self._ray.shutdown()
