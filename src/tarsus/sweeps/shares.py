"""Shares of a 0/1 outcome and their binomial intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tarsus import registry
from tarsus.sweeps.outcomes.base import SweepOutcome

OUTCOMES = "tarsus.sweeps.outcomes"
Z95 = 1.959963984540054  # of the normal distribution, for an interval of 95 %


def unit_of(outcome: str) -> str:
    """Return the unit of an outcome, "1" of one's own."""
    if outcome not in registry.names(OUTCOMES):
        return "1"
    kind: Any = registry.member(OUTCOMES, "outcome", outcome, SweepOutcome)
    return kind.unit


def is_share(outcome: str, values: Any) -> bool:
    """Return whether an outcome without a unit is 0 or 1 in every world."""
    if unit_of(outcome) != "1":
        return False
    given = np.asarray(values, float)
    given = given[np.isfinite(given)]
    return bool(len(given)) and bool(np.isin(given, (0.0, 1.0)).all())


def wilson(ones: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927)."""
    share, z2 = ones / of, Z95**2
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = Z95 / (1 + z2 / of) * math.sqrt(share * (1 - share) / of + z2 / (4 * of**2))
    low = 0.0 if ones == 0 else middle - half
    high = 1.0 if ones == of else middle + half
    return low, high
