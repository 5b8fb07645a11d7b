"""Measure the period of the cycle counter that time stamps read, against the system clock."""

from __future__ import annotations

from statistics import median
from time import perf_counter

import numpy as np
from casadi import SX

from tarsus.program.ir.program import CYCLES
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds

ITERATIONS, REPETITIONS = 100_000, 9  # milliseconds each, much longer than a call


def seconds_per_cycle() -> float:
    """Measure the seconds between two ticks of the counter.

    It is constant on x86 since about 2008 (invariant TSC) and on Arm. On other processors the
    counter follows the clock frequency, and the value is that of the moment.
    """
    b = Builder("counter", timed=True)
    x = b.declare("x", 1)
    last = b.loop(
        {"x": x, "k": SX(0)},
        lambda v: ({"x": 0.5 * v["x"] + 1, "k": v["k"] + 1}, SX(1)),
        ITERATIONS,
    )
    worlds = Worlds(b.program(x=last["x"]), 1, lanes=1)
    periods = []
    for _ in range(REPETITIONS):
        began = perf_counter()
        worlds.advance()
        periods.append((perf_counter() - began) / float(np.sum(worlds.get(CYCLES))))
    return median(periods)
