"""Closest points of segments and arcs to uneven ground (`model.spans`).

Knots along the curve bracket the point where the ground is closest. Tangents and secants of the
distance, in turn, narrow the bracket: tangents converge best at an edge of the ground, secants
where it is round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import casadi as ca
import numpy as np
from casadi import DM, SX

from tarsus.collision.closest_point.face_edges import (
    LEVEL,
    deepest_edge_contact,
    with_edge_contacts,
)
from tarsus.collision.closest_point.face_ground import Face, closest_inside, with_face
from tarsus.collision.deepest import OUTSIDE, DeepestContacts
from tarsus.collision.distance_bounds import EdgeBounds
from tarsus.collision.flags import Flags
from tarsus.collision.geometry import Geometry
from tarsus.collision.ground import REFINEMENTS
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.spans import ARCS, Span, has_arcs, has_faces, select_searched
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder

HALF_ANGLE = np.pi / ARCS  # rad: from an arc's middle to its ends
KNOTS = np.linspace(-1, 1, 6)  # positions at which the ground is evaluated first
ROUNDS = 6  # evaluations between two knots
MIN_TURN = 1e-4  # rad: ground whose normal turns less between two knots counts as straight
MIN_RISE = 0.02  # change of the distance per length below which ground may be straight: round-off
MIN_SEPARATION = 0.02  # of the interval between two evaluations: the next is no closer to either
SAME_POINT = 0.03  # of a rim's radius: contacts that are closer to that of the rim are the same
MIN_LENGTH = 1e-12  # m


@dataclass(frozen=True, eq=False)
class Curve:
    """Span in the world.

    Parameters
    ----------
    middle, half : SX
        (3,): middle, and from there to an end, world, m. The middle of an arc is the center of its
        rim.
    out : SX or None
        (3,): from the center of the rim to the middle of the arc, m; zero for a segment; None if
        no span of the geometry is an arc.
    """

    middle: SX
    half: SX
    out: SX | None = None

    @property
    def is_arc(self) -> SX:
        """1 for an arc, 0 for a segment."""
        return SX(0) if self.out is None else ca.dot(self.out, self.out) > 0

    @property
    def length(self) -> SX:
        """Half the length, m."""
        length = ca.sqrt(ca.dot(self.half, self.half) + MIN_LENGTH**2)
        return length if self.out is None else ca.if_else(self.is_arc, HALF_ANGLE, 1) * length

    def arm(self, position: SX | float) -> SX:
        """Compute the vector (3,) from `middle` to the point at a position from -1 to 1, m."""
        if self.out is None:
            return position * self.half
        angle = HALF_ANGLE * position
        return (
            ca.if_else(self.is_arc, ca.sin(angle), position) * self.half + ca.cos(angle) * self.out
        )

    def point(self, position: SX | float) -> SX:
        """Compute the point (3,) at a position from -1 to 1."""
        return self.middle + self.arm(position)

    def derivative(self, position: SX | float) -> SX:
        """Compute the derivative (3,) of the point with respect to the position, m."""
        if self.out is None:
            return self.half
        angle = HALF_ANGLE * position
        tangent = HALF_ANGLE * (ca.cos(angle) * self.half - ca.sin(angle) * self.out)
        return ca.if_else(self.is_arc, tangent, self.half)

    def lowest(self, normal: SX) -> SX:
        """Find the vector (3,) from the center to the rim's lowest point along a normal, m."""
        assert self.out is not None
        out, ahead = ca.dot(normal, self.out), ca.dot(normal, self.half)
        return -(out * self.out + ahead * self.half) / ca.sqrt(out**2 + ahead**2 + MIN_LENGTH**2)

    def curvature(self, position: SX, normal: SX) -> SX:
        """Compute the curvature away from ground with a normal (3,), 1/m; 0 for a segment."""
        if self.out is None:
            return SX(0)
        squared = ca.dot(self.out, self.out) + MIN_LENGTH**2
        return ca.if_else(self.is_arc, -ca.dot(normal, self.arm(position)) / squared, 0)


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """Evaluation of the ground at a position: distance, m, and its derivative by position, m."""

    position: SX
    distance: SX
    slope: SX


