"""Step size of a recorded run, from times that may be rounded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue

Array = NDArray[np.float64]
STEP_TOLERANCE = 1e-6  # relative difference that two steps may have in length
ROUNDED_STEP_TOLERANCE = 0.1  # the same, if the times are rounded that coarsely
MULTIPLE_TOLERANCE = 1e-4  # steps: allowed distance of the rows from whole steps
DECIMALS = range(1, 10)
MIN_STEP = 1e-9  # s


def row_spacing(time: Array) -> float:
    """Compute the time between two rows in s; raise InvalidValue unless they are evenly spaced.

    Times may be rounded to float32 or to a number of decimals.
    """
    steps = np.diff(time)
    if not len(steps):
        raise InvalidValue("time must have at least two rows; row 0 is the start.", "time")
    if steps.min() <= 0:
        row = 1 + int(np.argmax(steps <= 0))
        raise InvalidValue(
            f"time must increase; row {row} is not later than row {row - 1}.", "time"
        )
    dt = float(time[-1] - time[0]) / len(steps)
    if dt < MIN_STEP:
        raise InvalidValue(f"time must be in seconds; steps of {dt:g} s are too short.", "time")
    median = float(np.median(steps))
    tolerance = max(STEP_TOLERANCE * dt, min(ROUNDED_STEP_TOLERANCE * dt, 2 * resolution(time)))
    uneven = np.abs(steps - median) > tolerance
    if uneven.any():
        row = 1 + int(np.argmax(uneven))
        raise InvalidValue(
            f"time must be evenly spaced; row {row} follows row {row - 1} after"
            f" {steps[row - 1]:g} s, but most rows are {median:g} s apart. Give every step, or"
            " every second, third, ... step.",
            "time",
        )
    return dt


def resolution(time: Array) -> float:
    """Estimate the resolution of times in s, from float32 or from their number of decimals."""
    if (time.astype(np.float32) == time).all():
        return float(np.spacing(np.float32(np.abs(time).max())))
    for decimals in DECIMALS:
        if np.abs(time - np.round(time, decimals)).max() < 1e-4 * 10.0**-decimals:
            return 10.0**-decimals
    return 0.0


def steps_between(spacing: float, timestep: float) -> int:
    """Count the time steps between two rows; 0 if the spacing is not a multiple of the step."""
    count = round(spacing / timestep)
    return count if abs(spacing / timestep - count) < MULTIPLE_TOLERANCE * max(count, 1) else 0
