"""The step of a recorded run, from times that may be rounded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue

Array = NDArray[np.float64]
EVEN = 1e-6  # of the step: how much two steps may differ
ROUNDED = 0.1  # of the step: the same, where the times are rounded that coarsely
WHOLE = 1e-4  # of a step: how far the rows may be from whole steps
DECIMALS = range(1, 10)
SHORTEST = 1e-9  # s


def step_of(time: Array) -> float:
    """Return the time between two rows, s; InvalidValue if the rows are not evenly spaced.

    Times may be off by as much as float32, or the decimals of a text, round them.
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
    if dt < SHORTEST:
        raise InvalidValue(f"time must be in seconds; steps of {dt:g} s are too short.", "time")
    usual = float(np.median(steps))
    uneven = np.abs(steps - usual) > max(EVEN * dt, min(ROUNDED * dt, 2 * resolution(time)))
    if uneven.any():
        row = 1 + int(np.argmax(uneven))
        raise InvalidValue(
            f"time must be evenly spaced; row {row} comes {steps[row - 1]:g} s after row {row - 1},"
            f" most others {usual:g} s. Give every step, or every second, third, ...",
            "time",
        )
    return dt


def resolution(time: Array) -> float:
    """Return to how many seconds these times are rounded, by float32 or by their decimals."""
    if (time.astype(np.float32) == time).all():
        return float(np.spacing(np.float32(np.abs(time).max())))
    for decimals in DECIMALS:
        if np.abs(time - np.round(time, decimals)).max() < 1e-4 * 10.0**-decimals:
            return 10.0**-decimals
    return 0.0


def steps_between(spacing: float, timestep: float) -> int:
    """Return how many whole time steps lie between two rows; 0 if it is no whole number."""
    count = round(spacing / timestep)
    return count if abs(spacing / timestep - count) < WHOLE * max(count, 1) else 0
