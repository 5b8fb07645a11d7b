"""Stairs, up or down along x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.errors import InvalidValue
from tarsus.parameters import parameter
from tarsus.terrain import _graph
from tarsus.terrain.base import Terrain

TINY = 1e-12  # m: keeps the gradient of a length defined where the length is zero
FAR = 1e3  # m: where the next riser stands when there is none


@dataclass(frozen=True)
class Steps(Terrain):
    """Level ground, `count` steps from x = start on, and level ground behind them.

    The distance is that to the nearest of the tread below, the riser ahead and the edges, so that a
    foot rolls over an edge. Edges and inner corners are rounded, which gives every point near the
    ground one normal; keep corner_radius above the radius of the foot, or a foot in the corner
    feels tread and riser in turns.
    """

    rise: float | NDArray = parameter(0.05, "m", "height of a step; negative for stairs down")
    run: float | NDArray = parameter(0.3, "m", "depth of a tread", "(0, inf)")
    count: int = parameter(5, "[1]", "number of risers", "[1, inf)")
    start: float | NDArray = parameter(0.5, "m", "x of the first riser")
    edge_radius: float = parameter(0.005, "m", "radius of the rounded edges", "(0, inf)")
    corner_radius: float = parameter(0.03, "m", "radius of the inner corners", "(0, inf)")

    def __post_init__(self) -> None:
        super().__post_init__()
        size = np.abs(np.asarray(self.rise, float))
        _graph.require_positive("Steps", rise=size)
        if self.edge_radius + self.corner_radius > min(size.min(), np.min(self.run)):
            raise InvalidValue(
                f"Steps: edge_radius + corner_radius ({self.edge_radius + self.corner_radius:g} m)"
                f" must not exceed the rise ({size.min():g} m) or the run"
                f" ({np.min(self.run):g} m).",
                "edge_radius",
            )

    def parameters(self) -> dict[str, NDArray]:
        """Return the stairs' parameters; stairs down are stairs up that climb towards -x."""
        given = (np.asarray(v, float) for v in (self.rise, self.run, self.start))
        rise, run, start = np.broadcast_arrays(*given)
        down = rise < 0
        return _graph.columns(
            rise=np.abs(rise),
            run=run,
            first=np.where(down, start + (self.count - 1) * run, start),
            climb=np.where(down, -1.0, 1.0),
            foot=np.where(down, self.count * rise, 0.0),
        )

    def steepest(self, p: Any) -> SX | None:
        return None

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        position = SX.sym(
            "at", 2
        )  # along the climb from the first riser, and above the foot of the stairs
        distance = self._distance(position[0], position[1], p)
        here = ca.vertcat(p.climb * (point[0] - p.first), point[2] - p.foot)
        surface = ca.substitute(
            ca.vertcat(distance, ca.gradient(distance, position)), position, here
        )
        length = 1 / ca.sqrt(surface[1] ** 2 + surface[2] ** 2)
        forward, up = p.climb * length * surface[1], length * surface[2]
        frame = SX(3, 3)
        frame[0, 0], frame[0, 2], frame[1, 0], frame[1, 2], frame[2, 1] = (
            forward,
            up,
            up,
            -forward,
            1,
        )
        return surface[0], frame

    def top_edges(self, p: Any) -> list[tuple[SX, SX]]:
        edges = []
        for k in range(self.count):
            x = p.first + p.climb * (k * p.run + self.edge_radius)
            z = p.foot + (k + 1) * p.rise - self.edge_radius
            edges.append((ca.vertcat(x, p.climb * FAR, z), ca.vertcat(0, -2 * p.climb * FAR, 0)))
        return edges

    @property
    def edge_rounding(self) -> float:
        return self.edge_radius

    def elevations(self, points: list[SX], p: Any) -> list[SX]:
        """Compute the height of the tread at each position, with sharp edges and corners."""
        risers = [ca.floor(p.climb * (point[0] - p.first) / p.run) + 1 for point in points]
        return [p.foot + p.rise * ca.fmin(ca.fmax(k, 0), self.count) for k in risers]

    def _distance(self, s: SX, z: SX, p: Any) -> SX:
        """Compute the signed distance to the profile.

        It is the distance to the profile moved into the ground by the radius of the edges, less
        that radius.
        """
        s, z, radius = (
            s - self.edge_radius,
            z + self.edge_radius,
            self.edge_radius + self.corner_radius,
        )
        k = ca.fmin(
            ca.fmax(ca.floor(s / p.run), -1), self.count - 1
        )  # the riser behind; -1 before the stairs
        above, behind = z - (k + 1) * p.rise, s - k * p.run
        # inside, the way out may be back through the riser, whose foot is rounded
        back = radius - _length(ca.fmax(radius - above - p.rise, 0), radius + behind)
        tread = ca.if_else(k < 0, above, ca.fmax(above, back))
        ahead = ca.if_else(k < self.count - 1, p.run - behind, FAR)
        riser = _length(ahead, ca.fmax(above - p.rise, 0))
        # the rounded corner between the two: outside its reach this is the smaller distance
        corner = _length(ca.fmax(radius - tread, 0), ca.fmax(radius - riser, 0))
        return ca.fmax(radius, ca.fmin(tread, riser)) - corner - self.edge_radius


def _length(a: SX, b: SX) -> SX:
    return ca.sqrt(a * a + b * b + TINY**2)
