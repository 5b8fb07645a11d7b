"""How far a mean may be off: means of values that are drawn again from the same ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LEVEL = 95  # % of an interval
ENDS = (100 - LEVEL) / 2, (100 + LEVEL) / 2  # percentiles


def mean_interval(values: Array, times: int, seed: int) -> tuple[float, float, float]:
    """The mean of the values (n,), and the interval of the means of `times` resamplings."""
    drawn = np.random.default_rng(seed).integers(0, len(values), (times, len(values)))
    low, high = np.percentile(values[drawn].mean(1), ENDS)
    return float(values.mean()), float(low), float(high)
