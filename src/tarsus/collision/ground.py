"""The ground below candidates: below the center of a ball, or the lowest point of an outline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.collision.closest_point.ellipsoid_ground import Spot, Spots, spots
from tarsus.collision.contact_point import OPEN_GAP
from tarsus.collision.geometry import Geometry
from tarsus.dynamics import jacobian, support_points
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Candidate
from tarsus.spatial.rotation import constant

LOOKS = 2  # further looks at the ground, each below the point that the last normal gave


@dataclass(frozen=True, eq=False)
class Turned:
    """An outline in the world.

    numbers: (22,) `Outline.numbers`; rotation: (3, 3) of its body; spot: where it touches, if that
    is known
    """

    numbers: SX
    rotation: SX
    spot: Spot | None = None

    @staticmethod
    def of(kin: Kinematics, candidate: Candidate, spots: Spots) -> Turned | None:
        """Return the outline of a candidate; None for a ball."""
        if candidate.outline is None:
            return None
        own = support_points.parameters(candidate.outline)
        return Turned(own, kin.world_rotation[candidate.body], spots.get(candidate.name))

    def lowest(self, normal: SX) -> SX:
        """Return the vector (3,) from the center to the lowest point along a normal, world, m."""
        toward = -ca.mtimes(self.rotation.T, normal)
        return ca.mtimes(self.rotation, support_points.support_point(self.numbers, toward))

    def gained(self, normal: SX, spin: SX) -> SX:
        """Return what the contact's travel over the body adds to dJ/dt u (3,), world, m/s^2.

        It is zero where the contact stays in place, as that of a rolling wheel does. spin: (3,)
        angular velocity of the body, world.
        """
        R, toward = self.rotation, -ca.mtimes(self.rotation.T, normal)
        travel = support_points.support_point_velocity(self.numbers, toward, ca.mtimes(R.T, spin))
        return ca.cross(spin, ca.mtimes(R, travel) + ca.cross(spin, self.lowest(normal)))


def below(
    geometry: Geometry, terrain: object, centers: Sequence[SX], turned: Sequence[Turned | None]
) -> list[tuple[SX, SX, SX]]:
    """Look at the ground below centers (3,), m.

    Returns for each the vector (3,) from the center to the point that may touch (zero for a ball),
    and the distance, m, and frame (3, 3) of the ground there. On a plane the lowest point is exact;
    elsewhere its normal comes from the ground below the point found before, so that it is a point
    of the body at its true distance. A spot that does not exist is OPEN_GAP away.
    """
    first = geometry.terrain.surfaces(list(centers), terrain)
    return below_lowest(geometry, terrain, centers, turned, first)


def below_lowest(
    geometry: Geometry,
    terrain: object,
    centers: Sequence[SX],
    turned: Sequence[Turned | None],
    first: Sequence[tuple[SX, SX]],
) -> list[tuple[SX, SX, SX]]:
    """Do the work of `below`, given the distance and frame of the ground below the centers."""
    grounds_below = [(SX.zeros(3), *ground) for ground in first]
    others = [(i, at) for i, at in enumerate(turned) if at is not None and at.spot is None]
    for _ in range(LOOKS if others else 0):
        arms = [at.lowest(grounds_below[i][2][0, :].T) for i, at in others]
        points = [centers[i] + arm for (i, _), arm in zip(others, arms, strict=True)]
        grounds = geometry.terrain.surfaces(points, terrain)
        for (i, _), arm, ground in zip(others, arms, grounds, strict=True):
            grounds_below[i] = (arm, *ground)
    spots = [(i, at.spot) for i, at in enumerate(turned) if at is not None and at.spot is not None]
    points = [centers[i] + spot.arm for i, spot in spots]
    grounds = geometry.terrain.surfaces(points, terrain) if spots else []
    for (i, spot), (distance, frame) in zip(spots, grounds, strict=True):
        grounds_below[i] = spot.arm, ca.if_else(spot.there, distance, OPEN_GAP), frame
    return grounds_below


def below_candidates(
    geometry: Geometry, kin: Kinematics, candidates: Sequence[Candidate], terrain: object
) -> tuple[list[SX], list[SX], list[SX]]:
    """Return the point (3,) of each candidate that may touch, world, m, and the distance and frame
    of the ground there.
    """
    centers = [jacobian.position(kin, c.body, constant(c.position)) for c in candidates]
    known = spots(geometry, kin, terrain, candidates)
    grounds = below(geometry, terrain, centers, [Turned.of(kin, c, known) for c in candidates])
    points = [center + arm for center, (arm, _, _) in zip(centers, grounds, strict=True)]
    return points, [distance for _, distance, _ in grounds], [frame for _, _, frame in grounds]
