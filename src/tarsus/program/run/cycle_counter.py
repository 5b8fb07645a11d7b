"""How long a cycle of the counter is that time stamps read: measured against the system's clock."""

from __future__ import annotations

from statistics import median
from time import perf_counter

import numpy as np
from casadi import SX

from tarsus.program.ir.program import CYCLES
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds

SWEEPS, ROUNDS = 100_000, 9  # milliseconds a round, beside which a call's microsecond is nothing


def seconds_per_cycle() -> float:
    """Seconds between two ticks of the counter; constant where it does not follow the clock.

    x86 since about 2008 (invariant TSC) and Arm are such; where it follows the clock, it is that of
    just now.
    """
    b = Builder("counter", timed=True)
    x = b.declare("x", 1)
    last = b.loop(
        {"x": x, "k": SX(0)}, lambda v: ({"x": 0.5 * v["x"] + 1, "k": v["k"] + 1}, SX(1)), SWEEPS
    )
    worlds = Worlds(b.program(x=last["x"]), 1, lanes=1)
    found = []
    for _ in range(ROUNDS):
        began = perf_counter()
        worlds.advance()
        found.append((perf_counter() - began) / float(np.sum(worlds.get(CYCLES))))
    return median(found)
