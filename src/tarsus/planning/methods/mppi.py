"""Model predictive path integral control: the mean of samples, those that cost less weigh more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tarsus.parameters import parameter
from tarsus.planning.methods.base import Array, Proposal, SamplingMethod, blended
from tarsus.references.learning import WILLIAMS_2017
from tarsus.references.reference import Citation

TINY = 1e-9


@dataclass(frozen=True, kw_only=True)
class MPPI(SamplingMethod):
    """Weights exp(-(S - min S) / lambda) (Williams 2017, Algorithm 2), without its cost of noise.

    lambda is `temperature` times the distance of the median cost from the least: it goes with the
    costs' scale.
    """

    citation: ClassVar[Citation] = (WILLIAMS_2017.at("Algorithm 2"),)

    temperature: float = parameter(
        0.05, "[1]", "of the weights; 0 would follow the best sample alone", "(0, inf)"
    )

    def round(self, proposal: Proposal, tried: Array, cost: Array) -> Proposal:
        least = cost.min()
        if not np.isfinite(least):
            return Proposal(proposal.mean, proposal.spread, 0.0)
        finite = np.where(np.isfinite(cost), cost, np.finfo(float).max)
        scale = self.temperature * max(float(np.median(finite)) - least, TINY)
        weights = np.exp(-(finite - least) / scale)
        shares = weights / weights.sum()
        return Proposal(blended(shares, tried), proposal.spread, float(1 / (shares**2).sum()))
