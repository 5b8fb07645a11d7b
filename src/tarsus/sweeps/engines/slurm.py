"""Slurm by submitit: one job a task."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tarsus.model.files import needed_library
from tarsus.sweeps.engines.base import Lost, WorkEngine

LOOK = 0.2  # s between two looks at the jobs
KIND = "TARSUS_SLURM"  # "local" runs submitit's own local jobs; else Slurm where there is one
MINUTES = 60  # that a job may take
AT_ONCE = 100


class Slurm(WorkEngine):
    """Jobs of one processor each; their scripts and logs are in the folder's `jobs`."""

    def __init__(self, workers: int | None, folder: Path) -> None:
        super().__init__(workers, folder)
        submitit: Any = needed_library("submitit", "the engine slurm", "slurm")
        self._executor = submitit.AutoExecutor(
            folder=folder / "jobs", cluster=os.environ.get(KIND) or None
        )
        self._executor.update_parameters(timeout_min=MINUTES, cpus_per_task=1)
        self._jobs: list[tuple[Any, Future[Any]]] = []
        self._lock, self._open = threading.Lock(), True
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def slots(self) -> int:
        return self.workers or AT_ONCE

    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        job = self._executor.submit(function, *given)
        with self._lock:
            self._jobs.append((job, future))
        return future

    def _watch(self) -> None:
        """Tell futures of jobs that are done."""
        while self._open:
            with self._lock:
                jobs = list(self._jobs)
            for job, future in jobs:
                if job.done():
                    self._tell(job, future)
                    with self._lock:
                        self._jobs.remove((job, future))
            time.sleep(LOOK)

    def _tell(self, job: Any, future: Future[Any]) -> None:
        try:
            failed = job.exception()
            if failed is None:
                future.set_result(job.result())
            else:
                future.set_exception(Lost(str(failed)))
        except Exception as error:
            future.set_exception(Lost(str(error)))

    def close(self) -> None:
        self._open = False
        self._watcher.join()
        for job, _ in self._jobs:
            job.cancel()
