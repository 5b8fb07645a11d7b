"""Slurm, through submitit: one job per task."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tarsus.model.files import import_library
from tarsus.sweeps.engines.base import WorkEngine, WorkerLost

POLL_INTERVAL = 0.2  # s
CLUSTER_VARIABLE = "TARSUS_SLURM"  # "local" runs submitit's local jobs instead of Slurm's
JOB_MINUTES = 60  # time limit of a job
DEFAULT_WORKERS = 100


class SlurmEngine(WorkEngine):
    """Engine that runs each task as a job on one core; scripts and logs are in `jobs`."""

    def __init__(self, workers: int | None, folder: Path) -> None:
        super().__init__(workers, folder)
        submitit: Any = import_library("submitit", "the engine slurm", "slurm")
        self._executor = submitit.AutoExecutor(
            folder=folder / "jobs", cluster=os.environ.get(CLUSTER_VARIABLE) or None
        )
        self._executor.update_parameters(timeout_min=JOB_MINUTES, cpus_per_task=1)
        self._jobs: list[tuple[Any, Future[Any]]] = []
        self._lock, self._open = threading.Lock(), True
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def slots(self) -> int:
        return self.workers or DEFAULT_WORKERS

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        job = self._executor.submit(function, *arguments)
        with self._lock:
            self._jobs.append((job, future))
        return future

    def _watch(self) -> None:
        """Complete the futures of jobs that are done."""
        while self._open:
            with self._lock:
                jobs = list(self._jobs)
            for job, future in jobs:
                if job.done():
                    self._complete(job, future)
                    with self._lock:
                        self._jobs.remove((job, future))
            time.sleep(POLL_INTERVAL)

    def _complete(self, job: Any, future: Future[Any]) -> None:
        try:
            error = job.exception()
            if error is None:
                future.set_result(job.result())
            else:
                future.set_exception(WorkerLost(str(error)))
        except Exception as error:
            future.set_exception(WorkerLost(str(error)))

    def close(self) -> None:
        self._open = False
        self._watcher.join()
        for job, _ in self._jobs:
            job.cancel()
