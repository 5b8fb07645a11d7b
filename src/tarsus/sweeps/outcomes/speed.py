"""Mean speed of the base."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.model.base_motion import base_position
from tarsus.sweeps.outcomes.base import Array, StepBatch, SweepOutcome


class Speed(SweepOutcome):
    """Mean speed of the base along x, in m/s; zero for a fixed base."""

    unit: ClassVar[str] = "m/s"

    def start(self) -> None:
        self._start = self._position(np.atleast_2d(self.simulation.q))
        self._end, self._time = self._start, 1.0

    def update(self, batch: StepBatch) -> None:
        self._end, self._time = self._position(batch.q[-1]), batch.time

    def value(self) -> Array:
        return (self._end - self._start) / self._time

    def _position(self, q: Array) -> Array:
        """Compute the base's position along x, shape (worlds,), in m."""
        robot = self.simulation.robot
        return base_position(robot, q)[:, 0] if robot.mobile else np.zeros(len(q))
