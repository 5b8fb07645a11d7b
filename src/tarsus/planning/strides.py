"""Samples that stride: each side does what the other did half a stride before.

So walk, amble, pace and trot all move; which of them, and when a foot lifts, is not said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.mirror import Mirror
from tarsus.errors import InvalidValue

Array = NDArray[np.float64]
NEARLY = 1e-6  # of the distance between two knots: round-off


@dataclass(frozen=True, eq=False)
class Strides:
    """How samples and the ends of plans stride.

    image: of the motors, left for right; half: knots of half a stride; share: of the samples
    """

    image: Mirror
    half: int
    share: float

    def alternate(self, drawn: NDArray[np.float32]) -> None:
        """Let a share of the samples (samples, knots, n) stride, in place; not the first."""
        own = drawn[1 : 1 + round(self.share * (len(drawn) - 1))]
        for k in range(self.half, drawn.shape[1]):
            own[:, k] = self.image(own[:, k - self.half])

    def go_on(self, mean: Array, new: int, rest: Array) -> None:
        """Let the last `new` knots of a plan (knots, n) go on in stride, in place; rest (n,)."""
        for k in range(max(len(mean) - new, self.half), len(mean)):
            mean[k] = rest + self.image(mean[k - self.half] - rest)


def strides(
    asked: tuple[float, float], pairings: tuple[Mirror, ...], spacing: float
) -> Strides | None:
    """As a goal asks for them: share of the samples, and s of a stride; None where there are none.

    spacing: of knots, s. Raises TarsusError if half a stride is not a whole number of knots.
    """
    share, lasts = asked
    if not (share and pairings):
        return None
    half = round(lasts / 2 / spacing)
    if half < 1 or abs(half * spacing - lasts / 2) > NEARLY * spacing:
        raise InvalidValue(
            f"half the stride of {lasts:g} s must be a multiple of the knot spacing, {spacing:g} s:"
            " change one of them.",
            "stride",
        )
    return Strides(pairings[0], half, share)
