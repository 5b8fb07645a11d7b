"""How fast the base went."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.sweeps.outcomes.base import Array, Stretch, SweepOutcome


class Speed(SweepOutcome):
    """Way of the base along x over the time, m/s; zero for a fixed base."""

    unit: ClassVar[str] = "m/s"

    def begin(self) -> None:
        self._start = np.atleast_2d(self.simulation.q)[:, 0]
        self._end, self._time = self._start, 1.0

    def see(self, stretch: Stretch) -> None:
        self._end, self._time = stretch.q[-1, :, 0], stretch.time

    def value(self) -> Array:
        if not self.simulation.robot.floating:
            return np.zeros(len(self._start))
        return (self._end - self._start) / self._time
