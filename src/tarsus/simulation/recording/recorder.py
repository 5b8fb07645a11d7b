"""Steps run and recorded, chunk by chunk, until the end, a fault or Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.program.run.backend import Backend
from tarsus.program.run.cold_functions import WaitClock
from tarsus.simulation.recording.divergence import Fault
from tarsus.simulation.recording.interrupt import catch_interrupt

Records = dict[str, NDArray[Any]]
CHUNK_BYTES = 32 << 20
CHUNK_SECONDS = 0.25  # simulated, between two looks at faults, Ctrl-C and the clock


@dataclass(frozen=True)
class Interventions:
    """What is done between steps.

    before: such as a Python controller; called every so many steps, counted from the first world's
        step 0; every = 0: the steps between two looks are as is handy
    held: registers that it sets, recorded as they were in every step
    """

    every: int = 0
    before: Callable[[], None] | None = None
    held: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recording:
    """How a run ended.

    fault: the first step that diverged, if any
    wall: time that the steps took, s, without that for which they waited for code of theirs
    interrupted: whether Ctrl-C ended it
    """

    fault: Fault | None
    wall: float
    interrupted: bool


def record(
    worlds: Backend,
    steps: int,
    dt: float,
    fault_in: Callable[[Records, int], Fault | None],
    between: Interventions,
    into: tuple[list[Records], Callable[[int], None]],
    progress: Callable[[float], None] | None = None,
) -> Recording:
    """Run `steps` steps of dt, s, or up to a fault of a single world, or up to Ctrl-C.

    fault_in: of records and the steps done before them, the first fault
    into: the records, state and report registers (steps, worlds, size) after every step, chunk by
        chunk; and a function that is told the steps done, as long as there is no fault
    progress: called with the seconds done
    """
    # how many steps at a time, and how far into an interval the first are
    every, before, (chunks, look) = between.every, between.before, into
    chunk = every or max(1, min(CHUNK_BYTES // worlds.nbytes, int(CHUNK_SECONDS / dt)))
    late = round(float(worlds.first("steps")[0])) % every if every else 0  # into an interval
    # chunk by chunk
    done, fault, wall = 0, None, 0.0
    with catch_interrupt() as interrupted, WaitClock() as waited:
        while done < steps and (fault is None or worlds.count > 1) and not interrupted():
            began = perf_counter()
            if before and not late:
                before()
            chunks.append(worlds.record(min(chunk - late, steps - done)))
            for name in between.held:
                one = worlds.get(name)
                chunks[-1][name] = np.broadcast_to(one, (len(chunks[-1]["q"]), *one.shape))
            late = 0
            wall += perf_counter() - began
            fault = fault or fault_in(chunks[-1], done)
            done += len(chunks[-1]["q"])
            if progress:
                progress(done * dt)
            if fault is None and done < steps:
                look(done)
        stopped = interrupted() and done < steps and (fault is None or worlds.count > 1)
    return Recording(fault, max(wall - waited.seconds, 0.0), stopped)


def concatenate(chunks: Sequence[Records]) -> Records:
    """All chunks in one."""
    names = chunks[0] if chunks else ()
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names}
