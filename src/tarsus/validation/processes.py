"""Pieces of work done in this process, or in several beside it, with the same results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from time import perf_counter
from typing import Any, TypeVar

from tarsus.errors import UnmetCondition
from tarsus.processes import WorkerPool, usable_cores

T = TypeVar("T")
WORTH = 12  # pieces of work that are worth the start of a process, which takes a second or two
Telling = Callable[[str], None]


def each(
    function: Callable[..., T],
    work: Sequence[tuple[Any, ...]],
    workers: int | None,
    tell: Telling,
) -> list[T]:
    """function(*piece) of every piece of work, in order.

    workers: how many processes at once; None: as many as there are cores, but one for so much work
        at least that its start is worth it; with one it is done here. Each starts fresh and imports
        the function, so that a script calls this below `if __name__ == "__main__":`.
    tell: called with how many are done of how many, what is next or done, and the seconds left
    Raises what the function raises; TarsusError where a process ends, as for want of memory.
    """
    # how far it is
    count, began, done = len(work), perf_counter(), 0
    found: dict[int, T] = {}

    def told(piece: tuple[Any, ...]) -> None:
        left = f", {(count - done) * (perf_counter() - began) / done:.0f} s left" if done else ""
        tell(f"{done} of {count}{left}: {', '.join(map(str, piece))}")

    # here
    workers = min(usable_cores(), count // WORTH) if workers is None else min(workers, count)
    if workers <= 1:
        for number, piece in enumerate(work):
            told(piece)
            found[number] = function(*piece)
            done += 1
        return list(found.values())
    # beside
    # with the same modules, so that programs traced by one process are found by the others
    loaded = sorted(name for name in sys.modules if name.partition(".")[0] == "tarsus")
    try:
        with WorkerPool(workers, loaded) as pool:
            futures = {pool.submit(function, *piece): k for k, piece in enumerate(work)}
            tell(f"0 of {count}")
            for future in as_completed(futures):
                number = futures[future]
                found[number] = future.result()
                done += 1
                told(work[number])
    except BrokenProcessPool:
        raise UnmetCondition(
            f"a worker process was killed after {done} of {count}, perhaps because memory ran out;"
            " use fewer workers.",
            "workers",
        ) from None
    return [found[number] for number in range(count)]
