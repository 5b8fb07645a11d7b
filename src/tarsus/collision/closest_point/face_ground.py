"""Closest point of a flat face to smooth ground: a peak below the face that no edge touches.

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
from tarsus.collision.deepest import OUTSIDE, DeepestContacts
from tarsus.collision.geometry import Geometry
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder

KNOTS = np.linspace(-0.8, 0.8, 5)  # along both sides: grid of the first evaluations
ROUNDS = 16  # evaluations after the grid
FIRST_STEP = 0.5  # of the face's half width, for a slope of 1
MAX_STEP = 0.5  # of the half width
SHRINK = 0.5  # factor on a step that increased the distance
SLOPE_TOLERANCE, MAX_SLOPE = 1e-8, 1e-3  # end the search; accept its result
INNER_FRACTION = 0.98  # of half a side: contacts beyond belong to the edge
MIN_FACING = 0.5  # least cosine between the ground's normal and the opposite of the face's
MIN_CURVATURE = 0.02  # divided by half width: edges cover flatter ground and ridges
PROBE_DISTANCE = 0.1  # of the half width: distance at which the curvature is sampled
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
            *(ca.sqrt(ca.sumsqr(half) + MIN_LENGTH**2) for half in (self.half, self.across))
        )

    @property
    def directions(self) -> SX:
        """Unit vectors (2, 3) along length and width."""
        return ca.vertcat(self.half.T, self.across.T) / ca.repmat(self.sizes, 1, 3)

    @property
    def outward(self) -> SX:
        """Unit normal (3,) out of the body."""
        normal = ca.cross(self.half, self.across)
        return normal / ca.sqrt(ca.sumsqr(normal) + MIN_LENGTH**2)

    def point(self, position: SX) -> SX:
        """Convert a position (2,) in m along length and width from the middle to a point (3,)."""
        return self.middle + ca.mtimes(self.directions.T, position)

    def margin(self, position: SX) -> SX:
        """Compute the distance of a position (2,) from the outline, m, negative outside."""
        sizes = self.sizes
        inside = ca.mmin(sizes - ca.fabs(position))
        return ca.if_else(self.round, sizes[0] - ca.sqrt(ca.sumsqr(position)), inside)

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
    """Evaluation of the ground at a position on a face; the fields name registers of the loop.

    Parameters
    ----------
    position : SX
        (2,): position, m along length and width from the middle.
    descent : SX
        (2,): negative gradient of the distance; components that point out of the face are zero.
    distance : SX
        Distance to the ground, m.
    step : SX
        Length of the next step for a slope of 1, m.
    """

    position: SX
    descent: SX
    distance: SX
    step: SX

    def select_closer(self, other: FacePoint) -> FacePoint:
        """Return `other` if the ground is closer there, else this point with a shorter step."""
        move, change = other.position - self.position, self.descent - other.descent
        squared, curvature = ca.sumsqr(move), ca.dot(move, change)
        is_valid = ca.logic_and(curvature > 0, squared > MIN_LENGTH**2)
        longer = ca.if_else(is_valid, squared / ca.fmax(curvature, MIN_LENGTH), 2 * self.step)
        last_step = ca.sqrt(squared / (ca.sumsqr(self.descent) + MIN_LENGTH**2))
        points = replace(other, step=longer), replace(self, step=SHRINK * last_step)
        both = zip(*(vars(point).values() for point in points), strict=True)
        return FacePoint(*(ca.if_else(other.distance > self.distance, b, a) for a, b in both))


def closest_inside(
    geometry: Geometry, terrain: object, face: Face, builder: Builder | None = None
) -> tuple[SX, SX]:
    """Find the position (2,) inside a face where the ground is closest, and the distance there, m.

    The position is relative to half length and half width, -1 to 1. It is (OUTSIDE, 0) if the
    ground is closest at a side or along a line. Without a builder the rounds are unrolled, for
    programs without loops.
    """
    # the closest knot
    sizes = face.sizes
    knots = [ca.vertcat(a, b) * sizes for a in KNOTS for b in KNOTS]
    grounds = geometry.terrain.surfaces([face.point(knot) for knot in knots], terrain)
    position, least = knots[0], grounds[0][0]
    for knot, (distance, _) in zip(knots[1:], grounds[1:], strict=True):
        position = ca.if_else(distance < least, knot, position)
        least = ca.fmin(least, distance)
    # descent from there
    begin = _evaluate(geometry, terrain, face, position, FIRST_STEP * sizes[1])

    def descend(values: Values) -> tuple[Values, SX]:
        last = FacePoint(**values)
        slope = ca.sqrt(ca.sumsqr(last.descent) + MIN_LENGTH**2)
        step = ca.fmin(last.step, MAX_STEP * sizes[1] / slope) * last.descent
        inside = ca.fmax(-sizes, ca.fmin(last.position + step, sizes))
        new = last.select_closer(_evaluate(geometry, terrain, face, inside, last.step))
        return vars(new), ca.sumsqr(new.descent) > SLOPE_TOLERANCE**2

    end = FacePoint(**run_rounds(vars(begin), descend, ROUNDS, SX(1), builder))
    is_peak = _is_peak(geometry, terrain, face, end)
    return ca.if_else(is_peak, end.position / sizes, ca.vertcat(OUTSIDE, 0)), end.distance


def with_face(
    geometry: Geometry, terrain: object, number: SX, face: Face, builder: Builder
) -> Callable[[Values], tuple[Values, SX]]:
    """Return a loop body that inserts a face with a contact number among the deepest spans."""

    def insert(before: Values) -> tuple[Values, SX]:
        position, distance = closest_inside(geometry, terrain, face, builder)
        gap = ca.if_else(position[0] < OUTSIDE, distance, SX.inf())
        touches = geometry.closes(gap)
        new = DeepestContacts.from_registers(before).with_contact(
            number, gap, position[0], touches, position[1]
        )
        return new.to_registers(), SX(0)

    return insert


def _evaluate(geometry: Geometry, terrain: object, face: Face, position: SX, step: SX) -> FacePoint:
    [(distance, frame)] = geometry.terrain.surfaces([face.point(position)], terrain)
    falls = -ca.mtimes(face.directions, frame[0, :].T)
    # do not leave the face
    inner = [
        ca.if_else(ca.logic_and(ca.fabs(x) >= size, x * fall > 0), 0, fall)
        for x, size, fall in zip(*map(entries, (position, face.sizes, falls)), strict=True)
    ]
    return FacePoint(position, ca.vertcat(*inner), distance, step)


def _is_peak(geometry: Geometry, terrain: object, face: Face, end: FacePoint) -> SX:
    """Return 1 if the search ended inside the face, on ground that is convex and faces it."""
    sizes = face.sizes
    step = PROBE_DISTANCE * sizes[1]
    probes = [end.position, end.position + ca.vertcat(step, 0), end.position + ca.vertcat(0, step)]
    normals = [
        frame[0, :].T
        for _, frame in geometry.terrain.surfaces([face.point(probe) for probe in probes], terrain)
    ]
    first, *others = (ca.mtimes(face.directions, normal) for normal in normals)
    (a, b), (c, d) = (entries((other - first) / step) for other in others)
    # the smaller of the two principal curvatures
    mean, cross = (a + d) / 2, (b + c) / 2
    least = mean - ca.sqrt(((a - d) / 2) ** 2 + cross**2 + MIN_LENGTH**2)
    out = ca.cross(face.half, face.across)
    facing = -ca.dot(normals[0], out) > MIN_FACING * ca.sqrt(ca.sumsqr(out) + MIN_LENGTH**2)
    flat = ca.sumsqr(end.descent) < MAX_SLOPE**2
    relative = ca.fabs(end.position) / sizes
    within = ca.if_else(
        face.round,
        ca.sumsqr(relative) < INNER_FRACTION**2,
        ca.fmax(relative[0], relative[1]) < INNER_FRACTION,
    )
    curved = least * sizes[1] > MIN_CURVATURE
    return ca.logic_and(ca.logic_and(facing, flat), ca.logic_and(within, curved))