def closest_position(
    geometry: Geometry, terrain: object, curve: Curve, normals: Sequence[SX] = ()
) -> SX:
    """Find the position on a curve, -1 to 1, where the ground is closest; OUTSIDE if at an end.

    It is also OUTSIDE if one of the faces that meet at the curve, with `normals` (3,), touches the
    ground instead.
    """
    exists, *knots = _find_bracket(geometry, terrain, curve)
    position = _refine(geometry, terrain, curve, knots)
    exists = ca.logic_and(exists, _is_separate(geometry, terrain, curve, position))
    [(_, frame)] = geometry.terrain.surfaces([curve.point(position)], terrain)
    exists = ca.logic_and(exists, ca.logic_not(_belongs_to_face(frame, normals)))
    return ca.if_else(exists, position, OUTSIDE)


def _belongs_to_face(frame: SX, normals: Sequence[SX]) -> SX:
    """Return 1 if the contact at an edge belongs to a face that meets there (`face_edges`)."""
    level = [normal[2] < -LEVEL for normal in normals]
    return ca.logic_and(frame[0, 2] > LEVEL, reduce(ca.logic_or, level, SX(0)))


def _is_separate(geometry: Geometry, terrain: object, curve: Curve, position: SX) -> SX:
    """Return 0 if the contact on an arc is the same as that of its rim (`ground`), else 1."""
    if curve.out is None:
        return SX(1)
    arm = SX.zeros(3)
    for _ in range(REFINEMENTS):
        [(_, frame)] = geometry.terrain.surfaces([curve.middle + arm], terrain)
        arm = curve.lowest(frame[0, :].T)
    same = ca.sumsqr(curve.arm(position) - arm) < SAME_POINT**2 * ca.dot(curve.half, curve.half)
    return ca.logic_not(ca.logic_and(curve.is_arc, same))


def _find_bracket(
    geometry: Geometry, terrain: object, curve: Curve
) -> tuple[SX, CurvePoint, CurvePoint]:
    """Find the two knots around the deepest minimum of the distance, after 1 if there is one."""
    knots = _evaluate(geometry, terrain, curve, [SX(knot) for knot in KNOTS])
    length = curve.length
    best, a, b = SX.inf(), knots[0], knots[1]
    for left, right in pairwise(knots):
        turned = right.slope - left.slope > MIN_TURN * length
        risen = MIN_RISE * length * (right.position - left.position)
        falls = ca.logic_and(left.slope < 0, right.slope >= 0)
        hidden = ca.logic_or(
            ca.logic_and(left.slope < 0, right.distance > left.distance + risen),
            ca.logic_and(right.slope > 0, left.distance > right.distance + risen),
        )
        low = ca.fmin(left.distance, right.distance)
        valley = ca.logic_or(ca.logic_and(falls, turned), hidden)
        better = ca.logic_and(valley, low < best)
        best = ca.if_else(better, low, best)
        a, b = _select(better, left, a), _select(better, right, b)
    return best < SX.inf(), a, b


def _refine(
    geometry: Geometry,
    terrain: object,
    curve: Curve,
    knots: Sequence[CurvePoint],
    builder: Builder | None = None,
) -> SX:
    """Find the position between two knots where the ground is closest; OUTSIDE if at a knot."""
    a, b = knots
    for k in range(ROUNDS):
        if builder is not None:
            a, b = builder.store_all("bracket", (a, b))
        [c] = _evaluate(
            geometry, terrain, curve, [_choose_next_position(a, b, tangents=k % 2 == 0)]
        )
        is_beyond = _is_beyond(a, b, c)
        a, b = _select(is_beyond, c, a), _select(is_beyond, b, c)
    is_bracketed = ca.logic_and(a.slope < 0, b.slope >= 0)
    return ca.if_else(
        is_bracketed, _choose_next_position(a, b, tangents=False, margin=0.0), OUTSIDE
    )


