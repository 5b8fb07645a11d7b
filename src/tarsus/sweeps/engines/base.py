"""The engine interface: the door of `concurrent.futures`.

To add an engine: one file in `sweeps/engines/`, its name the engine's; in it one class that derives
from `WorkEngine`. The results do not depend on it: a chunk's bytes depend on the chunk alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any


class Lost(Exception):
    """A worker died under a task, which may be given to another."""


class WorkEngine(ABC):
    """Runs functions elsewhere; a context, at whose end the workers are let go.

    workers: how many at once, None: as many as there are
    folder: of the sweep
    """

    def __init__(self, workers: int | None, folder: Path) -> None:
        self.workers, self.folder = workers, folder

    @abstractmethod
    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        """Its result, later; `Lost` if the worker died."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many tasks are worked on at once."""

    def warm(self) -> list[Future[Any]]:
        """Start workers before there are tasks, where that takes long; when they have started. By
        default not.
        """
        return []

    def close(self) -> None:
        """Let the workers go; tasks not begun are dropped."""
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
