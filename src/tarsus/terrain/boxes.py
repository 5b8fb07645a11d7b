"""Blocks on level ground: stepping stones, curbs, a platform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue
from tarsus.parameters import array, parameter
from tarsus.terrain import _graph
from tarsus.terrain.base import Terrain

MIN_LENGTH = 1e-12  # m: keeps the gradient of a length defined where the length is zero
MAX_BOXES = 64  # each is in the compiled code of every contact
# numbers per box: cos and sin of its yaw, center (2,), half sizes (2,), height of its top
NUMBERS = 7
DEFAULT = (
    (0.7, 0.1, 0.01),
    (1.1, -0.12, 0.01),
    (1.5, 0.08, 0.015),
    (1.95, -0.05, 0.02),
    (2.4, 0.1, 0.02),
)


@dataclass(frozen=True)
class Boxes(Terrain):
    """Level ground with upright boxes that stand on it or in it, with rounded edges.

    The nearest surface counts. The corner where a box meets the ground is filled with a fillet, so
    that every point near it has one normal; keep corner_radius above the radius of the foot, or a
    foot in the corner touches both surfaces in turn. Boxes that touch each other keep their rounded
    edges, and the groove or the sharp inner corner between them.
    """

    position: ArrayLike = array(DEFAULT, "m", "centers of the boxes, (n, 3) or (worlds, n, 3)")
    half_sizes: ArrayLike = array(
        (0.12, 0.2, 0.02), "m", "half edge lengths, (3,), (n, 3) or (worlds, n, 3)", "(0, inf)"
    )
    yaw: ArrayLike = array(0.0, "rad", "rotation about z, (), (n,) or (worlds, n)")
    ground: float | NDArray = parameter(
        0.0, "m", "height of the level ground; a low value makes a pit"
    )
    edge_radius: float = parameter(0.005, "m", "radius of the rounded edges", "(0, inf)")
    corner_radius: float = parameter(0.02, "m", "radius of the fillets at the ground", "(0, inf)")

    def __post_init__(self) -> None:
        super().__post_init__()
        # do the arrays fit each other?
        shape = np.shape(self.position)
        if len(shape) not in (2, 3) or shape[-1] != 3 or not 0 < shape[-2] <= MAX_BOXES:
            raise InvalidValue(
                f"boxes: position must have shape (n, 3) or (worlds, n, 3) with n up to"
                f" {MAX_BOXES}, not {shape}.",
                "position",
            )
        if np.shape(self.half_sizes)[-1:] != (3,):
            raise InvalidValue(
                "boxes: half_sizes must have shape (3,), (n, 3) or (worlds, n, 3), not"
                f" {np.shape(self.half_sizes)}.",
                "half_sizes",
            )
        try:
            described = self._box_numbers()
        except ValueError:
            raise InvalidValue(
                f"boxes: the shapes of half_sizes {np.shape(self.half_sizes)}, yaw"
                f" {np.shape(self.yaw)} and ground {np.shape(self.ground)} do not match that of"
                f" position {shape}.",
                "position",
            ) from None
        # do the boxes stand on the ground?
        bottom = (
            np.asarray(self.position, float)[..., 2] - np.asarray(self.half_sizes, float)[..., 2]
        )
        ground = np.asarray(self.ground, float)[..., None]
        if (bottom > ground + MIN_LENGTH).any():
            raise InvalidValue(
                f"boxes: every box must reach down to the ground, but one floats"
                f" {float((bottom - ground).max()):g} m above it.",
                "position",
            )
        # is there room for the rounding?
        if (described[..., 6] < ground + self.edge_radius + self.corner_radius).any():
            raise InvalidValue(
                f"boxes: edge_radius + corner_radius ({self.edge_radius + self.corner_radius:g} m)"
                " must not exceed the height of any box above the ground.",
                "edge_radius",
            )
        if (described[..., 4:6] < self.edge_radius).any():
            raise InvalidValue(
                f"boxes: edge_radius ({self.edge_radius:g} m) must not exceed any box's half"
                " sizes.",
                "edge_radius",
            )

    def _box_numbers(self) -> NDArray[np.float64]:
        """Assemble the numbers of each box, shape (n, 7) or (worlds, n, 7)."""
        center, half, yaw = (
            np.asarray(v, float) for v in (self.position, self.half_sizes, self.yaw)
        )
        parts = (
            np.cos(yaw),
            np.sin(yaw),
            *np.moveaxis(center[..., :2], -1, 0),
            *np.moveaxis(half[..., :2], -1, 0),
        )
        every = np.broadcast_arrays(
            *parts, center[..., 2] + half[..., 2], np.asarray(self.ground, float)[..., None]
        )
        if every[0].shape[-1] != center.shape[-2]:
            raise ValueError("more numbers than boxes")
        return np.stack(every[:-1], -1)

    def parameters(self) -> dict[str, NDArray]:
        described = self._box_numbers()
        boxes = described.reshape(*described.shape[:-2], -1)
        return {"boxes": boxes} | _graph.columns(ground=self.ground)

    def steepest(self, p: Any) -> SX | None:
        return None

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        position = SX.sym("at", 3)
        boxes = [self._from_box(position, box) for box in ca.vertsplit(p.boxes, NUMBERS)]
        distance = self._fillet_distance(position[2] - p.ground, ca.mmin(ca.vertcat(*boxes)))
        surface = ca.substitute(
            ca.vertcat(distance, ca.gradient(distance, position)), position, point
        )
        # deep inside, where two sides are equally near, the gradient may vanish
        steep = ca.sumsqr(surface[1:])
        normal = ca.if_else(steep > 0, surface[1:] / ca.sqrt(steep), ca.vertcat(0, 0, 1))
        return surface[0], _build_frame(normal)

    def top_edges(self, p: Any) -> list[tuple[SX, SX]]:
        edges = []
        for box in ca.vertsplit(p.boxes, NUMBERS):
            c, s, x, y, length, width, top = ca.vertsplit(box)
            a, b = length - self.edge_radius, width - self.edge_radius
            corners = [(a, b), (-a, b), (-a, -b), (a, -b)]
            z = top - self.edge_radius
            corners_of_top = [
                ca.vertcat(x + c * i - s * j, y + s * i + c * j, z) for i, j in corners
            ]
            edges += [
                (corners_of_top[k - 1], corners_of_top[k] - corners_of_top[k - 1]) for k in range(4)
            ]
        return edges

    @property
    def edge_rounding(self) -> float:
        return self.edge_radius

    def elevations(self, points: list[SX], p: Any) -> list[SX]:
        """Compute the height of the highest top at each position, with sharp edges and corners."""
        return [self._height(point, p) for point in points]

    def _height(self, point: SX, p: Any) -> SX:
        highest = p.ground
        for box in ca.vertsplit(p.boxes, NUMBERS):
            along, across, top = _beyond_sides(point, box)
            highest = ca.if_else(ca.fmax(along, across) <= 0, ca.fmax(highest, top), highest)
        return highest

    def _from_box(self, position: SX, box: SX) -> SX:
        """Compute the signed distance to a box without lower end, with rounded edges."""
        r = self.edge_radius
        along, across, top = _beyond_sides(position, box)
        along, across, above = along + r, across + r, position[2] - top + r
        outside = _length(*(ca.fmax(side, 0) for side in (along, across, above)))
        return outside + ca.fmin(ca.fmax(ca.fmax(along, across), above), 0) - r

    def _fillet_distance(self, a: SX, b: SX) -> SX:
        """Compute the distance to two surfaces with a fillet in the corner between them."""
        R = self.corner_radius
        return ca.fmax(R, ca.fmin(a, b)) - _length(ca.fmax(R - a, 0), ca.fmax(R - b, 0))


def _beyond_sides(position: SX, box: SX) -> tuple[SX, SX, SX]:
    """Compute how far a point (3,) lies beyond a box's sides, and the height of its top, m."""
    c, s, x, y, length, width, top = ca.vertsplit(box)
    x, y = position[0] - x, position[1] - y
    return ca.fabs(c * x + s * y) - length, ca.fabs(c * y - s * x) - width, top


def _length(*sides: SX) -> SX:
    return ca.sqrt(sum((side * side for side in sides), SX(MIN_LENGTH**2)))


def _build_frame(normal: SX) -> SX:
    """Build the rows normal, tangent 1, tangent 2 of a contact frame.

    The axes z, x, y are turned the shortest way, so that z becomes the normal.
    """
    x, y, z = ca.vertsplit(normal)
    share = 1 / (1 + z)
    forward = ca.vertcat(1 - x * x * share, -x * y * share, -x)
    left = ca.vertcat(-x * y * share, 1 - y * y * share, -y)
    return ca.horzcat(normal, forward, left).T
