"""What a worker does with a chunk: its rows into the folder if it sees it, else back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from tarsus.sweeps.chunk import rows
from tarsus.sweeps.groups import Chunk
from tarsus.sweeps.store import Store


@dataclass(frozen=True)
class Done:
    """A chunk that was worked on.

    rows: None where the worker wrote them itself
    seconds: that it took
    """

    digest: str
    rows: bytes | None
    seconds: float


def work(chunk: Chunk, digest: str, folder: str, token: str) -> Done:
    """Simulate a chunk and deliver it.

    token: the name of a file in the folder, by which a worker knows that the folder it sees is the
        sweep's, shared with who asked
    """
    began = perf_counter()
    found = rows(chunk, digest)
    place = Path(folder)
    if token and os.path.exists(place / token):
        Store(place).put(digest, found)
        return Done(digest, None, perf_counter() - began)
    return Done(digest, found, perf_counter() - began)
