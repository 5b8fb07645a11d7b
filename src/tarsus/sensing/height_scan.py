"""Height scan: the ground around a frame, on a grid that rotates with its heading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.sensing.base import Sensor, SensorInput, find_frame, frame_parameter, frame_pose

MAX_COUNT = 1000  # grid points
MIN_HORIZONTAL = 1e-6  # length of the projected x axis; a shorter one has no heading


@dataclass(frozen=True)
class HeightScan(Sensor):
    """Height of the ground above the frame's origin, from the terrain's closed form.

    The grid is centered on the frame. Its rows follow the frame's x axis, projected on the ground;
    for a vertical x axis, the direction to the right of the y axis.
    """

    frame: str = frame_parameter()
    length: float = parameter(1.6, "m", "length of the grid along the heading", "[0, inf)")
    width: float = parameter(1.0, "m", "width of the grid across the heading", "[0, inf)")
    spacing: float = parameter(0.1, "m", "distance of grid points", "(0, inf)")

    def _points(self) -> list[tuple[float, float]]:
        """Compute the grid points (forward, left), in m, row by row from the rear right."""
        along, across = (round(side / self.spacing) + 1 for side in (self.length, self.width))
        if along * across > MAX_COUNT:
            raise InvalidValue(
                f"HeightScan: the grid has {along} x {across} points, more than {MAX_COUNT}:"
                " increase spacing.",
                "spacing",
            )
        x = self.spacing * (np.arange(along) - (along - 1) / 2)
        y = self.spacing * (np.arange(across) - (across - 1) / 2)
        return [(float(a), float(b)) for a in x for b in y]

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """Name one height per point."""
        find_frame(mechanism, self.frame)
        return {f"({x:.3g}, {y:.3g})": "m" for x, y in self._points()}

    def read(self, inputs: SensorInput) -> tuple[SX, SX]:
        origin, R = frame_pose(inputs.after, inputs.frame(self.frame))
        vertical = ca.sumsqr(R[:2, 0]) < MIN_HORIZONTAL**2
        ahead = ca.if_else(vertical, ca.vertcat(R[1, 1], -R[0, 1]), R[:2, 0])
        heading = ahead / ca.sqrt(ca.sumsqr(ahead))
        left = ca.vertcat(-heading[1], heading[0])
        points = [
            ca.vertcat(origin[:2] + x * heading + y * left, origin[2]) for x, y in self._points()
        ]
        heights = inputs.heights(points)
        return ca.vertcat(*(height - origin[2] for height in heights)), inputs.memory
