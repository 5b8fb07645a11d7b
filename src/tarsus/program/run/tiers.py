"""Decide how code is compiled: the hot path well and ahead, the cold path on first need.

The hot path is what every step runs. It is optimized before the first step. The cold path is what
few steps run: falls, joint stops, new episodes. Each of its functions is compiled when a world
first needs it (`run.cold_functions`): quickly for one world, which has to wait for it, and
optimized for a batch, which runs it often. Derivatives of a step are compiled on first need too.
Both ways give the same bits (decision 0022).
"""

from __future__ import annotations

import os

from tarsus.errors import InvalidValue

OPTIMIZE = "TARSUS_OPTIMIZE"
SMALL = 1_000  # operations of a cold function that is optimized in a tenth of a second


def optimizes() -> bool:
    """Return whether code is optimized: yes, unless TARSUS_OPTIMIZE=0.

    Without optimization a program compiles in half the time and runs at a third to half of its
    speed.

    Raises
    ------
    InvalidValue
        If the variable has any other value than 0 or 1.
    """
    value = os.environ.get(OPTIMIZE, "1")
    if value not in ("0", "1"):
        raise InvalidValue(f"{OPTIMIZE} must be 0 or 1, not {value!r}.", OPTIMIZE)
    return value == "1"


def optimizes_cold(lanes: int, operations: int) -> bool:
    """Return whether a cold function is optimized.

    TARSUS_OPTIMIZE decides if it is set; else functions of a batch are, and small ones.
    """
    if OPTIMIZE in os.environ:
        return optimizes()
    return lanes > 1 or operations < SMALL


def optimize_everything() -> None:
    """Optimize cold code too, in this process and those it starts: for speed measurements."""
    os.environ.setdefault(OPTIMIZE, "1")
