"""Task of a worker: simulate a chunk, and write its files or return them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from tarsus.sweeps.chunk import ChunkFiles, simulate_chunk
from tarsus.sweeps.groups import Chunk
from tarsus.sweeps.store import MB, Store


@dataclass(frozen=True)
class TaskResult:
    """Result of a task.

    Attributes
    ----------
    digest
        Digest of the chunk.
    files
        Files of the chunk; None if the worker wrote them.
    seconds
        Time of the task in s.
    trajectories, megabytes
        Number of saved trajectories, and their size.
    """

    digest: str
    files: ChunkFiles | None
    seconds: float
    trajectories: int
    megabytes: float


def run_task(chunk: Chunk, digest: str, versions: str, folder: str, token: str) -> TaskResult:
    """Simulate a chunk; write its files if the worker shares the sweep's folder, else return them.

    Parameters
    ----------
    chunk, digest, versions
        As for `simulate_chunk`.
    folder
        Folder of the sweep.
    token
        Name of a file in the folder. The worker shares the folder if it finds this file.
    """
    start = perf_counter()
    files: ChunkFiles | None = simulate_chunk(chunk, digest, versions)
    count = len(files.trajectories)
    size = sum(map(len, files.trajectories.values())) / MB
    path = Path(folder)
    if token and os.path.exists(path / token):
        Store(path).write(digest, files.rows, files.trajectories)
        files = None
    return TaskResult(digest, files, perf_counter() - start, count, size)
