"""Whether the robot fell."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.morphology.fall import MIN_HEIGHT_SHARE, MIN_UPRIGHT, upright
from tarsus.morphology.feet import feet
from tarsus.sweeps.outcomes.base import Array, Stretch, SweepOutcome


class Fell(SweepOutcome):
    """1 if the base tilted by more than 60 degrees, or sank to half its first height above the
    lowest foot, seen twenty times a second; else 0. A fixed base does not fall.
    """

    unit: ClassVar[str] = "1"

    def begin(self) -> None:
        # the robot of the step that all chunks share has its foot positions compiled once
        shared = self.simulation.plan.scene.mechanism
        robot = self.simulation.robot
        if isinstance(shared, Robot) and shared.uncut is None:
            robot = shared
        self._robot = robot
        self._feet = [c.name for c in feet(robot)] if robot.candidates else []
        q = np.atleast_2d(self.simulation.q)
        self._fallen, self._first = np.zeros(len(q), bool), self._height(q)

    def _height(self, q: Array) -> Array:
        """Of the base above the lowest foot (worlds,), m."""
        robot = self._robot
        if not robot.floating or not self._feet:
            return np.ones(len(q))
        low = np.min([robot.position(q, name)[:, 2] for name in self._feet], axis=0)
        return q[:, 2] - low

    def see(self, stretch: Stretch) -> None:
        tilted = (upright(self.simulation.robot, stretch.q) < MIN_UPRIGHT).any(0)
        self._fallen |= tilted | (self._height(stretch.q[-1]) < MIN_HEIGHT_SHARE * self._first)

    def value(self) -> Array:
        return self._fallen.astype(float)
