"""How long plans took, and what else is told of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Planned:
    """One plan.

    t: when it was asked for, s; latency: of the clock on the wall, s; processor: all threads', s
    cost: of the best sample; effective: how many samples had a say
    unconverged: the share of the rollouts' steps whose contact problem was not solved
    diverged: the share of the rollouts that left the physical range
    """

    t: float
    latency: float
    processor: float
    cost: float
    effective: float
    unconverged: float
    diverged: float


@dataclass(frozen=True)
class Latency:
    """Of plans, s, with the deadline and how many missed it.

    processor: the median of all threads' time; unconverged, diverged: shares, all plans together
    """

    plans: int
    median: float
    most_of_95: float
    worst: float
    processor: float
    deadline: float
    missed: int
    unconverged: float
    diverged: float


def latency(plans: Sequence[Planned], deadline: float) -> Latency:
    """Of all plans; NaN where there is none."""
    if not plans:
        return Latency(0, np.nan, np.nan, np.nan, np.nan, deadline, 0, 0.0, 0.0)
    took = np.array([plan.latency for plan in plans])
    median, most, worst = np.quantile(took, [0.5, 0.95, 1.0]).tolist()
    return Latency(
        *(len(took), median, most, worst),
        processor=float(np.median([plan.processor for plan in plans])),
        deadline=deadline,
        missed=int((took > deadline).sum()),
        unconverged=float(np.mean([plan.unconverged for plan in plans])),
        diverged=float(np.mean([plan.diverged for plan in plans])),
    )
