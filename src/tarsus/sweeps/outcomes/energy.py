"""Energy that the motors use."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.dynamics.transmission import numeric_rates
from tarsus.sweeps.outcomes.base import Array, StepBatch, SweepOutcome


class Energy(SweepOutcome):
    """Integral of the absolute mechanical power of all motors, in J.

    Positive and negative work both count. The rates are those at the end of each step.
    """

    unit: ClassVar[str] = "J"

    def start(self) -> None:
        robot = self.simulation.robot
        known, motors = (*robot.joint_names, *(t.name for t in robot.tendons)), robot.actuators
        self._motors = [k for k, motor in enumerate(motors) if motor.joint in known]
        self._driven = [motors[k].joint for k in self._motors]
        self._sum = np.zeros(self.simulation.worlds)

    def update(self, batch: StepBatch) -> None:
        tau, robot = batch.tau[..., self._motors], self.simulation.robot
        states = (part.reshape(-1, part.shape[-1]) for part in (batch.q, batch.u))
        rates = numeric_rates(robot, self._driven, *states).reshape(tau.shape)
        power = np.abs(tau * rates)
        self._sum = self._sum + self.simulation.dt * power.sum(-1).sum(0)

    def value(self) -> Array:
        return self._sum
