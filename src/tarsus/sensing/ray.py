"""Ray sensor: distance to the ground along directions fixed in a frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import component, parameter
from tarsus.sensing.base import Sensor, SensorInput, find_frame, frame_parameter, frame_pose
from tarsus.spatial.rotation import constant

MAX_COUNT = 1000  # rays


@dataclass(frozen=True)
class RaySensor(Sensor):
    """Distance from the frame's origin to the ground along each direction.

    It is `reach` if the ground is farther, and 0 below the ground. A ray is sampled every
    `spacing`, so thinner obstacles may be missed.
    """

    frame: str = frame_parameter()
    directions: tuple[tuple[float, float, float], ...] = component(
        ((0.0, 0.0, -1.0),), "directions of rays in the frame's axes, of any length"
    )
    reach: float = parameter(5.0, "m", "largest distance", "(0, inf)")
    spacing: float = parameter(0.05, "m", "distance of samples on a ray", "(0, inf)")

    def _unit_directions(self) -> list[np.ndarray]:
        """Normalize the directions (3,)."""
        shape = np.shape(self.directions)
        if len(shape) != 2 or shape[1] != 3 or not 0 < shape[0] <= MAX_COUNT:
            raise InvalidValue(
                f"RaySensor: directions must be 1 to {MAX_COUNT} rows of three numbers, not an"
                f" array of shape {shape}.",
                "directions",
            )
        array = np.asarray(self.directions, float)
        lengths = np.linalg.norm(array, axis=1)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise InvalidValue(
                "RaySensor: every direction must be finite and not zero.", "directions"
            )
        return list(array / lengths[:, None])

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Name one distance per ray."""
        find_frame(mechanism, self.frame)
        return {f"distance_{k}": "m" for k in range(len(self._unit_directions()))}

    def read(self, inputs: SensorInput) -> tuple[SX, SX]:
        origin, R = frame_pose(inputs.after, inputs.frame(self.frame))
        directions = [ca.mtimes(R, constant(direction)) for direction in self._unit_directions()]
        return inputs.ranges(origin, directions, self.reach, self.spacing), inputs.memory
