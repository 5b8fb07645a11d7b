"""Confidence intervals in closed form."""

from __future__ import annotations

import math

Z95 = 1.959963984540054  # of the normal distribution, for an interval of 95 %


def wilson(ones: int, of: int) -> tuple[float, float]:
    """Compute the 95 % confidence interval of a proportion (Wilson 1927)."""
    share, z2 = ones / of, Z95**2
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = Z95 / (1 + z2 / of) * math.sqrt(share * (1 - share) / of + z2 / (4 * of**2))
    low = 0.0 if ones == 0 else middle - half
    high = 1.0 if ones == of else middle + half
    return low, high
