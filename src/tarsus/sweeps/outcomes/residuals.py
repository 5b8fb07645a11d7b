"""Steps whose contact problem was not solved."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.sweeps.outcomes.base import Array, StepBatch, SweepOutcome


class Residuals(SweepOutcome):
    """Fraction of steps in which the contact solver did not converge, 0 to 1."""

    unit: ClassVar[str] = "1"

    def start(self) -> None:
        self._unsolved, self._steps = np.zeros(self.simulation.worlds), 0

    def update(self, batch: StepBatch) -> None:
        self._unsolved = self._unsolved + (~batch.solved).sum(0)
        self._steps += len(batch.solved)

    def value(self) -> Array:
        return self._unsolved / max(self._steps, 1)
