"""Contacts of two boxes, without branches.

The contact normal is the axis along which the boxes are farthest apart, or overlap least. The
possible axes are the face normals of both boxes and the cross products of their edges. If it is a
face normal, that box is the reference: the face of the other box that is opposite to it is clipped
by the sides of the reference face. Each edge of the clipped face gives a contact at its start and,
if it is cut, one at its end. The corners of the reference face inside the other one give four more.
If the axis is a cross product, two edges touch at one point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
from casadi import SX

from tarsus.collision.closest_point.capsule_box import ABSENT_GAP, SAME_POSITION, Block, sign
from tarsus.collision.closest_point.segments import Segment, clip, closest_offset

MIN_IMPROVEMENT = 0.05  # relative to the depth: an axis replaces the first only if better by this
MIN_CROSS_SQUARE = 1e-4  # edges whose unit cross product has a smaller square count as parallel
CLIP_MARGIN = 1e-3  # relative to the shortest half edge: closer edges do not cut each other
SHARING_DISTANCE = 0.1  # relative to the shortest half edge: closer corners share one stiffness
# edges of a face: signs of the start along both axes, and of the vector from there to the end
EDGES = ((1, 1, -2, 0), (-1, 1, 0, -2), (-1, -1, 2, 0), (1, -1, 0, 2))


@dataclass(frozen=True, eq=False)
class FacePair:
    """Reference face, and the face of the other box that is opposite to it.

    Coordinates are those of the reference: along its outward normal, and along both edges of its
    face.

    Parameters
    ----------
    origin, axes : SX
        Origin (3,), world, m, and axes (3, 3), world, as columns.
    half : SX
        Half edges (3,) of the reference box, m.
    middle, half_edge_1, half_edge_2 : SX
        Middle and both half edges of the other face, (3,) each, m.
    normal : SX
        Contact normal (3,), away from the second box, world.
    edge, gap, point : SX
        1 if two edges touch instead of faces; the gap of these edges, m, and the point (3,) where
        they touch, world, m.
    """

    origin: SX
    axes: SX
    half: SX
    middle: SX
    half_edge_1: SX
    half_edge_2: SX
    normal: SX
    edge: SX
    gap: SX
    point: SX

    @cached_property
    def min_half_edge(self) -> SX:
        """Shortest half edge of both faces, m."""
        halves = [
            self.half[1],
            self.half[2],
            *(ca.norm_2(half) for half in (self.half_edge_1, self.half_edge_2)),
        ]
        return ca.mmin(ca.vertcat(*halves))

    @cached_property
    def band(self) -> SX:
        """Distance from the reference face up to which a corner still counts as above it, m."""
        return CLIP_MARGIN * self.min_half_edge

    def contact(self, row: SX | int) -> tuple[SX, SX]:
        """Compute the gap of a contact, m, and its point (3,), world, m."""
        corner, exists = self._vertex(row)
        # half way between the faces
        height = corner[0] - self.half[0]
        between_both = ca.vertcat(corner[0] - 0.5 * height, corner[1], corner[2])
        point = self.origin + ca.mtimes(self.axes, between_both)
        gap = ca.if_else(ca.logic_and(exists, ca.logic_not(self.edge)), height, ABSENT_GAP)
        first = ca.logic_and(self.edge, SX(row) == 0)
        return ca.if_else(first, self.gap, gap), ca.if_else(first, self.point, point)

    def share(self, row: SX | int) -> SX:
        """Compute the factor on the stiffness of a contact, 0 to 1.

        Where edges of both faces are nearly parallel, two corners of the shared area merge, or one
        splits into two. Corners closer than SHARING_DISTANCE have the stiffness of one together,
        however many there are.
        """
        reach = SHARING_DISTANCE * self.min_half_edge
        (vertex, _), others = self._vertex(row), [self._vertex(k) for k in range(3 * len(EDGES))]
        together = SX(0)
        for corner, exists in others:
            distance = (corner - vertex)[1:] / reach
            together += ca.if_else(exists, ca.fmax(1 - ca.dot(distance, distance), 0) ** 2, 0)
        return ca.if_else(self.edge, 1, 1 / ca.fmax(together, 1))

    def _vertex(self, row: SX | int) -> tuple[SX, SX]:
        """Compute the corner (3,) of the shared area of a contact, m, and 1 if it exists."""
        if isinstance(row, int):
            a, b, da, db = (SX(x) for x in EDGES[row % 4])
            return self._clip_edge(a, b, da, db, SX(row // 4)) if row < 8 else self._corner(a, b)
        kind = ca.floor(row / 4)
        k = row - 4 * kind
        a, b, da, db = (_select_of_four(k, *column) for column in zip(*EDGES, strict=True))
        cut, corner = self._clip_edge(a, b, da, db, kind), self._corner(a, b)
        is_corner = kind == 2
        point, exists = (ca.if_else(is_corner, *both) for both in zip(corner, cut, strict=True))
        return point, exists

    def _clip_edge(self, a: SX, b: SX, da: SX, db: SX, ending: SX) -> tuple[SX, SX]:
        """Compute the start (`ending` 0) or end (1) of an edge above the face, and 1 if it exists.

        The edge starts at the corner (a, b) of the other face and extends by (da, db).
        """
        start, along = (
            self.middle + a * self.half_edge_1 + b * self.half_edge_2,
            da * self.half_edge_1 + db * self.half_edge_2,
        )
        first, last = clip(start[1:], along[1:], self.half[1:] + self.band)
        exists = ca.logic_and(first <= last, ca.logic_or(ending < 1, last < 1 - SAME_POSITION))
        t = ca.fmin(ca.fmax(ca.if_else(ending < 1, first, last), 0), 1)
        point = start + t * along
        clamped = [ca.fmin(ca.fmax(point[k], -self.half[k]), self.half[k]) for k in (1, 2)]
        return ca.vertcat(point[0], *clamped), exists

    def _corner(self, a: SX, b: SX) -> tuple[SX, SX]:
        """Find the point of the other face above a reference corner, and 1 if it exists."""
        u, v = a * self.half[1] - self.middle[1], b * self.half[2] - self.middle[2]
        (p, q), (r, s) = (
            (self.half_edge_1[1], self.half_edge_1[2]),
            (self.half_edge_2[1], self.half_edge_2[2]),
        )
        across = p * s - q * r
        share = 1 / ca.if_else(across == 0, 1, across)
        first, second = share * (u * s - v * r), share * (v * p - u * q)
        margin = 0.5 * self.band
        inside = ca.logic_and(
            *(
                (1 - ca.fabs(t)) * ca.norm_2(half) > margin
                for t, half in ((first, self.half_edge_1), (second, self.half_edge_2))
            )
        )
        point = self.middle + first * self.half_edge_1 + second * self.half_edge_2
        return point, ca.logic_and(inside, across != 0)


@dataclass(frozen=True, eq=False)
class _RelativePose:
    """One box in the frame of another.

    Parameters
    ----------
    middle, axes : SX
        Middle (3,), m, and axes (3, 3), as columns.
    own_half, other_half : SX
        Half edges (3,) of the box in whose frame the vectors are, and of the other box, m.
    """

    middle: SX
    axes: SX
    own_half: SX
    other_half: SX


def find_face_pair(first: Block, second: Block) -> FacePair:
    """Find the faces, or edges, of two boxes that touch first."""
    a, b = _relative_poses(first, second)
    size = SAME_POSITION * ca.fmin(*(ca.mmin(half) for half in (first.half, second.half)))
    # face normals; those of the first box have preference
    of_a, of_b = _find_largest_face_gap(a), _find_largest_face_gap(b)
    (gap, k), (gap_b, k_b) = of_a, of_b
    of_second = gap_b > gap + MIN_IMPROVEMENT * ca.fabs(gap) + size
    gap, k = ca.if_else(of_second, gap_b, gap), ca.if_else(of_second, k_b, k)
    # cross products of edges
    edge_gap, normal, point = _find_largest_edge_gap(a, first, second)
    edge = edge_gap > gap + MIN_IMPROVEMENT * ca.fabs(gap) + size
    # the reference box, with the axis of its normal first
    pose = [
        ca.if_else(of_second, y, x)
        for x, y in (
            (a.middle, b.middle),
            (a.axes, b.axes),
            (a.own_half, b.own_half),
            (a.other_half, b.other_half),
        )
    ]
    middle, axes, half = (_cycle_rows(k, part) for part in pose[:3])
    rotation = ca.if_else(of_second, second.rotation, first.rotation)
    world = _cycle_rows(k, rotation.T).T
    side = sign(middle[0])
    # its normal points to the other box
    flip = ca.diag(ca.vertcat(side, 1, 1))
    middle, axes, world = ca.mtimes(flip, middle), ca.mtimes(flip, axes), ca.mtimes(world, flip)
    # the opposite face of the other box
    steep = ca.fabs(axes[0, :])
    j = ca.if_else(
        ca.logic_and(steep[0] >= steep[1], steep[0] >= steep[2]),
        0,
        ca.if_else(steep[1] >= steep[2], 1, 2),
    )
    columns, other = _cycle_rows(j, axes.T).T, _cycle_rows(j, pose[3])
    down = -sign(columns[0, 0]) * other[0]
    return FacePair(
        origin=ca.if_else(of_second, second.middle, first.middle),
        axes=world,
        half=half,
        middle=middle + down * columns[:, 0],
        half_edge_1=other[1] * columns[:, 1],
        half_edge_2=other[2] * columns[:, 2],
        normal=ca.if_else(edge, normal, ca.if_else(of_second, 1, -1) * world[:, 0]),
        edge=edge,
        gap=edge_gap,
        point=point,
    )


def _relative_poses(first: Block, second: Block) -> tuple[_RelativePose, _RelativePose]:
    """Express each box in the frame of the other one."""
    a = _RelativePose(
        first.to_box(second.middle),
        ca.mtimes(first.rotation.T, second.rotation),
        first.half,
        second.half,
    )
    return a, _RelativePose(second.to_box(first.middle), a.axes.T, second.half, first.half)


def _find_largest_face_gap(pose: _RelativePose) -> tuple[SX, SX]:
    """Find the largest gap along a face normal of the first box, m, and the normal's index."""
    reach = pose.own_half + ca.mtimes(ca.fabs(pose.axes), pose.other_half)
    gaps = ca.fabs(pose.middle) - reach
    best, index = gaps[0], SX(0)
    for k in (1, 2):
        more = gaps[k] > best
        best, index = ca.if_else(more, gaps[k], best), ca.if_else(more, k, index)
    return best, index