@dataclass(frozen=True, eq=False)
class SpanContact:
    """Contact of a span with the ground.

    Parameters
    ----------
    position : SX
        Position along the span, -1 to 1; OUTSIDE if its inside does not touch.
    cross_position : SX or None
        Position across a face, -1 to 1; None for other spans.
    normal, edge_gap : SX or None
        Normal (3,) and gap, m, of a face's contact with an edge of the ground; None for other
        contacts.
    """

    position: SX
    cross_position: SX | None = None
    normal: SX | None = None
    edge_gap: SX | None = None


def span_contact(geometry: Geometry, kin: Kinematics, terrain: object, span: Span) -> SpanContact:
    """Find the contact of a span with the ground."""
    pose = kin.world_rotation[span.body], kin.world_position[span.body]
    columns = Columns(span.is_arc, has_faces=False, edges=False)
    curve = _place_curve(SX(DM(columns.row(span, 0))), *pose, span.is_arc)
    if not span.is_face:
        normals = [ca.mtimes(pose[0], DM(normal)) for normal in span.normals if normal.any()]
        return SpanContact(closest_position(geometry, terrain, curve, normals))
    across = ca.mtimes(pose[0], DM(span.across))
    face = Face(curve.middle, curve.half, across, SX(int(span.round)))
    if span.row < 0:
        position, _ = closest_inside(geometry, terrain, face)
        return SpanContact(position[0], position[1])
    position, gap = deepest_edge_contact(geometry, terrain, face, span.depth, span.row)
    along = ca.if_else(gap < SX.inf(), position[0], OUTSIDE)
    return SpanContact(along, position[1], -face.outward, gap)


def deepest_spans(
    geometry: Geometry,
    kin: Kinematics,
    terrain: object,
    ends: Mapping[str, tuple[SX, SX]],
    builder: Builder,
) -> DeepestContacts:
    """Find the deepest contacts of spans.

    Parameters
    ----------
    geometry, kin, terrain
        Geometry of the scene, kinematics of the robot, and symbols of the terrain.
    ends : mapping
        `EdgeBounds.height_and_z` of the candidates at the ends of the spans, by name.
    builder : Builder
        Traces the loops.
    """
    # usually a bound for parallel edges excludes all of them
    names = sorted({name for span in geometry.spans for name in span.ends})
    bounds = EdgeBounds.of(geometry, terrain)
    stored = builder.store_all("ends", [ends[name] for name in names])
    heights = dict(zip(names, stored, strict=True))
    any_near = reduce(ca.logic_or, bounds.near_flags(heights))
    spans = select_searched(geometry.spans)
    columns = Columns.of(geometry.spans)
    bent, wide, edges = columns.has_arcs, columns.has_faces, columns.edges
    table = np.array(columns.table(geometry.spans, len(geometry.candidates)))
    bodies = sorted({span.body for span in spans})
    poses = [(kin.world_rotation[b], kin.world_position[b]) for b in bodies]

    def search(_: Values) -> tuple[Values, SX]:
        is_near = [bounds.may_touch_span(span, heights) for span in spans]
        flags, near_poses = builder.store_all("near_spans", (Flags.of(is_near), poses))

        # the near spans, one after the other
        def add_next(values: Values) -> tuple[Values, SX]:
            size = table.shape[1]
            k, others = builder.store_all("span", Flags(values["flags"]).first())
            index = ca.vertcat(*(size * k + column for column in range(size)))
            row, number = builder.lookup("spans", table, index), k + len(geometry.candidates)
            pose = _select_pose(row[0], bodies, near_poses)
            curve, radius = builder.store_all("line", (_place_curve(row, *pose, bent), row[7]))
            deepest: Values = {name: values[name] for name in begin}
            is_face, normals = None, list[SX]()
            if wide:
                numbers = row[columns.face]
                across = ca.mtimes(pose[0], numbers[:3])
                face = Face(curve.middle, curve.half, across, numbers[3])
                face = builder.store_all("face", face)
                is_face = ca.sumsqr(numbers[:3]) > 0
                insert = with_face(geometry, terrain, number, face, builder)
                if edges:
                    depth, row_0 = ca.vertsplit(row[columns.first_row])
                    insert = with_edge_contacts(geometry, terrain, row_0, face, depth, builder)
                    normals = [ca.mtimes(pose[0], row[part]) for part in columns.normals]
                deepest = builder.loop(deepest, insert, 1, is_face)
            line = PlacedSpan(number, curve, radius, is_face, normals)
            deepest = _with_curve(geometry, terrain, line, deepest, builder)
            after = {name: deepest[name] for name in begin} | {"flags": others.words}
            return after, others.any

        first = begin | {"flags": flags.words}
        last = builder.loop(first, add_next, len(spans), flags.any)
        return {name: last[name] for name in begin}, SX(0)

    begin = DeepestContacts.empty(
        geometry.slots, spans=True, faces=wide, edges=edges
    ).to_registers()
    return DeepestContacts.from_registers(builder.cold_loop(begin, search, 1, any_near))


