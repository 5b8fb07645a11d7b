"""Closest point of a flat face to smooth ground: a peak below it that none of its edges meets.

From the closest of a grid of points the search descends along the gradient of the distance, with
the step lengths of Barzilai and Borwein (1988), shortened where the distance has grown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.collision.closest_point.ellipsoid_ground import run_rounds
from tarsus.collision.closest_point.segments import clip
from tarsus.collision.deepest import OUTSIDE, Deepest
from tarsus.collision.geometry import Geometry
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

KNOTS = np.linspace(-0.8, 0.8, 5)  # along either side: grid of the first evaluations
ROUNDS = 16  # evaluations after them
FIRST_STEP = 0.5  # of the face's half width, for a slope of 1
MAX_STEP = 0.5  # of the half width
SHRINK = 0.5  # factor on a step after which the distance had grown
SLOPE_TOLERANCE, MAX_SLOPE = 1e-8, 1e-3  # end the search; accept its result
WITHIN = 0.98  # of the distance to a side: contacts beyond belong to the edge
MIN_FACING = 0.5  # cosine between the ground's normal and the face's, at least
MIN_CURVATURE = 0.02  # times the half width: flatter ground, and a ridge, are left to the edges
PROBE = 0.1  # of the half width: distance at which the curvature is sampled
MIN_LENGTH = 1e-12


@dataclass(frozen=True, eq=False)
class Face:
    """Face in the world.

    Parameters
    ----------
    middle, half, across : SX
        (3,): middle, and from there to two of its sides, world, m; half x across points out of the
        body.
    round : SX
        1 for a disc, 0 for a rectangle.
    """

    middle: SX
    half: SX
    across: SX
    round: SX

    @property
    def sizes(self) -> SX:
        """Half length and half width (2,), m."""
        return ca.vertcat(
            *(ca.sqrt(ca.sumsqr(own) + MIN_LENGTH**2) for own in (self.half, self.across))
        )

    @property
    def ways(self) -> SX:
        """Unit vectors (2, 3) along length and width."""
        return ca.vertcat(self.half.T, self.across.T) / ca.repmat(self.sizes, 1, 3)

    @property
    def outward(self) -> SX:
        """Unit normal (3,) out of the body."""
        normal = ca.cross(self.half, self.across)
        return normal / ca.sqrt(ca.sumsqr(normal) + MIN_LENGTH**2)

    def at(self, place: SX) -> SX:
        """Return the point (3,) at a place (2,), m along length and width from the middle."""
        return self.middle + ca.mtimes(self.ways.T, place)

    def margin(self, place: SX) -> SX:
        """Return the distance of a place (2,) from the outline, m, negative outside."""
        sizes = self.sizes
        inside = ca.mmin(sizes - ca.fabs(place))
        return ca.if_else(self.round, sizes[0] - ca.sqrt(ca.sumsqr(place)), inside)

    def clip(self, start: SX, along: SX) -> tuple[SX, SX]:
        """Clip a segment by the outline.

        Parameters
        ----------
        start, along : SX
            Start (2,), m along length and width from the middle, and vector (2,) to the end.

        Returns
        -------
        tuple of SX
            Start and end of the part inside, as `segments.clip` returns them.
        """
        first, last = clip(start, along, self.sizes)
        # a disc
        squared = ca.sumsqr(along) + MIN_LENGTH**2
        middle = -ca.dot(start, along) / squared
        beyond = ca.sumsqr(start + middle * along) - self.sizes[0] ** 2
        reach = ca.sqrt(ca.fmax(-beyond, 0) / squared)
        disc_first, disc_last = ca.fmax(middle - reach, 0), ca.fmin(middle + reach, 1)
        disc_last = ca.if_else(beyond < 0, disc_last, -1)
        return (
            ca.if_else(self.round, disc_first, first),
            ca.if_else(self.round, disc_last, last),
        )


@dataclass(frozen=True, eq=False)
class FacePoint:
    """Ground evaluated at a place of a face.

    Parameters
    ----------
    place : SX
        (2,): m along length and width from the middle.
    falls : SX
        (2,): descent of the distance along both, zero where it would lead outside the face.
    distance : SX
        Distance to the ground, m.
    step : SX
        Length of the next step for a slope of 1, m.
    """

    place: SX
    falls: SX
    distance: SX
    step: SX

    def closer(self, other: FacePoint) -> FacePoint:
        """Return `other` if the ground is closer there, else this place with a shorter step."""
        way, change = other.place - self.place, self.falls - other.falls
        squared, turned = ca.sumsqr(way), ca.dot(way, change)
        known = ca.logic_and(turned > 0, squared > MIN_LENGTH**2)
        longer = ca.if_else(known, squared / ca.fmax(turned, MIN_LENGTH), 2 * self.step)
        gone = ca.sqrt(squared / (ca.sumsqr(self.falls) + MIN_LENGTH**2))
        onward = replace(other, step=longer), replace(self, step=SHRINK * gone)
        both = zip(*(vars(own).values() for own in onward), strict=True)
        return FacePoint(*(ca.if_else(other.distance > self.distance, b, a) for a, b in both))


def nearest_inside(
    geometry: Geometry, terrain: object, face: Face, builder: Builder | None = None
) -> tuple[SX, SX]:
    """Return the place (2,) inside a face where the ground is closest, and the distance there, m.

    The place is relative to half length and half width, -1 to 1; it is (OUTSIDE, 0) if the ground
    is closest at a side or along a line. Without a builder the rounds are unrolled, for programs
    without loops.
    """
    # the closest of the knots
    sizes = face.sizes
    places = [ca.vertcat(a, b) * sizes for a in KNOTS for b in KNOTS]
    grounds = geometry.terrain.surfaces([face.at(place) for place in places], terrain)
    place, least = places[0], grounds[0][0]
    for own, (distance, _) in zip(places[1:], grounds[1:], strict=True):
        place = ca.if_else(distance < least, own, place)
        least = ca.fmin(least, distance)
    # from there down
    begin = _evaluate(geometry, terrain, face, place, FIRST_STEP * sizes[1])

    def down(now: Values) -> tuple[Values, SX]:
        last = FacePoint(**now)
        far = ca.sqrt(ca.sumsqr(last.falls) + MIN_LENGTH**2)
        way = ca.fmin(last.step, MAX_STEP * sizes[1] / far) * last.falls
        inside = ca.fmax(-sizes, ca.fmin(last.place + way, sizes))
        new = last.closer(_evaluate(geometry, terrain, face, inside, last.step))
        return vars(new), ca.sumsqr(new.falls) > SLOPE_TOLERANCE**2

    end = FacePoint(**run_rounds(vars(begin), down, ROUNDS, SX(1), builder))
    is_peak = _is_peak(geometry, terrain, face, end)
    return ca.if_else(is_peak, end.place / sizes, ca.vertcat(OUTSIDE, 0)), end.distance


def with_face(
    geometry: Geometry, terrain: object, number: SX, face: Face, builder: Builder
) -> Callable[[Values], tuple[Values, SX]]:
    """Return a loop body that inserts the face of that number among the deepest spans."""

    def inserted(before: Values) -> tuple[Values, SX]:
        place, distance = nearest_inside(geometry, terrain, face, builder)
        gap = ca.if_else(place[0] < OUTSIDE, distance, SX.inf())
        touches = geometry.closes(gap)
        new = Deepest.of(before).with_one(number, gap, place[0], touches, place[1])
        return new.values(), SX(0)

    return inserted


def _evaluate(geometry: Geometry, terrain: object, face: Face, place: SX, step: SX) -> FacePoint:
    [(distance, frame)] = geometry.terrain.surfaces([face.at(place)], terrain)
    falls = -ca.mtimes(face.ways, frame[0, :].T)
    # not out of the face
    inner = [
        ca.if_else(ca.logic_and(ca.fabs(x) >= size, x * fall > 0), 0, fall)
        for x, size, fall in zip(*map(entries, (place, face.sizes, falls)), strict=True)
    ]
    return FacePoint(place, ca.vertcat(*inner), distance, step)


def _is_peak(geometry: Geometry, terrain: object, face: Face, end: FacePoint) -> SX:
    """Return 1 if the search ended inside the face, on ground that is convex and faces it."""
    sizes = face.sizes
    aside = PROBE * sizes[1]
    beside = [end.place, end.place + ca.vertcat(aside, 0), end.place + ca.vertcat(0, aside)]
    normals = [
        frame[0, :].T
        for _, frame in geometry.terrain.surfaces([face.at(place) for place in beside], terrain)
    ]
    first, *others = (ca.mtimes(face.ways, normal) for normal in normals)
    (a, b), (c, d) = (entries((other - first) / aside) for other in others)
    # the smaller of the two principal curvatures
    mean, cross = (a + d) / 2, (b + c) / 2
    least = mean - ca.sqrt(((a - d) / 2) ** 2 + cross**2 + MIN_LENGTH**2)
    out = ca.cross(face.half, face.across)
    facing = -ca.dot(normals[0], out) > MIN_FACING * ca.sqrt(ca.sumsqr(out) + MIN_LENGTH**2)
    flat = ca.sumsqr(end.falls) < MAX_SLOPE**2
    way = ca.fabs(end.place) / sizes
    within = ca.if_else(face.round, ca.sumsqr(way) < WITHIN**2, ca.fmax(way[0], way[1]) < WITHIN)
    curved = least * sizes[1] > MIN_CURVATURE
    return ca.logic_and(ca.logic_and(facing, flat), ca.logic_and(within, curved))
