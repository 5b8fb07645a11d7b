"""Energy that the motors use."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.sweeps.outcomes.base import Array, StepBatch, SweepOutcome


class Energy(SweepOutcome):
    """Integral of the absolute mechanical power of all motors, in J.

    Positive and negative work both count. The joint rates are those at the end of each step.
    """

    unit: ClassVar[str] = "J"

    def start(self) -> None:
        robot = self.simulation.robot
        columns = dict(zip(robot.joint_names, robot.u_slices, strict=True))
        motors = robot.actuators
        self._motors = [k for k, motor in enumerate(motors) if motor.joint in columns]
        self._joints = [columns[motors[k].joint].start for k in self._motors]
        self._sum = np.zeros(self.simulation.worlds)

    def update(self, batch: StepBatch) -> None:
        power = np.abs(batch.tau[..., self._motors] * batch.u[..., self._joints])
        self._sum = self._sum + self.simulation.dt * power.sum(-1).sum(0)

    def value(self) -> Array:
        return self._sum
