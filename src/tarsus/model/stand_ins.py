"""Capsules and boxes that stand in for shapes in contacts between bodies.

The error of a stand-in is the largest difference of both shapes' support functions, the extent
along a unit direction n; for convex shapes this is the Hausdorff distance. The extent of a capsule
along z is r + L |n_z|, that of a cylinder R sqrt(1 - n_z^2) + H |n_z|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

SQUARE = 2 / (1 + sqrt(2))  # half edge over radius of the square nearest to a circle


@dataclass(frozen=True)
class StandIn:
    """Capsule or box that replaces a shape, in the shape's frame.

    Attributes
    ----------
    half
        Half edges of a box, or half the segment of a capsule, shape (3,), in m.
    radius
        Radius of a capsule, in m; 0 for a box.
    max_deviation
        Largest distance between its surface and the shape's, in m.
    """

    half: tuple[float, float, float]
    radius: float = 0.0
    max_deviation: float = 0.0


def of_box(x: float, y: float, z: float) -> StandIn:
    """Create the box, from its half edges in m."""
    return StandIn((x, y, z))


def of_sphere(radius: float) -> StandIn:
    """Create a capsule of zero length for a sphere."""
    return StandIn((0.0, 0.0, 0.0), radius)


def of_capsule(radius: float, half: float) -> StandIn:
    """Create the capsule, from its radius and half length along z."""
    return StandIn((0.0, 0.0, half), radius)


def of_cylinder(radius: float, half: float) -> StandIn:
    """Create the longest capsule in a cylinder, or a box for a cylinder wider than long.

    The capsule has the cylinder's side and lacks its rims. The box has its faces, and is as much
    too wide at its corners as too narrow between them.
    """
    if half >= radius:
        return StandIn((0.0, 0.0, half - radius), radius, (sqrt(2) - 1) * radius)
    half_edge = SQUARE * radius
    return StandIn((half_edge, half_edge, half), max_deviation=radius - half_edge)


def of_ellipsoid(x: float, y: float, z: float) -> StandIn:
    """Create the capsule nearest to an ellipsoid, along its longest half axis; axes in m.

    With half axes a >= b >= c and u = |n_a|, the ellipsoid's extent lies between
    sqrt(b^2 + (a^2 - b^2) u^2) and the same with c for b, both convex in u. A capsule's extent
    r + (a - b) u is too small by at most b - r, at both ends of u, and too large by at most
    r - c s between them, with s = 1 for a ball. Equal errors are the smallest.
    """
    axes = np.array([x, y, z])
    longest = int(np.argmax(axes))
    a, b, c = np.sort(axes)[::-1].tolist()
    half = a - b
    s = sqrt(1 - half**2 / (a**2 - c**2)) if a > c else 1.0
    along = [0.0, 0.0, 0.0]
    along[longest] = half
    return StandIn((along[0], along[1], along[2]), (b + c * s) / 2, (b - c * s) / 2)


STAND_INS: dict[str, Callable[..., StandIn]] = {  # by the kind of shape, from its sizes
    "sphere": of_sphere,
    "capsule": of_capsule,
    "cylinder": of_cylinder,
    "ellipsoid": of_ellipsoid,
    "box": of_box,
}