@dataclass(frozen=True, eq=False)
class PlacedSpan:
    """Span of the table in the world.

    Parameters
    ----------
    number : SX
        Contact number.
    curve : Curve
        Its curve.
    radius : SX
        Radius, m.
    is_face : SX or None
        1 for a face, whose inside `with_face` searches; None if the geometry has no faces.
    normals : sequence of SX
        Normals (3,) of the faces that meet at an edge or rim.
    """

    number: SX
    curve: Curve
    radius: SX
    is_face: SX | None
    normals: Sequence[SX]


def _with_curve(
    geometry: Geometry, terrain: object, span: PlacedSpan, deepest: Values, builder: Builder
) -> Values:
    """Insert a segment or arc among the deepest spans if the ground is closest inside it."""
    curve = span.curve
    exists, *knots = builder.store_all("knots", _find_bracket(geometry, terrain, curve))

    # refine a bracketed minimum
    def insert(before: Values) -> tuple[Values, SX]:
        position = builder.store("position", _refine(geometry, terrain, curve, knots, builder))
        distance, frame = geometry.terrain.surfaces([curve.point(position)], terrain)[0]
        valid = ca.logic_and(position < OUTSIDE, _is_separate(geometry, terrain, curve, position))
        valid = ca.logic_and(valid, ca.logic_not(_belongs_to_face(frame, span.normals)))
        gap = ca.if_else(valid, distance - span.radius, SX.inf())
        new = DeepestContacts.from_registers(before).with_contact(
            span.number, gap, position, geometry.closes(gap)
        )
        return new.to_registers(), SX(0)

    if span.is_face is not None:
        exists = ca.logic_and(exists, ca.logic_not(span.is_face))
    return builder.loop(deepest, insert, 1, exists)


