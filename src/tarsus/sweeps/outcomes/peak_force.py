"""Largest contact force."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.sweeps.outcomes.base import Array, StepBatch, SweepOutcome


class PeakForce(SweepOutcome):
    """Largest normal force on a contact, averaged over a step, in N.

    With a rigid law, the force of an impact grows as dt shrinks.
    """

    unit: ClassVar[str] = "N"

    def start(self) -> None:
        self._peak = np.zeros(self.simulation.worlds)

    def update(self, batch: StepBatch) -> None:
        if batch.impulse.shape[2]:
            force = batch.impulse[..., 0].max(-1).max(0) / self.simulation.dt
            self._peak = np.maximum(self._peak, force)

    def value(self) -> Array:
        return self._peak
