"""Falls of the robot."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.model.base_motion import base_position
from tarsus.morphology.fall import MIN_HEIGHT_SHARE, MIN_UPRIGHT, uprightness
from tarsus.morphology.feet import find_feet
from tarsus.sweeps.outcomes.base import Array, StepBatch, SweepOutcome


class Fell(SweepOutcome):
    """Whether the robot fell: 1 if it did, else 0.

    A robot falls if its base tilts by more than 60 degrees, or sinks to half its initial height
    above the lowest foot, checked every 0.05 s. A robot with a fixed base never falls.
    """

    unit: ClassVar[str] = "1"

    def start(self) -> None:
        # the robot of the program that all chunks share, so that foot positions are compiled once
        shared = self.simulation.plan.scene.mechanism
        robot = self.simulation.robot
        if isinstance(shared, Robot) and shared.uncut is None:
            robot = shared
        self._robot = robot
        self._feet = [c.name for c in find_feet(robot)] if robot.candidates else []
        q = np.atleast_2d(self.simulation.q)
        self._fallen, self._first = np.zeros(len(q), bool), self._height(q)

    def _height(self, q: Array) -> Array:
        """Compute the height of the base above the lowest foot, shape (worlds,), in m."""
        robot = self._robot
        if not robot.mobile or not self._feet:
            return np.ones(len(q))
        low = np.min([robot.position(q, name)[:, 2] for name in self._feet], axis=0)
        return base_position(robot, q)[:, 2] - low

    def update(self, batch: StepBatch) -> None:
        tilted = (uprightness(self.simulation.robot, batch.q) < MIN_UPRIGHT).any(0)
        self._fallen |= tilted | (self._height(batch.q[-1]) < MIN_HEIGHT_SHARE * self._first)

    def value(self) -> Array:
        return self._fallen.astype(float)
