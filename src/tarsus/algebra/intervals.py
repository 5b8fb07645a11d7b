"""Confidence intervals in closed form."""

from __future__ import annotations

import math

Z95 = 1.959963984540054  # of the normal distribution, for an interval of 95 %


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Compute the 95 % confidence interval of a proportion (Wilson 1927)."""
    share, z2 = successes / trials, Z95**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z95 / (1 + z2 / trials) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == trials else middle + half
    return low, high
