"""Ground below candidates: below the center of a ball, or the lowest point of an outline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.collision.closest_point.ellipsoid_ground import (
    EllipsoidPoint,
    EllipsoidPoints,
    closest_points,
)
from tarsus.collision.contact_point import OPEN_GAP
from tarsus.collision.geometry import Geometry
from tarsus.dynamics import jacobian, support_points
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Candidate
from tarsus.spatial.rotation import constant

REFINEMENTS = 2  # further evaluations of the ground, each below the last lowest point


@dataclass(frozen=True, eq=False)
class PlacedOutline:
    """Outline in the world.

    Attributes
    ----------
    numbers
        `Outline.numbers` (22,).
    rotation
        Rotation (3, 3) of its body.
    closest
        Closest point, if it belongs to an ellipsoid with several of them.
    """

    numbers: SX
    rotation: SX
    closest: EllipsoidPoint | None = None

    @staticmethod
    def of(kin: Kinematics, candidate: Candidate, points: EllipsoidPoints) -> PlacedOutline | None:
        """Return the outline of a candidate; None for a ball."""
        if candidate.outline is None:
            return None
        parameters = support_points.parameters(candidate.outline)
        return PlacedOutline(
            parameters, kin.world_rotation[candidate.body], points.get(candidate.name)
        )

    def lowest(self, normal: SX) -> SX:
        """Return the vector (3,) from the center to the lowest point along a normal, world, m."""
        toward = -ca.mtimes(self.rotation.T, normal)
        return ca.mtimes(self.rotation, support_points.support_point(self.numbers, toward))

    def travel_acceleration(self, normal: SX, spin: SX) -> SX:
        """Return what the contact's motion over the body adds to dJ/dt u (3,), world, m/s^2.

        It is zero where the contact stays in place, as that of a rolling wheel does. `spin` (3,) is
        the angular velocity of the body, world.
        """
        R, toward = self.rotation, -ca.mtimes(self.rotation.T, normal)
        travel = support_points.support_point_velocity(self.numbers, toward, ca.mtimes(R.T, spin))
        return ca.cross(spin, ca.mtimes(R, travel) + ca.cross(spin, self.lowest(normal)))


def below(
    geometry: Geometry,
    terrain: object,
    centers: Sequence[SX],
    outlines: Sequence[PlacedOutline | None],
) -> list[tuple[SX, SX, SX]]:
    """Evaluate the ground below centers (3,), m.

    On a plane the lowest point is exact. Elsewhere its normal comes from the ground below the
    previous point, so that it is a point of the body at its true distance. A closest point of an
    ellipsoid that is not distinct is OPEN_GAP away.

    Returns
    -------
    list of tuple
        For each center the vector (3,) to the point that may touch (zero for a ball), and the
        distance, m, and frame (3, 3) of the ground there.
    """
    first = geometry.terrain.surfaces(list(centers), terrain)
    return below_lowest(geometry, terrain, centers, outlines, first)


def below_lowest(
    geometry: Geometry,
    terrain: object,
    centers: Sequence[SX],
    outlines: Sequence[PlacedOutline | None],
    first: Sequence[tuple[SX, SX]],
) -> list[tuple[SX, SX, SX]]:
    """Return the result of `below`, given distance and frame of the ground below the centers."""
    grounds_below = [(SX.zeros(3), *ground) for ground in first]
    others = [(i, at) for i, at in enumerate(outlines) if at is not None and at.closest is None]
    for _ in range(REFINEMENTS if others else 0):
        arms = [at.lowest(grounds_below[i][2][0, :].T) for i, at in others]
        points = [centers[i] + arm for (i, _), arm in zip(others, arms, strict=True)]
        grounds = geometry.terrain.surfaces(points, terrain)
        for (i, _), arm, ground in zip(others, arms, grounds, strict=True):
            grounds_below[i] = (arm, *ground)
    closest = [
        (i, at.closest)
        for i, at in enumerate(outlines)
        if at is not None and at.closest is not None
    ]
    points = [centers[i] + point.arm for i, point in closest]
    grounds = geometry.terrain.surfaces(points, terrain) if closest else []
    for (i, point), (distance, frame) in zip(closest, grounds, strict=True):
        distance = ca.if_else(point.is_distinct, distance, OPEN_GAP)
        grounds_below[i] = point.arm, distance, frame
    return grounds_below


def below_candidates(
    geometry: Geometry, kin: Kinematics, candidates: Sequence[Candidate], terrain: object
) -> tuple[list[SX], list[SX], list[SX]]:
    """Return the points (3,) that may touch, world, m, with distance and frame of the ground."""
    centers = [jacobian.position(kin, c.body, constant(c.position)) for c in candidates]
    points_of_ellipsoids = closest_points(geometry, kin, terrain, candidates)
    grounds = below(
        geometry,
        terrain,
        centers,
        [PlacedOutline.of(kin, c, points_of_ellipsoids) for c in candidates],
    )
    points = [center + arm for center, (arm, _, _) in zip(centers, grounds, strict=True)]
    return points, [distance for _, distance, _ in grounds], [frame for _, _, frame in grounds]
