"""The largest force on a contact."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.sweeps.outcomes.base import Array, Stretch, SweepOutcome


class PeakForce(SweepOutcome):
    """Largest normal force on a contact, mean over a step, N: under a rigid law an impact's grows
    as dt shrinks.
    """

    unit: ClassVar[str] = "N"

    def begin(self) -> None:
        self._most = np.zeros(self.simulation.worlds)

    def see(self, stretch: Stretch) -> None:
        if stretch.impulse.shape[2]:
            force = stretch.impulse[..., 0].max(-1).max(0) / self.simulation.dt
            self._most = np.maximum(self._most, force)

    def value(self) -> Array:
        return self._most
