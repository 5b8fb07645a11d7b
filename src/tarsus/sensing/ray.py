"""Ray distance: how far the ground is along lines fixed in a frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import component, parameter
from tarsus.sensing.base import Seen, Sensor, at_frame, frame_named, place
from tarsus.spatial.rotation import constant

MOST = 1000  # rays


@dataclass(frozen=True)
class RaySensor(Sensor):
    """From the frame's origin along each direction to the first point of the ground; `reach` where
    there is none as near, 0 below the ground.

    The ray is looked at every `spacing`: what it passes within less of its way may be missed.
    """

    frame: str = at_frame()
    directions: tuple[tuple[float, float, float], ...] = component(
        ((0.0, 0.0, -1.0),), "of the rays, in the frame's axes, of any length"
    )
    reach: float = parameter(5.0, "m", "the greatest distance that is told", "(0, inf)")
    spacing: float = parameter(0.05, "m", "between looks at a ray", "(0, inf)")

    def _ways(self) -> list[np.ndarray]:
        """Unit directions (3,)."""
        shape = np.shape(self.directions)
        if len(shape) != 2 or shape[1] != 3 or not 0 < shape[0] <= MOST:
            raise InvalidValue(
                f"RaySensor: directions must be 1 to {MOST} rows of three numbers, not an array of"
                f" shape {shape}.",
                "directions",
            )
        ways = np.asarray(self.directions, float)
        lengths = np.linalg.norm(ways, axis=1)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise InvalidValue(
                "RaySensor: every direction must be finite and not zero.", "directions"
            )
        return list(ways / lengths[:, None])

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """One distance a ray."""
        frame_named(mechanism, self.frame)
        return {f"distance_{k}": "m" for k in range(len(self._ways()))}

    def read(self, seen: Seen) -> tuple[SX, SX]:
        origin, R = place(seen.after, seen.frame(self.frame))
        ways = [ca.mtimes(R, constant(way)) for way in self._ways()]
        return seen.ranges(origin, ways, self.reach, self.spacing), seen.memory
