"""Load cell: the contacts' force on a body and its moment about a frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.sensing.base import Seen, Sensor, along, at_frame, frame_named, place


@dataclass(frozen=True)
class LoadCell(Sensor):
    """The sum over the body's contacts with ground and bodies, world axes: the mean over the last
    full period.
    """

    frame: str = at_frame()
    period: int = parameter(
        1, "[1]", "steps that are averaged, such as a control period", "[1, inf)"
    )

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Force, and moment about the frame's origin."""
        frame_named(mechanism, self.frame)
        return along("force", "N") | along("moment", "N m")

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Steps of this period, their sum (6,), the last period's mean (6,)."""
        return np.zeros(13 if self.period > 1 else 0)

    def read(self, seen: Seen) -> tuple[SX, SX]:
        # the sum of this step
        frame = seen.frame(self.frame)
        body = seen.after.mechanism.bodies[frame.body].name
        origin, _ = place(seen.pressed, frame)
        now = SX.zeros(6)
        for load in seen.loads(body):
            now += ca.vertcat(load.force, ca.cross(load.point - origin, load.force))
        if self.period == 1:
            return now, seen.memory
        # a period's mean is told until the next is full
        steps, total = seen.memory[0] + 1, seen.memory[1:7] + now
        full = steps >= self.period
        mean = ca.if_else(full, total / self.period, seen.memory[7:13])
        kept = ca.vertcat(ca.if_else(full, 0, steps), ca.if_else(full, 0, total), mean)
        return mean, kept
