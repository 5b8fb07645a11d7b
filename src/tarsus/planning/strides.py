"""Alternating samples: each side repeats the motion of the other side half a stride later.

Walk, amble, pace and trot all have this property. The samples decide which of them appears, and
when a foot lifts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.mirror import Mirror
from tarsus.errors import InvalidValue

Array = NDArray[np.float64]
ROUND_OFF = 1e-6  # relative to the knot spacing


@dataclass(frozen=True, eq=False)
class Strides:
    """Alternation of samples, and of the continuation of plans.

    Attributes
    ----------
    image
        Mirror image of the motors, left for right.
    half
        Number of knots in half a stride.
    share
        Fraction of the samples that alternate.
    """

    image: Mirror
    half: int
    share: float

    def alternate(self, drawn: NDArray[np.float32]) -> None:
        """Make a share of samples, (samples, knots, n), alternate in place, except the first."""
        samples = drawn[1 : 1 + round(self.share * (len(drawn) - 1))]
        for k in range(self.half, drawn.shape[1]):
            samples[:, k] = self.image(samples[:, k - self.half])

    def extend(self, mean: Array, new: int, rest: Array) -> None:
        """Continue the alternation of a plan, (knots, n), over its last `new` knots, in place.

        `rest`, shape (n,), is the standing posture.
        """
        for k in range(max(len(mean) - new, self.half), len(mean)):
            mean[k] = rest + self.image(mean[k - self.half] - rest)


def strides(
    alternation: tuple[float, float], symmetries: tuple[Mirror, ...], spacing: float
) -> Strides | None:
    """Create the alternation that a goal requests, or None.

    Parameters
    ----------
    alternation
        Fraction of the samples that alternate, and duration of a stride, in s.
    symmetries
        Symmetries of the legs.
    spacing
        Time between two knots, in s.

    Raises
    ------
    InvalidValue
        If half a stride is not a whole number of knots.
    """
    share, duration = alternation
    if not (share and symmetries):
        return None
    half = round(duration / 2 / spacing)
    if half < 1 or abs(half * spacing - duration / 2) > ROUND_OFF * spacing:
        raise InvalidValue(
            f"half the stride of {duration:g} s must be a multiple of the knot spacing,"
            f" {spacing:g} s: change one of them.",
            "stride",
        )
    return Strides(symmetries[0], half, share)
