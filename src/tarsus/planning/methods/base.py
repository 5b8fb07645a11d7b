"""The base class of methods: from a plan and what samples around it cost to a better plan.

To add a method: one file here with one frozen dataclass that derives from `SamplingMethod`; the
file's name is the method's name (`tarsus plan --method`).
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
PAIRS, ANY = ("ends", "sides", "diagonals"), "any"  # in the order of a proposal's pairings
SQUARED = np.float32(np.sqrt(2))  # the mean of two draws has this much less deviation
Costs = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Proposal:
    """A plan, and how far to look around it.

    mean (knots, n): of the joints' targets, rad; spread (knots, n): standard deviations, rad
    effective: how many of the samples had a say, on average over the rounds
    pairings: images of the motors under which legs of a pair do the same
    strides: how samples stride; None: they do not
    """

    mean: Array
    spread: Array
    effective: float = 0.0
    pairings: tuple[Mirror, ...] = ()
    strides: Strides | None = None


@dataclass(frozen=True, kw_only=True)
class SamplingMethod(ABC):
    """The settings of a method; implementations are frozen dataclasses."""

    citation: ClassVar[Citation] = ""

    samples: int = parameter(512, "[1]", "rollouts of a round, side by side", "[2, 1e6]")
    rounds: int = parameter(1, "[1]", "of samples for a plan", "[1, 1000]")
    noise: float = parameter(0.15, "rad", "deviation of the knots at first", "(0, inf)")
    paired: float = parameter(
        0.0, "[1]", "share of samples in which the legs of a pair do the same", "[0, 1]"
    )
    pairs: str = choice(
        ANY,
        "which legs these are",
        any="a third of such samples each of the others",
        ends="both front legs, both hind legs",
        sides="the legs of a side",
        diagonals="those of a diagonal",
    )

    def __post_init__(self) -> None:
        check(self)

    def improved(self, proposal: Proposal, costs: Costs, random: np.random.Generator) -> Proposal:
        """After all rounds; costs: of samples (samples, knots, n), infinite where one diverged.

        The first sample of a round is the plan itself. The same generator draws the same bits.
        """
        told = []
        for _ in range(self.rounds):
            tried = proposal.mean + proposal.spread * self._drawn(proposal, random)
            found = self.round(proposal, tried, costs(tried))
            proposal = replace(found, pairings=proposal.pairings, strides=proposal.strides)
            told.append(proposal.effective)
        return replace(proposal, effective=float(np.mean(told)))

    def _drawn(self, proposal: Proposal, random: np.random.Generator) -> NDArray[np.float32]:
        """Samples (samples, knots, n) of deviation one at most, the first of zero."""
        drawn = random.standard_normal((self.samples, *proposal.mean.shape), np.float32)
        # legs of pairs
        named = dict(zip(PAIRS, proposal.pairings, strict=False))
        chosen = [image for name, image in named.items() if self.pairs in (ANY, name)]
        for k, image in enumerate(chosen):
            own = slice(1 + k, 1 + round(self.paired * (self.samples - 1)), len(chosen))
            drawn[own] = SQUARED * image.even(drawn[own])
        if proposal.strides is not None:
            proposal.strides.alternate(drawn)
        drawn[0] = 0
        return drawn

    def renewed(self, spread: Array) -> Array:
        """The spread (knots, n) that another plan begins with, from that which the last ended
        with.
        """
        return spread

    @abstractmethod
    def round(self, proposal: Proposal, tried: Array, cost: Array) -> Proposal:
        """From samples (samples, knots, n) and what they cost (samples,) to the next proposal."""


def blended(shares: Array, tried: Array) -> Array:
    """The weighted sum (knots, n) of samples, added in a fixed order."""
    return (shares[:, None, None] * tried).sum(0)
