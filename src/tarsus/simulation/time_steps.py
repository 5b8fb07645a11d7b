"""Check time steps, and count the steps of a duration."""

from __future__ import annotations

import warnings
from math import ceil

from tarsus.errors import InvalidValue, TarsusWarning
from tarsus.parameters.checks import check_positive

MAX_STEPS = 1e9  # per call
DEFAULT_DT = 0.0025  # s
MAX_ROUNDING = 0.1  # relative difference without a warning
MAX_DT = 0.1  # s; a robot falls by its height in three such steps


def step_count(seconds: float, dt: float) -> int:
    """Count the steps of dt closest to a duration, at least one.

    Warns if they take a noticeably different time.

    Raises
    ------
    InvalidValue
        If there are too many steps.
    """
    if check_positive("the duration", seconds, "seconds", "seconds") / dt > MAX_STEPS:
        raise InvalidValue(
            f"a duration of {seconds:g} s takes {seconds / dt:.3g} steps of {dt:g} s; one run is"
            f" limited to {MAX_STEPS:g} steps.",
            "seconds",
        )
    count = max(round(seconds / dt), 1)
    if abs(count * dt - seconds) > MAX_ROUNDING * seconds:
        text = (
            f"{seconds:g} s is not a whole number of steps of {dt:g} s, so {count * dt:g} s are"
            f" simulated; dt={seconds / ceil(seconds / dt):.4g} fits."
        )
        warnings.warn(TarsusWarning(text, "duration-rounded", "seconds"), stacklevel=3)
    return count


def check_time_step(dt: float) -> float:
    """Check a time step in s; raise InvalidValue unless it is positive and short enough."""
    if check_positive("dt", dt, "seconds") > MAX_DT:
        meant = f"; did you mean {dt / 1000:g}?" if dt / 1000 <= MAX_DT else "."
        raise InvalidValue(f"dt must be at most {MAX_DT:g} s, not {dt:g} s{meant}", "dt")
    return float(dt)
