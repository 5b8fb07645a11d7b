"""How fast the closest point moves along a line or over a face of a body."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
from casadi import SX

from tarsus.collision.geometry import Geometry

MIN_CURVATURE = 0.75  # divided by half a line's length: flatter ground counts as this round
PROBE = 1e-3  # m: distance at which the ground is sampled to see how its normal turns
MIN_LENGTH = 1e-12  # m


def travel(
    normal: SX, line: SX, turned: SX, spin: SX, velocity: SX, rising: SX | float = 0.0
) -> SX:
    """Return the velocity (3,), m/s, of the closest point along a line of a moving body.

    It follows from the ground's normal staying at a right angle to the line.

    Parameters
    ----------
    normal : SX
        (3,): normal of the ground there.
    line : SX
        (3,): along the line.
    turned : SX
        (3,): change of the normal per distance along the line (`turning`), 1/m.
    spin, velocity : SX
        (3,): angular velocity of the body, and velocity of its point there, world.
    rising : SX or float
        Curvature of the line away from the ground (`Curve.rising`), 1/m.
    """
    half = ca.sqrt(ca.dot(line, line) + MIN_LENGTH**2)
    along = line / half
    out = ca.dot(normal, ca.cross(spin, along)) + ca.dot(turned, velocity)
    return -out / ca.fmax(ca.dot(turned, along) + rising, MIN_CURVATURE / half) * along


def travels(
    geometry: Geometry,
    terrain: object,
    center: SX,
    lines: Sequence[tuple[SX, SX | float]],
    moving: tuple[SX, SX, SX],
) -> SX:
    """Return the sum of `travel` along several lines (3,) from a point (3,), with their `rising`.

    moving: normal of the ground, angular velocity of the body, velocity there; (3,) each
    """
    normal, spin, velocity = moving
    total = SX.zeros(3)
    for line, rising in lines:
        turned = turning(geometry, terrain, center, line)
        total += travel(normal, line, turned, spin, velocity, rising)
    return total


def turning(geometry: Geometry, terrain: object, center: SX, line: SX) -> SX:
    """Return how the ground's normal (3,) changes per distance along a line (3,), 1/m."""
    along = line / ca.sqrt(ca.dot(line, line) + MIN_LENGTH**2)
    points = [center + step * along for step in (-PROBE, PROBE)]
    before, after = (frame[0, :].T for _, frame in geometry.terrain.surfaces(points, terrain))
    return (after - before) / (2 * PROBE)
