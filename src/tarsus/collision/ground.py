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
MIN_SQUARE = 1e-24  # keeps level ground from dividing by zero


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
        """Place the outline of a candidate in the world; None for a ball."""
        if candidate.outline is None:
            return None
        parameters = support_points.parameters(candidate.outline)
        return PlacedOutline(
            parameters, kin.world_rotation[candidate.body], points.get(candidate.name)
        )

    def lowest(self, normal: SX) -> SX:
        """Find the vector (3,) from the center to the lowest point along a normal, world, m."""
        toward = -ca.mtimes(self.rotation.T, normal)
        return ca.mtimes(self.rotation, support_points.support_point(self.numbers, toward))

    def travel_acceleration(self, normal: SX, spin: SX) -> SX:
        """Compute the effect of the contact's motion over the body on dJ/dt u (3,), world, m/s^2.

        It is zero where the contact stays in place, as that of a rolling wheel does. `spin` (3,) is
        the angular velocity of the body, world.
        """
        R, toward = self.rotation, -ca.mtimes(self.rotation.T, normal)
        travel = support_points.support_point_velocity(self.numbers, toward, ca.mtimes(R.T, spin))
        return ca.cross(spin, ca.mtimes(R, travel) + ca.cross(spin, self.lowest(normal)))


def ground_below(
    geometry: Geometry,
    terrain: object,
    centers: Sequence[SX],
    radii: Sequence[float | SX],
    outlines: Sequence[PlacedOutline | None],
) -> list[tuple[SX, SX, SX]]:
    """Evaluate the ground below balls around centers (3,), m, or below outlines.

    On a plane the lowest point is exact. Elsewhere its normal comes from the ground below the
    previous point, so that it is a point of the body at its true distance. A closest point of an
    ellipsoid that is not distinct is OPEN_GAP away.

    Returns
    -------
    list of tuple
        For each center the vector (3,) to the point that may touch (zero for a ball), and the
        distance, m, and frame (3, 3) of the ground there. For a ball, this is the frame where it
        touches, and its center is this far from the ground.
    """
    first = geometry.terrain.surfaces(list(centers), terrain)
    return ground_below_lowest(geometry, terrain, centers, radii, outlines, first)


def ground_below_lowest(
    geometry: Geometry,
    terrain: object,
    centers: Sequence[SX],
    radii: Sequence[float | SX],
    outlines: Sequence[PlacedOutline | None],
    first: Sequence[tuple[SX, SX]],
) -> list[tuple[SX, SX, SX]]:
    """Compute `ground_below`, given distance and frame of the ground below the centers."""
    grounds_below = [(SX.zeros(3), *ground) for ground in first]
    others = [
        (i, outline)
        for i, outline in enumerate(outlines)
        if outline is not None and outline.closest is None
    ]
    for _ in range(REFINEMENTS if others else 0):
        arms = [outline.lowest(grounds_below[i][2][0, :].T) for i, outline in others]
        points = [centers[i] + arm for (i, _), arm in zip(others, arms, strict=True)]
        grounds = geometry.terrain.surfaces(points, terrain)
        for (i, _), arm, ground in zip(others, arms, grounds, strict=True):
            grounds_below[i] = (arm, *ground)
    if not geometry.terrain.flat and geometry.terrain.steepest(terrain) is not None:
        balls = [i for i, radius in enumerate(radii) if not SX(radius).is_zero()]
        arms = [grounds_below[i][0] - radii[i] * grounds_below[i][2][0, :].T for i in balls]
        points = [centers[i] + arm for i, arm in zip(balls, arms, strict=True)]
        grounds = geometry.terrain.surfaces(points, terrain) if balls else []
        for i, ground in zip(balls, grounds, strict=True):
            arm, outline_distance, outline_frame = grounds_below[i]
            below_arm = outline_distance, outline_frame
            distance, frame = _ball_distance(SX(radii[i]), below_arm, ground)
            if outlines[i] is not None:
                distance = ca.if_else(radii[i] > 0, distance, outline_distance)
                frame = ca.if_else(radii[i] > 0, frame, outline_frame)
            grounds_below[i] = arm, distance, frame
    closest = [
        (i, outline.closest)
        for i, outline in enumerate(outlines)
        if outline is not None and outline.closest is not None
    ]
    points = [centers[i] + point.arm for i, point in closest]
    grounds = geometry.terrain.surfaces(points, terrain) if closest else []
    for (i, point), (distance, frame) in zip(closest, grounds, strict=True):
        distance = ca.if_else(point.is_distinct, distance, OPEN_GAP)
        grounds_below[i] = point.arm, distance, frame
    return grounds_below


def _ball_distance(
    radius: SX, below_center: tuple[SX, SX], below_point: tuple[SX, SX]
) -> tuple[SX, SX]:
    """Compute the distance, m, of a ball's center from a height field, and the frame there (3, 3).

    The normal n where the ball touches is that of the ground `radius` n below its center. The
    ground below the center, and below the point that its normal n0 gives, has normals n0 and n1;
    if they change evenly along the ground, n = n0 - (n0 - n1) / (1 + k), where k is the ball's
    radius over the ground's radius of curvature (the secant method).

    Parameters
    ----------
    radius : SX
        Radius of the ball, m.
    below_center, below_point : tuple of SX
        Distance of the center, and of the point radius * n0 below it, m, and the frames there.
    """
    (_, frame_0), (distance, frame_1) = below_center, below_point
    n0, n1 = frame_0[0, :].T, frame_1[0, :].T
    change = n0 - n1
    along, squared = ca.dot(change[:2], n0[:2]), ca.sumsqr(change[:2]) + MIN_SQUARE
    hill = along / (along + squared)
    hollow = along / (ca.fmin(along + squared, 0.5 * along) - MIN_SQUARE)
    share = ca.if_else(along > 0, hill, ca.if_else(along < 0, hollow, 1))
    normal = n0 - share * change
    normal /= ca.sqrt(ca.sumsqr(normal))
    forward = frame_1[1, :].T
    forward -= ca.dot(forward, normal) * normal
    forward /= ca.sqrt(ca.sumsqr(forward))
    frame = ca.horzcat(normal, forward, ca.cross(normal, forward)).T
    # from the point below n0 to the one below n, up to terms of third order
    moved = -radius * (normal - n0)
    return distance + radius + 0.5 * ca.dot(n1 + normal, moved), frame


def ground_below_candidates(
    geometry: Geometry, kin: Kinematics, candidates: Sequence[Candidate], terrain: object
) -> tuple[list[SX], list[SX], list[SX]]:
    """Find the points (3,) that may touch, world, m, with distance and frame of the ground."""
    centers = [jacobian.position(kin, c.body, constant(c.position)) for c in candidates]
    points_of_ellipsoids = closest_points(geometry, kin, terrain, candidates)
    grounds = ground_below(
        geometry,
        terrain,
        centers,
        [c.radius for c in candidates],
        [PlacedOutline.of(kin, c, points_of_ellipsoids) for c in candidates],
    )
    points = [center + arm for center, (arm, _, _) in zip(centers, grounds, strict=True)]
    return points, [distance for _, distance, _ in grounds], [frame for _, _, frame in grounds]
