"""Mirror images of observations and actions, with left and right exchanged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Mirror:
    """Mirror image ``sign * numbers[..., order]`` of numbers of shape (..., n).

    Applied twice, it returns the numbers themselves.

    Attributes
    ----------
    order, sign
        Permutation and signs, shape (n,).
    """

    order: NDArray[np.int64]
    sign: Array

    def __call__(self, numbers: Array) -> Array:
        """Compute the mirror image."""
        return self.sign * numbers[..., self.order]

    def symmetrize(self, numbers: Array) -> Array:
        """Compute the part that equals its own mirror image."""
        return 0.5 * (numbers + self(numbers))
