"""The ground below candidates: below a ball's center, below the lowest point of an outline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.dynamics import jacobian, outlines
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Candidate
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene
from tarsus.stepping.spots import Spot, Spots, spots
from tarsus.stepping.touching_point import OPEN_GAP

LOOKS = 2  # more at the ground, each below the point that the normal of the one before gave


@dataclass(frozen=True, eq=False)
class Turned:
    """An outline (22,) of a body with this rotation (3, 3) to the world, and where it touches if
    that is known.
    """

    numbers: SX
    rotation: SX
    spot: Spot | None = None

    @staticmethod
    def of(kin: Kinematics, candidate: Candidate, spots: Spots) -> Turned | None:
        """That of a candidate; None of a ball."""
        if candidate.outline is None:
            return None
        own = outlines.numbers(candidate.outline)
        return Turned(own, kin.world_rotation[candidate.body], spots.get(candidate.name))

    def lowest(self, normal: SX) -> SX:
        """From the center (3,), m, world, to the point farthest against the ground's normal."""
        toward = -ca.mtimes(self.rotation.T, normal)
        return ca.mtimes(self.rotation, outlines.farthest(self.numbers, toward))

    def gained(self, normal: SX, spin: SX) -> SX:
        """What the contact's travel over the body adds to dJ/dt u (3,), m/s^2, world: nothing where
        it stays in place, as that of a rolling wheel; spin: the body's angular velocity, world.
        """
        R, toward = self.rotation, -ca.mtimes(self.rotation.T, normal)
        travel = outlines.travel(self.numbers, toward, ca.mtimes(R.T, spin))
        return ca.cross(spin, ca.mtimes(R, travel) + ca.cross(spin, self.lowest(normal)))


def below(
    scene: Scene, terrain: object, centers: Sequence[SX], turned: Sequence[Turned | None]
) -> list[tuple[SX, SX, SX]]:
    """Of each center (3,), m: from it to the point that may touch (3,), a ball's own center; the
    ground's distance there, m, and frame (3, 3).

    On a plane the lowest point is exact. Elsewhere the normal that says where it is comes from the
    ground below the point found before, so that it is a point of the body at its true distance.
    A spot that is not there is OPEN_GAP away.
    """
    first = scene.terrain.surfaces(list(centers), terrain)
    return below_lowest(scene, terrain, centers, turned, first)


def below_lowest(
    scene: Scene,
    terrain: object,
    centers: Sequence[SX],
    turned: Sequence[Turned | None],
    first: Sequence[tuple[SX, SX]],
) -> list[tuple[SX, SX, SX]]:
    """`below` where the ground below the centers is known: distance, m, and frame (3, 3)."""
    found = [(SX.zeros(3), *ground) for ground in first]
    others = [(i, at) for i, at in enumerate(turned) if at is not None and at.spot is None]
    for _ in range(LOOKS if others else 0):
        arms = [at.lowest(found[i][2][0, :].T) for i, at in others]
        points = [centers[i] + arm for (i, _), arm in zip(others, arms, strict=True)]
        grounds = scene.terrain.surfaces(points, terrain)
        for (i, _), arm, ground in zip(others, arms, grounds, strict=True):
            found[i] = (arm, *ground)
    spots = [(i, at.spot) for i, at in enumerate(turned) if at is not None and at.spot is not None]
    points = [centers[i] + spot.arm for i, spot in spots]
    grounds = scene.terrain.surfaces(points, terrain) if spots else []
    for (i, spot), (distance, frame) in zip(spots, grounds, strict=True):
        found[i] = spot.arm, ca.if_else(spot.there, distance, OPEN_GAP), frame
    return found


def below_candidates(
    scene: Scene, kin: Kinematics, which: Sequence[Candidate], terrain: object
) -> tuple[list[SX], list[SX], list[SX]]:
    """Of each candidate the center that may touch (3,), world, and the ground's distance and frame
    there.
    """
    centers = [jacobian.position(kin, c.body, constant(c.position)) for c in which]
    known = spots(scene, kin, terrain, which)
    found = below(scene, terrain, centers, [Turned.of(kin, c, known) for c in which])
    points = [center + arm for center, (arm, _, _) in zip(centers, found, strict=True)]
    return points, [distance for _, distance, _ in found], [frame for _, _, frame in found]
