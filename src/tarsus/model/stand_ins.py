"""The capsule or box that meets other bodies in place of a shape, and how far its surface is off.

How far off is the largest difference of both shapes' support functions, the reach along a unit
direction n: of convex shapes that is the largest distance from the one to the other (Hausdorff).
Along its axis z a capsule reaches r + L |n_z|, a cylinder R sqrt(1 - n_z^2) + H |n_z|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

FLAT = 2 / (1 + sqrt(2))  # half edge over radius of the square nearest to a circle


@dataclass(frozen=True)
class StandIn:
    """half (3,): half edges of a box, m; of a capsule the half segment; both in the shape's frame.

    radius: of the capsule, m; 0 of a box
    off: how far at most its surface is from the shape's, m
    """

    half: tuple[float, float, float]
    radius: float = 0.0
    off: float = 0.0


def of_box(x: float, y: float, z: float) -> StandIn:
    """Itself, half edges in m."""
    return StandIn((x, y, z))


def of_sphere(radius: float) -> StandIn:
    """Itself, a capsule without length."""
    return StandIn((0.0, 0.0, 0.0), radius)


def of_capsule(radius: float, half: float) -> StandIn:
    """Itself, its half length along z."""
    return StandIn((0.0, 0.0, half), radius)


def of_cylinder(radius: float, half: float) -> StandIn:
    """The longest capsule in it, the same along its side, its rims missing; in place of a disc,
    wider than long, a box with its faces, as much too wide at its corners as too narrow between.
    """
    if half >= radius:
        return StandIn((0.0, 0.0, half - radius), radius, (sqrt(2) - 1) * radius)
    across = FLAT * radius
    return StandIn((across, across, half), off=radius - across)


def of_ellipsoid(x: float, y: float, z: float) -> StandIn:
    """The capsule nearest to one with these half axes, m, along the longest of them.

    Of half axes a >= b >= c and with u = |n_a| the reach lies between sqrt(b^2 + (a^2 - b^2) u^2)
    and the same of c, both convex in u. A line r + (a - b) u is most too short at both ends, by b -
    r, and most too long between, by r - c s; s is 1 for a ball. Half of both is least.
    """
    axes = np.array([x, y, z])
    long = int(np.argmax(axes))
    a, b, c = np.sort(axes)[::-1].tolist()
    half = a - b
    s = sqrt(1 - half**2 / (a**2 - c**2)) if a > c else 1.0
    along = [0.0, 0.0, 0.0]
    along[long] = half
    return StandIn((along[0], along[1], along[2]), (b + c * s) / 2, (b - c * s) / 2)


STAND_INS: dict[str, Callable[..., StandIn]] = {  # by the kind of shape, from its sizes
    "sphere": of_sphere,
    "capsule": of_capsule,
    "cylinder": of_cylinder,
    "ellipsoid": of_ellipsoid,
    "box": of_box,
}