@dataclass(frozen=True)
class Columns:
    """Columns of the table of spans: body, middle (3,), half (3,), radius, and more if needed.

    Parameters
    ----------
    has_arcs : bool
        Whether there are arcs: then out (3,) follows.
    has_faces : bool
        Whether there are faces: then across (3,), and 1 for a disc.
    edges : bool
        Whether faces touch edges of the ground: then the depth of a face and the number of its
        first such contact, and the normals (2, 3) of the faces that meet at an edge.
    """

    has_arcs: bool
    has_faces: bool
    edges: bool

    @classmethod
    def of(cls, spans: Collection[Span]) -> Columns:
        """Return the columns that these spans need."""
        return cls(has_arcs(spans), has_faces(spans), len(select_searched(spans)) < len(spans))

    @property
    def face(self) -> slice:
        """Columns of `across` and `round`."""
        return slice(8 + 3 * self.has_arcs, 12 + 3 * self.has_arcs)

    @property
    def first_row(self) -> slice:
        """Columns of a face's depth and of the number of its first contact with an edge."""
        return slice(self.face.stop, self.face.stop + 2)

    @property
    def normals(self) -> list[slice]:
        """Columns of the normals of both faces at an edge."""
        first = self.first_row.stop
        return [slice(first, first + 3), slice(first + 3, first + 6)]

    def table(self, spans: Collection[Span], candidates: int) -> list[list[float]]:
        """Build the rows of the spans that are searched, given the number of candidates."""
        number = candidates + len(select_searched(spans))
        count = 1 + max((span.row for span in spans), default=0)
        rows = []
        for span in select_searched(spans):
            rows.append(self.row(span, number))
            number += count if span.is_face else 0
        return rows

    def row(self, span: Span, first: int) -> list[float]:
        """Build the row of a span; `first` is the number of its first contact with an edge."""
        row = [span.body, *span.middle, *span.half, span.radius]
        row += [*span.out] if self.has_arcs else []
        row += [*span.across, span.round] if self.has_faces else []
        return row + ([span.depth, first, *span.normals.ravel()] if self.edges else [])


def _select_pose(body: SX, bodies: list[int], poses: list[tuple[SX, SX]]) -> tuple[SX, SX]:
    """Select the rotation (3, 3) and origin (3,), m, of a body."""
    (R, origin), *others = poses
    for b, (R_b, origin_b) in zip(bodies[1:], others, strict=True):
        R, origin = ca.if_else(body == b, R_b, R), ca.if_else(body == b, origin_b, origin)
    return R, origin


def _place_curve(numbers: SX, R: SX, origin: SX, bent: bool) -> Curve:
    """Place a span in the world, given its row of the table and the pose of its body."""
    out = ca.mtimes(R, numbers[8:11]) if bent else None
    return Curve(origin + ca.mtimes(R, numbers[1:4]), ca.mtimes(R, numbers[4:7]), out)


def _evaluate(
    geometry: Geometry, terrain: object, curve: Curve, positions: list[SX]
) -> list[CurvePoint]:
    points = [curve.point(position) for position in positions]
    surfaces = geometry.terrain.surfaces(points, terrain)
    return [
        CurvePoint(position, distance, ca.dot(frame[0, :].T, curve.derivative(position)))
        for position, (distance, frame) in zip(positions, surfaces, strict=True)
    ]


def _choose_next_position(
    a: CurvePoint, b: CurvePoint, tangents: bool, margin: float = MIN_SEPARATION
) -> SX:
    """Choose the next position: where tangents meet, or where the secant slope is zero.

    It is the middle unless the distance decreases at the first and increases at the second.
    """
    width, change = b.position - a.position, ca.fmax(b.slope - a.slope, MIN_LENGTH)
    rise = a.distance - b.distance + b.slope * width if tangents else -a.slope * width
    share = ca.fmin(ca.fmax(rise / (change * width), margin), 1 - margin)
    both = ca.logic_and(a.slope < 0, b.slope >= 0)
    return a.position + ca.if_else(both, share, 0.5) * width


def _is_beyond(a: CurvePoint, b: CurvePoint, c: CurvePoint) -> SX:
    """Return 1 if the minimum lies between c and b, 0 if between a and c; c is between a and b."""
    falls, grows = a.slope < 0, b.slope >= 0
    left = ca.logic_and(c.slope < 0, ca.logic_or(grows, c.distance <= a.distance))
    right = ca.logic_not(ca.logic_and(c.slope > 0, c.distance <= b.distance))
    return ca.if_else(falls, left, right)


def _select(flag: SX, new: CurvePoint, old: CurvePoint) -> CurvePoint:
    both = zip(vars(new).values(), vars(old).values(), strict=True)
    return CurvePoint(*(ca.if_else(flag, one, other) for one, other in both))
