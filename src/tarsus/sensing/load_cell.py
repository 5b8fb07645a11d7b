"""Load cell: contact force on a body, and its moment about a frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.sensing.base import (
    Sensor,
    SensorInput,
    find_frame,
    frame_parameter,
    frame_pose,
    vector_channels,
)


@dataclass(frozen=True)
class LoadCell(Sensor):
    """Sum of the contact forces on a body, world axes, as the mean over the last full period."""

    frame: str = frame_parameter()
    period: int = parameter(1, "[1]", "steps to average, such as a control period", "[1, inf)")

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Return the channels of force, and of moment about the frame's origin."""
        find_frame(mechanism, self.frame)
        return vector_channels("force", "N") | vector_channels("moment", "N m")

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Return the step count and sum (6,) of this period, and the mean (6,) of the last."""
        return np.zeros(13 if self.period > 1 else 0)

    def read(self, inputs: SensorInput) -> tuple[SX, SX]:
        # wrench of this step
        frame = inputs.frame(self.frame)
        body = inputs.after.mechanism.bodies[frame.body].name
        origin, _ = frame_pose(inputs.contact_kinematics, frame)
        now = SX.zeros(6)
        for load in inputs.loads(body):
            now += ca.vertcat(load.force, ca.cross(load.point - origin, load.force))
        if self.period == 1:
            return now, inputs.memory
        # output the mean of a period until the next one is complete
        steps, total = inputs.memory[0] + 1, inputs.memory[1:7] + now
        full = steps >= self.period
        mean = ca.if_else(full, total / self.period, inputs.memory[7:13])
        memory = ca.vertcat(ca.if_else(full, 0, steps), ca.if_else(full, 0, total), mean)
        return mean, memory
