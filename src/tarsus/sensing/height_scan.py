"""Height scan: the ground around a frame on a grid that turns with its heading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import parameter
from tarsus.sensing.base import Seen, Sensor, at_frame, frame_named, place

MOST = 1000  # points of a grid
UPRIGHT = 1e-6  # of the x axis seen from above: it has no heading


@dataclass(frozen=True)
class HeightScan(Sensor):
    """How far the ground lies above (positive) or below the frame's origin, from the terrain's
    closed form; the grid is centered on the frame, its rows along the frame's x axis seen from
    above, of an upright x axis to the right of its y axis.
    """

    frame: str = at_frame()
    length: float = parameter(1.6, "m", "along the heading", "[0, inf)")
    width: float = parameter(1.0, "m", "across it", "[0, inf)")
    spacing: float = parameter(0.1, "m", "from point to point", "(0, inf)")

    def _points(self) -> list[tuple[float, float]]:
        """Places (forward, left) of the grid's points, m, row by row from behind on the right."""
        along, across = (round(side / self.spacing) + 1 for side in (self.length, self.width))
        if along * across > MOST:
            raise InvalidValue(
                f"HeightScan: the grid has {along} x {across} points, more than {MOST}: increase"
                " spacing.",
                "spacing",
            )
        x = self.spacing * (np.arange(along) - (along - 1) / 2)
        y = self.spacing * (np.arange(across) - (across - 1) / 2)
        return [(float(a), float(b)) for a in x for b in y]

    def channels(self, mechanism: Mechanism) -> Mapping[str, str]:
        """One height a point."""
        frame_named(mechanism, self.frame)
        return {f"({x:.3g}, {y:.3g})": "m" for x, y in self._points()}

    def read(self, seen: Seen) -> tuple[SX, SX]:
        origin, R = place(seen.after, seen.frame(self.frame))
        upright = ca.sumsqr(R[:2, 0]) < UPRIGHT**2
        ahead = ca.if_else(upright, ca.vertcat(R[1, 1], -R[0, 1]), R[:2, 0])
        heading = ahead / ca.sqrt(ca.sumsqr(ahead))
        left = ca.vertcat(-heading[1], heading[0])
        points = [
            ca.vertcat(origin[:2] + x * heading + y * left, origin[2]) for x, y in self._points()
        ]
        heights = seen.heights(points)
        return ca.vertcat(*(height - origin[2] for height in heights)), seen.memory
