"""Touch sensor: whether a body is in contact, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.sensing.base import Sensor, SensorInput, find_frame, frame_parameter


@dataclass(frozen=True)
class TouchSensor(Sensor):
    """Comparison of the contact force on a body with a threshold.

    It has neither noise nor bias, because its readings are a flag and times.
    """

    exact: ClassVar[bool] = True
    frame: str = frame_parameter()
    threshold: float = parameter(0.0, "N", "force above which the body is in contact", "[0, inf)")

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Name a flag of contact, the time since touchdown, and the time since lift-off."""
        find_frame(mechanism, self.frame)
        return {"on_ground": "1", "time_on_ground": "s", "time_in_air": "s"}

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Return the two times (2,)."""
        return np.zeros(2)

    def read(self, inputs: SensorInput) -> tuple[SX, SX]:
        body = inputs.after.mechanism.bodies[inputs.frame(self.frame).body].name
        force = sum((load.force for load in inputs.loads(body)), SX.zeros(3))
        on = ca.dot(force, force) > self.threshold**2
        standing = ca.if_else(on, inputs.memory[0] + inputs.elapsed, 0)
        flying = ca.if_else(on, 0, inputs.memory[1] + inputs.elapsed)
        return ca.vertcat(on, standing, flying), ca.vertcat(standing, flying)
