"""The cross-entropy method: mean and spread of the best samples, round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tarsus.parameters import parameter
from tarsus.planning.methods.base import Array, Proposal, SamplingMethod, blended
from tarsus.references.learning import RUBINSTEIN_1999
from tarsus.references.reference import Citation


@dataclass(frozen=True, kw_only=True)
class CEM(SamplingMethod):
    """Mean and spread of the best share of the samples (Rubinstein 1999), each moved part of the
    way; spreads stay above a least one, so that it can always change its mind.
    """

    citation: ClassVar[Citation] = (RUBINSTEIN_1999.at(),)

    samples: int = parameter(256, "[1]", "rollouts of a round, side by side", "[2, 1e6]")
    rounds: int = parameter(2, "[1]", "of samples for a plan", "[1, 1000]")
    elite: float = parameter(0.06, "[1]", "share of the samples that are followed", "(0, 1]")
    learning: float = parameter(0.7, "[1]", "part of the way that a round moves", "(0, 1]")
    least: float = parameter(0.05, "rad", "deviation of the knots at least", "(0, inf)")
    regained: float = parameter(
        0.3, "[1]", "part of the first deviation's distance that comes back for each plan", "[0, 1]"
    )

    def round(self, proposal: Proposal, tried: Array, cost: Array) -> Proposal:
        best = np.argsort(cost, kind="stable")[: max(2, round(self.elite * len(cost)))]
        best = best[np.isfinite(cost[best])]
        if not len(best):
            return Proposal(proposal.mean, proposal.spread, 0.0)
        even, chosen = np.full(len(best), 1 / len(best)), tried[best]
        mean = blended(even, chosen)
        spread = np.sqrt(blended(even, (chosen - mean) ** 2))
        part = self.learning
        mean = (1 - part) * proposal.mean + part * mean
        wide = np.maximum((1 - part) * proposal.spread + part * spread, self.least)
        return Proposal(mean, np.where(proposal.spread > 0, wide, 0), float(len(best)))

    def renewed(self, spread: Array) -> Array:
        return spread + self.regained * (np.maximum(self.noise, spread) - spread)
