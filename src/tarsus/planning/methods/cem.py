"""Cross-entropy method: mean and spread of the best samples, round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tarsus.parameters import parameter
from tarsus.planning.methods.base import Array, Proposal, SamplingMethod, weighted_sum
from tarsus.references.learning import RUBINSTEIN_1999
from tarsus.references.reference import Citation


@dataclass(frozen=True, kw_only=True)
class CEM(SamplingMethod):
    """Cross-entropy method (Rubinstein 1999) with smoothing and a minimum spread.

    Mean and spread move part of the way to those of the best samples. The minimum spread keeps the
    plan adaptable.
    """

    citation: ClassVar[Citation] = (RUBINSTEIN_1999.at(),)

    samples: int = parameter(256, "[1]", "rollouts per round", "[2, 1e6]")
    rounds: int = parameter(2, "[1]", "rounds of samples per plan", "[1, 1000]")
    elite_fraction: float = parameter(0.06, "[1]", "share of the best samples", "(0, 1]")
    learning_rate: float = parameter(
        0.7, "[1]", "smoothing factor of mean and spread; 1: no smoothing", "(0, 1]"
    )
    min_spread: float = parameter(
        0.05, "rad", "minimum standard deviation of the knots", "(0, inf)"
    )
    spread_recovery: float = parameter(
        0.3, "[1]", "recovery of the initial deviation between plans; 1: full", "[0, 1]"
    )

    def round(self, proposal: Proposal, samples: Array, cost: Array) -> Proposal:
        best = np.argsort(cost, kind="stable")[: max(2, round(self.elite_fraction * len(cost)))]
        best = best[np.isfinite(cost[best])]
        if not len(best):
            return Proposal(proposal.mean, proposal.spread, 0.0)
        equal, chosen = np.full(len(best), 1 / len(best)), samples[best]
        mean = weighted_sum(equal, chosen)
        spread = np.sqrt(weighted_sum(equal, (chosen - mean) ** 2))
        rate = self.learning_rate
        mean = (1 - rate) * proposal.mean + rate * mean
        spread = np.maximum((1 - rate) * proposal.spread + rate * spread, self.min_spread)
        return Proposal(mean, np.where(proposal.spread > 0, spread, 0), float(len(best)))

    def initial_spread(self, spread: Array) -> Array:
        return spread + self.spread_recovery * (np.maximum(self.noise, spread) - spread)
