"""How many steps the law did not solve."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.sweeps.outcomes.base import Array, Stretch, SweepOutcome


class Residuals(SweepOutcome):
    """Part of the steps whose contact problem was not solved to the law's tolerance [1]."""

    unit: ClassVar[str] = "1"

    def begin(self) -> None:
        self._missed, self._steps = np.zeros(self.simulation.worlds), 0

    def see(self, stretch: Stretch) -> None:
        self._missed = self._missed + (~stretch.solved).sum(0)
        self._steps += len(stretch.solved)

    def value(self) -> Array:
        return self._missed / max(self._steps, 1)
