"""Model predictive path integral control: a mean of samples weighted by their costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tarsus.parameters import parameter
from tarsus.planning.methods.base import Array, Proposal, SamplingMethod, weighted_sum
from tarsus.references.learning import WILLIAMS_2017
from tarsus.references.reference import Citation

MIN_SCALE = 1e-9


@dataclass(frozen=True, kw_only=True)
class MPPI(SamplingMethod):
    """Weights exp(-(S - min S) / lambda) (Williams 2017, Algorithm 2), without the control cost.

    lambda is `temperature` times the difference between the median and the least cost, so it scales
    with the costs.
    """

    citation: ClassVar[Citation] = (WILLIAMS_2017.at("Algorithm 2"),)

    temperature: float = parameter(
        0.05, "[1]", "temperature of the weights; low: only the best samples count", "(0, inf)"
    )

    def round(self, proposal: Proposal, samples: Array, cost: Array) -> Proposal:
        least = cost.min()
        if not np.isfinite(least):
            return Proposal(proposal.mean, proposal.spread, 0.0)
        finite = np.where(np.isfinite(cost), cost, np.finfo(float).max)
        scale = self.temperature * max(float(np.median(finite)) - least, MIN_SCALE)
        weights = np.exp(-(finite - least) / scale)
        shares = weights / weights.sum()
        return Proposal(
            weighted_sum(shares, samples), proposal.spread, float(1 / (shares**2).sum())
        )
