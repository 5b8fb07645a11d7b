"""Which outcomes are shares: 0 or 1 in every world."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus import registry
from tarsus.sweeps.outcomes.base import SweepOutcome

OUTCOMES = "tarsus.sweeps.outcomes"


def unit_of(outcome: str) -> str:
    """Return the unit of an outcome, "1" of one's own."""
    if outcome not in registry.names(OUTCOMES):
        return "1"
    kind: Any = registry.member_class(OUTCOMES, "outcome", outcome, SweepOutcome)
    return kind.unit


def is_share(outcome: str, values: Any) -> bool:
    """Return whether an outcome without a unit is 0 or 1 in every world."""
    if unit_of(outcome) != "1":
        return False
    given = np.asarray(values, float)
    given = given[np.isfinite(given)]
    return bool(len(given)) and bool(np.isin(given, (0.0, 1.0)).all())
