"""How far loaded feet move."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.morphology.feet import feet
from tarsus.sweeps.outcomes.base import Array, Stretch, SweepOutcome


class FootCreep(SweepOutcome):
    """Mean horizontal speed, m/s, of feet over stretches of 0.05 s in which they pressed in every
    step, weighted alike; NaN if none did. Of a round foot it is its center's, rolling included.
    """

    unit: ClassVar[str] = "m/s"

    def begin(self) -> None:
        robot, scene = self.simulation.robot, self.simulation.plan.scene
        own = {c.name for c in feet(robot)} if robot.candidates else set()
        self._feet = [(k, c.name) for k, c in enumerate(scene.candidates) if c.name in own]
        self._way, self._time = np.zeros((2, self.simulation.worlds))

    def see(self, stretch: Stretch) -> None:
        robot, seconds = self.simulation.robot, self.simulation.dt * len(stretch.q)
        for k, name in self._feet:
            pressed = (stretch.impulse[:, :, k, 0] > 0).all(0)
            ends = [robot.position(q, name)[:, :2] for q in (stretch.before[0], stretch.q[-1])]
            moved = np.linalg.norm(ends[1] - ends[0], axis=-1)
            self._way = self._way + np.where(pressed, moved, 0.0)
            self._time = self._time + np.where(pressed, seconds, 0.0)

    def value(self) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._way / self._time
