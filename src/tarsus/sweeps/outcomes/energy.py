"""What the motors spend."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.sweeps.outcomes.base import Array, Stretch, SweepOutcome


class Energy(SweepOutcome):
    """Sum of |torque x rate| of all motors over time, J: work done and work taken, neither
    regained; the rate is that of the steps' ends.
    """

    unit: ClassVar[str] = "J"

    def begin(self) -> None:
        robot = self.simulation.robot
        places = dict(zip(robot.joint_names, robot.u_slices, strict=True))
        motors = robot.actuators
        self._kept = [k for k, motor in enumerate(motors) if motor.joint in places]
        self._at = [places[motors[k].joint].start for k in self._kept]
        self._sum = np.zeros(self.simulation.worlds)

    def see(self, stretch: Stretch) -> None:
        power = np.abs(stretch.tau[..., self._kept] * stretch.u[..., self._at])
        self._sum = self._sum + self.simulation.dt * power.sum(-1).sum(0)

    def value(self) -> Array:
        return self._sum
