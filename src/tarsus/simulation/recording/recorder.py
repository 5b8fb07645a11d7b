"""Run and record steps, chunk by chunk, until the end, a fault or Ctrl-C."""

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
CHUNK_SECONDS = 0.25  # simulated seconds between checks for faults and Ctrl-C


@dataclass(frozen=True)
class Interventions:
    """Actions between steps.

    Attributes
    ----------
    interval
        Number of steps between calls, counted from the first world's step 0; 0: any number.
    before
        Function that is called before these steps, such as a Python controller.
    recorded_registers
        Registers that it sets, which are recorded in every step.
    """

    interval: int = 0
    before: Callable[[], None] | None = None
    recorded_registers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recording:
    """How a run ended.

    Attributes
    ----------
    fault
        The first step that diverged, if any.
    wall
        Wall time of the steps in s, without waiting for code to compile.
    interrupted
        Whether Ctrl-C ended it.
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
    destination: tuple[list[Records], Callable[[int], None]],
    progress: Callable[[float], None] | None = None,
) -> Recording:
    """Run steps until the end, a fault of a single world, or Ctrl-C.

    Parameters
    ----------
    worlds
        The worlds.
    steps
        Number of steps.
    dt
        Time step, in s.
    fault_in
        Function that finds the first fault, given records and the number of steps before them.
    between
        Actions between steps.
    destination
        List to which records are appended chunk by chunk, with the state and report registers
        (steps, worlds, size) after every step; and a function that is called after each chunk
        without a fault, with the number of steps so far.
    progress
        Function that is called with the simulated time so far, in s.
    """
    # steps per chunk, and steps since the last call
    every, before, (chunks, after_chunk) = between.interval, between.before, destination
    chunk = every or max(1, min(CHUNK_BYTES // worlds.nbytes, int(CHUNK_SECONDS / dt)))
    late = round(float(worlds.first("steps")[0])) % every if every else 0
    done, fault, wall = 0, None, 0.0
    with catch_interrupt() as interrupted, WaitClock() as waited:
        while done < steps and (fault is None or worlds.count > 1) and not interrupted():
            began = perf_counter()
            if before and not late:
                before()
            chunks.append(worlds.record(min(chunk - late, steps - done)))
            for name in between.recorded_registers:
                one = worlds.get(name)
                chunks[-1][name] = np.broadcast_to(one, (len(chunks[-1]["q"]), *one.shape))
            late = 0
            wall += perf_counter() - began
            fault = fault or fault_in(chunks[-1], done)
            done += len(chunks[-1]["q"])
            if progress:
                progress(done * dt)
            if fault is None and done < steps:
                after_chunk(done)
        stopped = interrupted() and done < steps and (fault is None or worlds.count > 1)
    return Recording(fault, max(wall - waited.seconds, 0.0), stopped)


def concatenate(chunks: Sequence[Records]) -> Records:
    """Concatenate all chunks."""
    names = chunks[0] if chunks else ()
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names}
