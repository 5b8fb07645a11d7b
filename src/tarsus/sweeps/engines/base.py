"""Interface of the engines that run tasks, modeled on `concurrent.futures`.

To add an engine, add a file to `sweeps/engines/` with one class that derives from `WorkEngine`; the
file's name is the engine's name. Results do not depend on the engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any


class WorkerLost(Exception):
    """Raised if a worker died while it ran a task; the task may be submitted again."""


class WorkEngine(ABC):
    """Base class of engines that run functions in workers; a context manager that stops them.

    Parameters
    ----------
    workers
        Number of parallel workers; None for all that are available.
    folder
        Folder of the sweep.
    """

    def __init__(self, workers: int | None, folder: Path) -> None:
        self.workers, self.folder = workers, folder

    @abstractmethod
    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a function; return its future, whose exception is WorkerLost if a worker died."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """Number of tasks that run at once."""

    def warm_up(self) -> list[Future[Any]]:
        """Start workers before there are tasks, if this takes long.

        Returns futures that are done when the workers have started; by default, none.
        """
        return []

    def close(self) -> None:
        """Stop the workers; tasks that have not started are dropped."""
        return

    def __enter__(self) -> WorkEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
