"""Base class of sampling methods, which improve a plan using the costs of samples around it.

To add a method, create a file here with one frozen dataclass that derives from `SamplingMethod`.
The name of the file is the name of the method (`tarsus plan --method`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.mirror import Mirror
from tarsus.parameters import check, choice, parameter
from tarsus.planning.strides import Strides
from tarsus.references.reference import Citation

Array = NDArray[np.float64]
PAIRS, ANY = ("ends", "sides", "diagonals"), "any"  # in the order of a proposal's symmetries
SYMMETRIC_SCALE = np.float32(np.sqrt(2))  # restores the deviation, which averaging reduces
Costs = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Proposal:
    """Distribution of plans.

    Attributes
    ----------
    mean
        Joint targets at the knots, shape (knots, n), in rad.
    spread
        Standard deviations, shape (knots, n), in rad.
    effective
        Effective number of samples, averaged over the rounds.
    symmetries
        Mirror images of the motors under which the legs of a pair move alike.
    strides
        Alternation of samples between the two sides; None: no alternation.
    """

    mean: Array
    spread: Array
    effective: float = 0.0
    symmetries: tuple[Mirror, ...] = ()
    strides: Strides | None = None


@dataclass(frozen=True, kw_only=True)
class SamplingMethod(ABC):
    """Settings of a sampling method; implementations are frozen dataclasses."""

    citation: ClassVar[Citation] = ""

    samples: int = parameter(512, "[1]", "rollouts per round", "[2, 1e6]")
    rounds: int = parameter(1, "[1]", "rounds of samples per plan", "[1, 1000]")
    noise: float = parameter(0.15, "rad", "initial standard deviation of the knots", "(0, inf)")
    paired_share: float = parameter(
        0.0, "[1]", "share of samples in which paired legs move alike", "[0, 1]"
    )
    pairs: str = choice(
        ANY,
        "paired legs",
        any="each of the other pairings in a third of these samples",
        ends="both front legs and both hind legs",
        sides="the legs of each side",
        diagonals="the legs of each diagonal",
    )

    def __post_init__(self) -> None:
        check(self)

    def improve(self, proposal: Proposal, costs: Costs, random: np.random.Generator) -> Proposal:
        """Improve a proposal over all rounds.

        The first sample of each round is the plan itself. Generators in equal states give equal
        results.

        Parameters
        ----------
        proposal
            Proposal to start from.
        costs
            Function from samples, shape (samples, knots, n), to costs, shape (samples,); infinite
            for samples that diverge.
        random
            Random number generator.
        """
        effective = []
        for _ in range(self.rounds):
            samples = proposal.mean + proposal.spread * self._draw(proposal, random)
            improved = self.round(proposal, samples, costs(samples))
            proposal = replace(improved, symmetries=proposal.symmetries, strides=proposal.strides)
            effective.append(proposal.effective)
        return replace(proposal, effective=float(np.mean(effective)))

    def _draw(self, proposal: Proposal, random: np.random.Generator) -> NDArray[np.float32]:
        """Draw standard normal samples, shape (samples, knots, n); the first is zero."""
        drawn = random.standard_normal((self.samples, *proposal.mean.shape), np.float32)
        # symmetric samples
        by_pair = dict(zip(PAIRS, proposal.symmetries, strict=False))
        chosen = [image for name, image in by_pair.items() if self.pairs in (ANY, name)]
        for k, image in enumerate(chosen):
            rows = slice(1 + k, 1 + round(self.paired_share * (self.samples - 1)), len(chosen))
            drawn[rows] = SYMMETRIC_SCALE * image.symmetrize(drawn[rows])
        if proposal.strides is not None:
            proposal.strides.alternate(drawn)
        drawn[0] = 0
        return drawn

    def initial_spread(self, spread: Array) -> Array:
        """Compute the initial spread of the next plan from that of the last, shape (knots, n)."""
        return spread

    @abstractmethod
    def round(self, proposal: Proposal, samples: Array, cost: Array) -> Proposal:
        """Compute the next proposal from the costs of samples.

        Parameters
        ----------
        proposal
            Proposal of the samples.
        samples
            Samples, shape (samples, knots, n).
        cost
            Cost of each sample, shape (samples,).
        """


def weighted_sum(weights: Array, samples: Array) -> Array:
    """Sum weighted samples in a fixed order; shape (knots, n)."""
    return (weights[:, None, None] * samples).sum(0)
