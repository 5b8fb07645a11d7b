"""Velocity of the closest point along a line or over a face of a moving body."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
from casadi import SX

from tarsus.collision.geometry import Geometry

MIN_CURVATURE = 0.75  # divided by half a line's length: flatter ground counts as this curved
PROBE_DISTANCE = 1e-3  # m: at which the ground is sampled to find the derivative of its normal
MIN_LENGTH = 1e-12  # m


def line_velocity(
    normal: SX, line: SX, normal_change: SX, spin: SX, velocity: SX, curvature: SX | float = 0.0
) -> SX:
    """Compute the velocity (3,), m/s, of the closest point along a line of a moving body.

    The velocity keeps the ground's normal perpendicular to the line.

    Parameters
    ----------
    normal : SX
        (3,): normal of the ground at the closest point.
    line : SX
        (3,): half the line, m.
    normal_change : SX
        (3,): derivative of the normal along the line (`normal_derivative`), 1/m.
    spin, velocity : SX
        (3,): angular velocity of the body, and velocity of its point at the contact, world.
    curvature : SX or float
        Curvature of the line away from the ground (`Curve.curvature`), 1/m.
    """
    half = ca.sqrt(ca.dot(line, line) + MIN_LENGTH**2)
    along = line / half
    out = ca.dot(normal, ca.cross(spin, along)) + ca.dot(normal_change, velocity)
    return -out / ca.fmax(ca.dot(normal_change, along) + curvature, MIN_CURVATURE / half) * along


def contact_point_velocity(
    geometry: Geometry,
    terrain: object,
    center: SX,
    lines: Sequence[tuple[SX, SX | float]],
    moving: tuple[SX, SX, SX],
) -> SX:
    """Sum `line_velocity` over the lines along which a contact can move.

    Parameters
    ----------
    geometry, terrain
        Geometry of the scene, and symbols of its terrain.
    center : SX
        (3,): closest point, m.
    lines : sequence
        Half of each line (3,), m, and its curvature away from the ground, 1/m.
    moving : tuple of SX
        Normal of the ground, angular velocity of the body and velocity of its point; (3,) each.
    """
    normal, spin, velocity = moving
    total = SX.zeros(3)
    for line, curvature in lines:
        normal_change = normal_derivative(geometry, terrain, center, line)
        total += line_velocity(normal, line, normal_change, spin, velocity, curvature)
    return total


def normal_derivative(geometry: Geometry, terrain: object, center: SX, line: SX) -> SX:
    """Compute the derivative (3,) of the ground's normal along a line (3,), 1/m."""
    along = line / ca.sqrt(ca.dot(line, line) + MIN_LENGTH**2)
    points = [center + step * along for step in (-PROBE_DISTANCE, PROBE_DISTANCE)]
    before, after = (frame[0, :].T for _, frame in geometry.terrain.surfaces(points, terrain))
    return (after - before) / (2 * PROBE_DISTANCE)
