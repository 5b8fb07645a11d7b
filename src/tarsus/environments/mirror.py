"""Left and right changed: how what a robot sees and does looks in a mirror."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Mirror:
    """The image of numbers (..., n) is sign * numbers[..., order]; its image are they themselves.

    order, sign: (n,)
    """

    order: NDArray[np.int64]
    sign: Array

    def __call__(self, numbers: Array) -> Array:
        """The image."""
        return self.sign * numbers[..., self.order]

    def even(self, numbers: Array) -> Array:
        """The part that is its own image."""
        return 0.5 * (numbers + self(numbers))
