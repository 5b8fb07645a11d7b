"""Outcomes that are proportions: 0 or 1 in every world."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus import registry
from tarsus.sweeps.outcomes.base import SweepOutcome

OUTCOMES = "tarsus.sweeps.outcomes"


def outcome_unit(outcome: str) -> str:
    """Find the unit of an outcome; "1" for a user's own outcome."""
    if outcome not in registry.names(OUTCOMES):
        return "1"
    kind: Any = registry.member_class(OUTCOMES, "outcome", outcome, SweepOutcome)
    return kind.unit


def is_proportion(outcome: str, values: Any) -> bool:
    """Return whether a dimensionless outcome is 0 or 1 in every world."""
    if outcome_unit(outcome) != "1":
        return False
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    return bool(len(finite)) and bool(np.isin(finite, (0.0, 1.0)).all())
