"""Mean speed of the base."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.sweeps.outcomes.base import Array, StepBatch, SweepOutcome


class Speed(SweepOutcome):
    """Mean speed of the base along x, in m/s; zero for a fixed base."""

    unit: ClassVar[str] = "m/s"

    def start(self) -> None:
        self._start = np.atleast_2d(self.simulation.q)[:, 0]
        self._end, self._time = self._start, 1.0

    def update(self, batch: StepBatch) -> None:
        self._end, self._time = batch.q[-1, :, 0], batch.time

    def value(self) -> Array:
        if not self.simulation.robot.floating:
            return np.zeros(len(self._start))
        return (self._end - self._start) / self._time
