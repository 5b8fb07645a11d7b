"""What a worker does with a chunk: what it leaves into the folder if it sees it, else back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from tarsus.sweeps.chunk import ChunkFiles, made
from tarsus.sweeps.groups import Chunk
from tarsus.sweeps.store import MB, Store


@dataclass(frozen=True)
class Done:
    """A chunk that was worked on.

    files: None where the worker wrote them itself
    seconds: that it took
    trajectories, megabytes: how many were kept, and how large they are
    """

    digest: str
    files: ChunkFiles | None
    seconds: float
    trajectories: int
    megabytes: float


def work(chunk: Chunk, digest: str, versions: str, folder: str, token: str) -> Done:
    """Simulate a chunk and deliver it.

    token: the name of a file in the folder, by which a worker knows that the folder it sees is the
        sweep's, shared with who asked
    """
    began = perf_counter()
    found: ChunkFiles | None = made(chunk, digest, versions)
    count = len(found.trajectories)
    size = sum(map(len, found.trajectories.values())) / MB
    place = Path(folder)
    if token and os.path.exists(place / token):
        Store(place).put(digest, found.rows, found.trajectories)
        found = None
    return Done(digest, found, perf_counter() - began, count, size)
