"""Touch sensor: whether a body is on the ground or another body, and for how long it has been."""

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
from tarsus.sensing.base import Seen, Sensor, at_frame, frame_named


@dataclass(frozen=True)
class TouchSensor(Sensor):
    """The force on the body, of the ground and of other bodies, against a threshold. Neither noise
    nor bias: they would falsify a truth and times.
    """

    exact: ClassVar[bool] = True
    frame: str = at_frame()
    threshold: float = parameter(0.0, "N", "force that must be exceeded", "[0, inf)")

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """1 where it touches, else 0; the time since it landed and since it left, 0 otherwise."""
        frame_named(mechanism, self.frame)
        return {"on_ground": "1", "time_on_ground": "s", "time_in_air": "s"}

    def initial_memory(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """The two times (2,)."""
        return np.zeros(2)

    def read(self, seen: Seen) -> tuple[SX, SX]:
        body = seen.after.mechanism.bodies[seen.frame(self.frame).body].name
        force = sum((load.force for load in seen.loads(body)), SX.zeros(3))
        on = ca.dot(force, force) > self.threshold**2
        standing = ca.if_else(on, seen.memory[0] + seen.passed, 0)
        flying = ca.if_else(on, 0, seen.memory[1] + seen.passed)
        return ca.vertcat(on, standing, flying), ca.vertcat(standing, flying)
