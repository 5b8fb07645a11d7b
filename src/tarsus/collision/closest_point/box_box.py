"""Contacts of two boxes, without branches.

The separating axis with the largest gap, or the least overlap, is the normal; candidates are the
face normals of both boxes and the cross products of their edges. If it is a face normal, that box
is the reference, and the opposite face of the other is clipped by the reference's sides. Each of
its four edges gives a contact where it begins and, if it is cut, one where it ends; the corners of
the reference inside it give four more. Otherwise the two edges touch at one point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
from casadi import SX

from tarsus.collision.closest_point.capsule_box import ABSENT_GAP, SAME_PLACE, Block, side_of
from tarsus.collision.closest_point.segments import Segment, between

LESS = 0.05  # of its depth: by so much less an axis must overlap to take the first's place
PARALLEL = 1e-4  # edges whose product's square is less have no normal of their own
# of a face's size: an edge that changes less along it is parallel to its side, and cut nowhere. It
# is round-off alone: a part of SAME_PLACE would end the edge of an equal box too early
STRAIGHT = 1e-12
BAND = 1e-3  # of a face's least half edge: edges this near to each other do not cut each other
CLOSE = 0.1  # of a face's least half edge: nearer corners share the stiffness of one
AROUND = ((1, 1, -2, 0), (-1, 1, 0, -2), (-1, -1, 2, 0), (1, -1, 0, 2))  # an edge: corner, way


@dataclass(frozen=True, eq=False)
class Facing:
    """A reference face and the other box's face that looks at it, in coordinates of the
    reference: along its normal out of the box, and along both edges of the face.

    origin (3,), axes (3, 3): world place of zero, m, and world directions, columns
    half (3,): the reference's half edges, m
    middle, one, two (3,): the other face's middle and half edges, m
    normal (3,): away from the second box, world
    edge, gap, point (3,): whether two edges meet instead; how far apart, m, and where, m, world
    """

    origin: SX
    axes: SX
    half: SX
    middle: SX
    one: SX
    two: SX
    normal: SX
    edge: SX
    gap: SX
    point: SX

    @cached_property
    def least(self) -> SX:
        """The shortest half edge of both faces, m."""
        halves = [self.half[1], self.half[2], *(ca.norm_2(way) for way in (self.one, self.two))]
        return ca.mmin(ca.vertcat(*halves))

    @cached_property
    def band(self) -> SX:
        """How far outside the reference a corner is still above it, m."""
        return BAND * self.least

    def contact(self, row: SX | int) -> tuple[SX, SX]:
        """The gap of one of the contacts, m, and where it is (3,), m, world."""
        place, there = self._vertex(row)
        # half way between the faces
        height = place[0] - self.half[0]
        between_both = ca.vertcat(place[0] - 0.5 * height, place[1], place[2])
        point = self.origin + ca.mtimes(self.axes, between_both)
        gap = ca.if_else(ca.logic_and(there, ca.logic_not(self.edge)), height, ABSENT_GAP)
        first = ca.logic_and(self.edge, SX(row) == 0)
        return ca.if_else(first, self.gap, gap), ca.if_else(first, self.point, point)

    def share(self, row: SX | int) -> SX:
        """What one of the contacts has of the stiffness of its place [1].

        Where the faces are nearly parallel two corners of what they share fall together, or one
        becomes two: those nearer to each other than a part of the faces have the stiffness of one
        together, whatever their number.
        """
        reach = CLOSE * self.least
        (own, _), others = self._vertex(row), [self._vertex(k) for k in range(3 * len(AROUND))]
        together = SX(0)
        for place, there in others:
            apart = (place - own)[1:] / reach
            together += ca.if_else(there, ca.fmax(1 - ca.dot(apart, apart), 0) ** 2, 0)
        return ca.if_else(self.edge, 1, 1 / ca.fmax(together, 1))

    def _vertex(self, row: SX | int) -> tuple[SX, SX]:
        """Where the other's face is cut (3,), m, of one of the contacts, and whether."""
        if isinstance(row, int):
            a, b, da, db = (SX(x) for x in AROUND[row % 4])
            return self._cut(a, b, da, db, SX(row // 4)) if row < 8 else self._corner(a, b)
        kind = ca.floor(row / 4)
        k = row - 4 * kind
        a, b, da, db = (_of_four(k, *column) for column in zip(*AROUND, strict=True))
        cut, corner = self._cut(a, b, da, db, kind), self._corner(a, b)
        beside = kind == 2
        place, there = (ca.if_else(beside, *both) for both in zip(corner, cut, strict=True))
        return place, there

    def _cut(self, a: SX, b: SX, da: SX, db: SX, ending: SX) -> tuple[SX, SX]:
        """Where the edge from corner (a, b) begins (0) or ends (1) above the face, and whether."""
        start, way = self.middle + a * self.one + b * self.two, da * self.one + db * self.two
        first, last = SX(0), SX(1)
        for k in (1, 2):
            size = self.half[k] + self.band
            straight = STRAIGHT * size
            step = ca.if_else(ca.fabs(way[k]) < straight, straight, way[k])
            ways = (-size - start[k]) / step, (size - start[k]) / step
            first, last = ca.fmax(first, ca.fmin(*ways)), ca.fmin(last, ca.fmax(*ways))
        there = ca.logic_and(first <= last, ca.logic_or(ending < 1, last < 1 - SAME_PLACE))
        t = ca.fmin(ca.fmax(ca.if_else(ending < 1, first, last), 0), 1)
        place = start + t * way
        beside = [ca.fmin(ca.fmax(place[k], -self.half[k]), self.half[k]) for k in (1, 2)]
        return ca.vertcat(place[0], *beside), there

    def _corner(self, a: SX, b: SX) -> tuple[SX, SX]:
        """The other's face above the reference's corner, and whether it reaches there."""
        u, v = a * self.half[1] - self.middle[1], b * self.half[2] - self.middle[2]
        (p, q), (r, s) = (self.one[1], self.one[2]), (self.two[1], self.two[2])
        across = p * s - q * r
        share = 1 / ca.if_else(across == 0, 1, across)
        first, second = share * (u * s - v * r), share * (v * p - u * q)
        short = 0.5 * self.band
        there = ca.logic_and(
            *(
                (1 - ca.fabs(at)) * ca.norm_2(way) > short
                for at, way in ((first, self.one), (second, self.two))
            )
        )
        place = self.middle + first * self.one + second * self.two
        return place, ca.logic_and(there, across != 0)


@dataclass(frozen=True, eq=False)
class _Seen:
    """The second box from the first: middle (3,), m, axes (3, 3); half edges (3,), m, of both."""

    middle: SX
    axes: SX
    mine: SX
    other: SX


def facing_of(first: Block, second: Block) -> Facing:
    """How two boxes face each other."""
    a, b = _both(first, second)
    size = SAME_PLACE * ca.fmin(*(ca.mmin(half) for half in (first.half, second.half)))
    # the axes of faces, the first's before the second's
    of_a, of_b = _faces(a), _faces(b)
    (gap, k), (gap_b, k_b) = of_a, of_b
    second_s = gap_b > gap + LESS * ca.fabs(gap) + size
    gap, k = ca.if_else(second_s, gap_b, gap), ca.if_else(second_s, k_b, k)
    # those of edges
    edge_gap, normal, point = _edges(a, first, second)
    edge = edge_gap > gap + LESS * ca.fabs(gap) + size
    # the reference, its normal's axis first
    seen = [
        ca.if_else(second_s, y, x)
        for x, y in ((a.middle, b.middle), (a.axes, b.axes), (a.mine, b.mine), (a.other, b.other))
    ]
    middle, axes, half = (_turned(k, part) for part in seen[:3])
    rotation = ca.if_else(second_s, second.rotation, first.rotation)
    world = _turned(k, rotation.T).T
    side = side_of(middle[0])
    # its normal points at the other box
    flip = ca.diag(ca.vertcat(side, 1, 1))
    middle, axes, world = ca.mtimes(flip, middle), ca.mtimes(flip, axes), ca.mtimes(world, flip)
    # the other's face that looks at it
    steep = ca.fabs(axes[0, :])
    j = ca.if_else(
        ca.logic_and(steep[0] >= steep[1], steep[0] >= steep[2]),
        0,
        ca.if_else(steep[1] >= steep[2], 1, 2),
    )
    columns, other = _turned(j, axes.T).T, _turned(j, seen[3])
    down = -side_of(columns[0, 0]) * other[0]
    return Facing(
        origin=ca.if_else(second_s, second.middle, first.middle),
        axes=world,
        half=half,
        middle=middle + down * columns[:, 0],
        one=other[1] * columns[:, 1],
        two=other[2] * columns[:, 2],
        normal=ca.if_else(edge, normal, ca.if_else(second_s, 1, -1) * world[:, 0]),
        edge=edge,
        gap=edge_gap,
        point=point,
    )


def _both(first: Block, second: Block) -> tuple[_Seen, _Seen]:
    """The second from the first, and the first from the second."""
    a = _Seen(
        first.inside(second.middle),
        ca.mtimes(first.rotation.T, second.rotation),
        first.half,
        second.half,
    )
    return a, _Seen(second.inside(first.middle), a.axes.T, second.half, first.half)


def _faces(seen: _Seen) -> tuple[SX, SX]:
    """How far the boxes are apart along the first's normals at most, m, and along which."""
    reach = seen.mine + ca.mtimes(ca.fabs(seen.axes), seen.other)
    gaps = ca.fabs(seen.middle) - reach
    best, at = gaps[0], SX(0)
    for k in (1, 2):
        more = gaps[k] > best
        best, at = ca.if_else(more, gaps[k], best), ca.if_else(more, k, at)
    return best, at


def _edges(seen: _Seen, first: Block, second: Block) -> tuple[SX, SX, SX]:
    """How far they are apart along products of their edges at most, m; the normal away from the
    second (3,) and where these edges are nearest (3,), m, world.
    """
    # the best of nine
    C, t, best, one, two = seen.axes, seen.middle, -SX.inf(), SX(0), SX(0)
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            square = 1 - C[i, j] * C[i, j]
            reach = seen.mine[i1] * ca.fabs(C[i2, j]) + seen.mine[i2] * ca.fabs(C[i1, j])
            reach += seen.other[j1] * ca.fabs(C[i, j2]) + seen.other[j2] * ca.fabs(C[i, j1])
            apart = ca.fabs(t[i2] * C[i1, j] - t[i1] * C[i2, j]) - reach
            gap = apart / ca.sqrt(ca.fmax(square, PARALLEL))
            more = ca.logic_and(square > PARALLEL, gap > best)
            best, one = ca.if_else(more, gap, best), ca.if_else(more, i, one)
            two = ca.if_else(more, j, two)
    # their edges
    a, b = _turned(one, first.rotation.T).T, _turned(two, second.rotation.T).T
    across = ca.cross(a[:, 0], b[:, 0])
    across *= side_of(ca.dot(across, second.middle - first.middle))
    across /= ca.sqrt(ca.fmax(ca.dot(across, across), PARALLEL))
    lines = []
    for box, own, k, toward in ((first, a, one, across), (second, b, two, -across)):
        half, middle = _turned(k, box.half), box.middle
        for n in (1, 2):
            middle += side_of(ca.dot(toward, own[:, n])) * half[n] * own[:, n]
        lines.append(Segment(middle, half[0] * own[:, 0], half[0] ** 2))
    apart, along = between(*lines)
    assert lines[0].half is not None
    nearest = lines[0].middle + along * lines[0].half
    return best, -across, nearest - 0.5 * apart


def _turned(k: SX, rows: SX) -> SX:
    """Rows k, k + 1, k + 2 of three, in a circle."""
    zero, one, two = ca.vertsplit(rows)
    orders = ((zero, one, two), (one, two, zero), (two, zero, one))
    return ca.if_else(k == 1, ca.vertcat(*orders[1]), _last(k, orders))


def _last(k: SX, orders: tuple[tuple[SX, SX, SX], ...]) -> SX:
    return ca.if_else(k == 2, ca.vertcat(*orders[2]), ca.vertcat(*orders[0]))


def _of_four(k: SX, *values: int) -> SX:
    found = SX(values[0])
    for n in (1, 2, 3):
        found = ca.if_else(k == n, values[n], found)
    return found
