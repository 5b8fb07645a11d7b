"""Timing and statistics of plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PlanStatistics:
    """Statistics of one plan.

    Attributes
    ----------
    t
        Simulated time at which the plan was requested, in s.
    latency
        Wall-clock time of planning, in s.
    processor
        Processor time of all threads, in s.
    cost
        Cost of the best sample.
    effective
        Effective number of samples.
    unconverged
        Fraction of the rollouts' steps whose contact problem did not converge.
    diverged
        Fraction of rollouts that diverged.
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
    """Timing of all plans, in s, with their deadline.

    Attributes
    ----------
    plans
        Number of plans.
    median, quantile_95, worst
        Median, 95 % quantile and maximum of the wall-clock time.
    processor
        Median processor time of all threads.
    deadline
        Time that a plan may take.
    missed
        Number of plans that missed the deadline.
    unconverged, diverged
        Fractions over all plans.
    """

    plans: int
    median: float
    quantile_95: float
    worst: float
    processor: float
    deadline: float
    missed: int
    unconverged: float
    diverged: float


def latency(plans: Sequence[PlanStatistics], deadline: float) -> Latency:
    """Compute the timing of all plans; NaN without plans."""
    if not plans:
        return Latency(0, np.nan, np.nan, np.nan, np.nan, deadline, 0, 0.0, 0.0)
    times = np.array([plan.latency for plan in plans])
    median, quantile_95, worst = np.quantile(times, [0.5, 0.95, 1.0]).tolist()
    return Latency(
        *(len(times), median, quantile_95, worst),
        processor=float(np.median([plan.processor for plan in plans])),
        deadline=deadline,
        missed=int((times > deadline).sum()),
        unconverged=float(np.mean([plan.unconverged for plan in plans])),
        diverged=float(np.mean([plan.diverged for plan in plans])),
    )
