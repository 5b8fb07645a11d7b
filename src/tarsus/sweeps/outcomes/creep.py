"""Drift of loaded feet."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.morphology.feet import find_feet
from tarsus.sweeps.outcomes.base import Array, StepBatch, SweepOutcome


class FootCreep(SweepOutcome):
    """Mean horizontal speed of loaded feet, in m/s.

    It is the average over all feet and all intervals of 0.05 s in which a foot was in contact at
    every step; NaN if there are none. For a round foot, the speed of its center counts, which
    includes rolling.
    """

    unit: ClassVar[str] = "m/s"

    def start(self) -> None:
        robot, scene = self.simulation.robot, self.simulation.plan.scene
        names = {c.name for c in find_feet(robot)} if robot.candidates else set()
        self._feet = [(k, c.name) for k, c in enumerate(scene.candidates) if c.name in names]
        self._distance, self._time = np.zeros((2, self.simulation.worlds))

    def update(self, batch: StepBatch) -> None:
        robot, seconds = self.simulation.robot, self.simulation.dt * len(batch.q)
        for k, name in self._feet:
            loaded = (batch.impulse[:, :, k, 0] > 0).all(0)
            ends = [robot.position(q, name)[:, :2] for q in (batch.before[0], batch.q[-1])]
            distance = np.linalg.norm(ends[1] - ends[0], axis=-1)
            self._distance = self._distance + np.where(loaded, distance, 0.0)
            self._time = self._time + np.where(loaded, seconds, 0.0)

    def value(self) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._distance / self._time