def _find_largest_edge_gap(pose: _RelativePose, first: Block, second: Block) -> tuple[SX, SX, SX]:
    """Find the largest gap along a cross product of edges, m, and where these edges touch.

    That is the normal (3,), away from the second box, and the point (3,) between the edges, world,
    m.
    """
    # the best of nine
    C, t, best, one, two = pose.axes, pose.middle, -SX.inf(), SX(0), SX(0)
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            square = 1 - C[i, j] * C[i, j]
            reach = pose.own_half[i1] * ca.fabs(C[i2, j]) + pose.own_half[i2] * ca.fabs(C[i1, j])
            reach += pose.other_half[j1] * ca.fabs(C[i, j2]) + pose.other_half[j2] * ca.fabs(
                C[i, j1]
            )
            separation = ca.fabs(t[i2] * C[i1, j] - t[i1] * C[i2, j]) - reach
            gap = separation / ca.sqrt(ca.fmax(square, MIN_CROSS_SQUARE))
            more = ca.logic_and(square > MIN_CROSS_SQUARE, gap > best)
            best, one = ca.if_else(more, gap, best), ca.if_else(more, i, one)
            two = ca.if_else(more, j, two)
    # their edges
    a, b = _cycle_rows(one, first.rotation.T).T, _cycle_rows(two, second.rotation.T).T
    across = ca.cross(a[:, 0], b[:, 0])
    across *= sign(ca.dot(across, second.middle - first.middle))
    across /= ca.sqrt(ca.fmax(ca.dot(across, across), MIN_CROSS_SQUARE))
    lines = []
    for box, half_lengths, k, toward in ((first, a, one, across), (second, b, two, -across)):
        half, middle = _cycle_rows(k, box.half), box.middle
        for n in (1, 2):
            middle += sign(ca.dot(toward, half_lengths[:, n])) * half[n] * half_lengths[:, n]
        lines.append(Segment(middle, half[0] * half_lengths[:, 0], half[0] ** 2))
    separation, along = closest_offset(*lines)
    assert lines[0].half is not None
    nearest = lines[0].middle + along * lines[0].half
    return best, -across, nearest - 0.5 * separation


def _cycle_rows(k: SX, rows: SX) -> SX:
    """Return rows k, k + 1, k + 2 of three, modulo three."""
    zero, one, two = ca.vertsplit(rows)
    orders = ((zero, one, two), (one, two, zero), (two, zero, one))
    return ca.if_else(k == 1, ca.vertcat(*orders[1]), _last(k, orders))


def _last(k: SX, orders: tuple[tuple[SX, SX, SX], ...]) -> SX:
    return ca.if_else(k == 2, ca.vertcat(*orders[2]), ca.vertcat(*orders[0]))


def _select_of_four(k: SX, *values: int) -> SX:
    value = SX(values[0])
    for n in (1, 2, 3):
        value = ca.if_else(k == n, values[n], value)
    return value
