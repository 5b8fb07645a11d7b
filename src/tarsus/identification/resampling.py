"""Bootstrap confidence interval of a mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LEVEL = 95  # confidence level, in %
ENDS = (100 - LEVEL) / 2, (100 + LEVEL) / 2  # percentiles


def mean_interval(values: Array, times: int, seed: int) -> tuple[float, float, float]:
    """Compute the mean of values, shape (n,), and its interval by resampling."""
    drawn = np.random.default_rng(seed).integers(0, len(values), (times, len(values)))
    low, high = np.percentile(values[drawn].mean(1), ENDS)
    return float(values.mean()), float(low), float(high)
