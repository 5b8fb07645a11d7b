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
from tarsus.collision.closest_point.face_ground import Face, nearest_inside, with_face
from tarsus.collision.deepest import OUTSIDE, Deepest
from tarsus.collision.distance_bounds import EdgeBounds
from tarsus.collision.flags import Flags
from tarsus.collision.geometry import Geometry
from tarsus.collision.ground import REFINEMENTS
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.spans import ARCS, Span, arcs, faces, searched
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder

HALF_ANGLE = np.pi / ARCS  # rad: from an arc's middle to its ends
KNOTS = np.linspace(-1, 1, 6)  # places where the ground is evaluated first
ROUNDS = 6  # evaluations between two knots
MIN_TURN = 1e-4  # rad: ground that turns less between two knots counts as straight
MIN_RISE = 0.02  # change of the distance per length below which ground may be straight: round-off
INSIDE = 0.02  # of the distance between two evaluations: the next one is no closer to either
SAME_POINT = 0.03  # of a rim's radius: closer to the rim's own contact, a contact is the same
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
    def bent(self) -> SX:
        """1 for an arc, 0 for a segment."""
        return SX(0) if self.out is None else ca.dot(self.out, self.out) > 0

    @property
    def length(self) -> SX:
        """Half the length, m."""
        length = ca.sqrt(ca.dot(self.half, self.half) + MIN_LENGTH**2)
        return length if self.out is None else ca.if_else(self.bent, HALF_ANGLE, 1) * length

    def arm(self, place: SX | float) -> SX:
        """Return the vector (3,) from `middle` to the point at a place from -1 to 1, m."""
        if self.out is None:
            return place * self.half
        angle = HALF_ANGLE * place
        return ca.if_else(self.bent, ca.sin(angle), place) * self.half + ca.cos(angle) * self.out

    def at(self, place: SX | float) -> SX:
        """Return the point (3,) at a place from -1 to 1."""
        return self.middle + self.arm(place)

    def way(self, place: SX | float) -> SX:
        """Return the derivative (3,) of the point with respect to the place, m."""
        if self.out is None:
            return self.half
        angle = HALF_ANGLE * place
        turned = HALF_ANGLE * (ca.cos(angle) * self.half - ca.sin(angle) * self.out)
        return ca.if_else(self.bent, turned, self.half)

    def lowest(self, normal: SX) -> SX:
        """Return the vector (3,) from the center to the rim's lowest point along a normal, m."""
        assert self.out is not None
        out, ahead = ca.dot(normal, self.out), ca.dot(normal, self.half)
        return -(out * self.out + ahead * self.half) / ca.sqrt(out**2 + ahead**2 + MIN_LENGTH**2)

    def rising(self, place: SX, normal: SX) -> SX:
        """Return the curvature away from ground with that normal (3,), 1/m; 0 for a segment."""
        if self.out is None:
            return SX(0)
        squared = ca.dot(self.out, self.out) + MIN_LENGTH**2
        return ca.if_else(self.bent, -ca.dot(normal, self.arm(place)) / squared, 0)


@dataclass(frozen=True, eq=False)
class Look:
    """Ground at a place on a curve: distance, m, and its derivative along the curve, m."""

    place: SX
    distance: SX
    slope: SX


def nearest(geometry: Geometry, terrain: object, curve: Curve, normals: Sequence[SX] = ()) -> SX:
    """Return the place on a curve, -1 to 1, where the ground is closest; OUTSIDE if at an end.

    It is also OUTSIDE if a face with one of the `normals` (3,), which meet at the curve, touches
    there instead.
    """
    there, *knots = _valley(geometry, terrain, curve)
    place = _closer(geometry, terrain, curve, knots)
    there = ca.logic_and(there, _own(geometry, terrain, curve, place))
    [(_, frame)] = geometry.terrain.surfaces([curve.at(place)], terrain)
    there = ca.logic_and(there, ca.logic_not(_of_face(frame, normals)))
    return ca.if_else(there, place, OUTSIDE)


def _of_face(frame: SX, normals: Sequence[SX]) -> SX:
    """Return 1 if the contact at an edge belongs to a face that meets there (`face_edges`)."""
    level = [normal[2] < -LEVEL for normal in normals]
    return ca.logic_and(frame[0, 2] > LEVEL, reduce(ca.logic_or, level, SX(0)))


def _own(geometry: Geometry, terrain: object, curve: Curve, place: SX) -> SX:
    """Return 1 unless the contact on an arc is the one that its rim has anyway (`ground`)."""
    if curve.out is None:
        return SX(1)
    arm = SX.zeros(3)
    for _ in range(REFINEMENTS):
        [(_, frame)] = geometry.terrain.surfaces([curve.middle + arm], terrain)
        arm = curve.lowest(frame[0, :].T)
    same = ca.sumsqr(curve.arm(place) - arm) < SAME_POINT**2 * ca.dot(curve.half, curve.half)
    return ca.logic_not(ca.logic_and(curve.bent, same))


def _valley(geometry: Geometry, terrain: object, curve: Curve) -> tuple[SX, Look, Look]:
    """Return 1 if the distance has a minimum between two knots, and these two; the deepest such."""
    found = _looks(geometry, terrain, curve, [SX(knot) for knot in KNOTS])
    length = curve.length
    best, a, b = SX.inf(), found[0], found[1]
    for left, right in pairwise(found):
        turned = right.slope - left.slope > MIN_TURN * length
        risen = MIN_RISE * length * (right.place - left.place)
        falls = ca.logic_and(left.slope < 0, right.slope >= 0)
        hidden = ca.logic_or(
            ca.logic_and(left.slope < 0, right.distance > left.distance + risen),
            ca.logic_and(right.slope > 0, left.distance > right.distance + risen),
        )
        low = ca.fmin(left.distance, right.distance)
        valley = ca.logic_or(ca.logic_and(falls, turned), hidden)
        better = ca.logic_and(valley, low < best)
        best = ca.if_else(better, low, best)
        a, b = _either(better, left, a), _either(better, right, b)
    return best < SX.inf(), a, b


def _closer(
    geometry: Geometry,
    terrain: object,
    curve: Curve,
    knots: Sequence[Look],
    builder: Builder | None = None,
) -> SX:
    """Return the place between two knots where the ground is nearest; OUTSIDE if at one of them."""
    a, b = knots
    for k in range(ROUNDS):
        if builder is not None:
            a, b = builder.store_all("bracket", (a, b))
        [c] = _looks(geometry, terrain, curve, [_proposed(a, b, tangents=k % 2 == 0)])
        ahead = _ahead(a, b, c)
        a, b = _either(ahead, c, a), _either(ahead, b, c)
    there = ca.logic_and(a.slope < 0, b.slope >= 0)
    return ca.if_else(there, _proposed(a, b, tangents=False, inside=0.0), OUTSIDE)


def place_of(
    geometry: Geometry, kin: Kinematics, terrain: object, span: Span
) -> tuple[SX, SX | None, tuple[SX, SX] | None]:
    """Return where a span touches the ground.

    Returns
    -------
    tuple
        Place along the span; place across it, or None if it is not a face; normal (3,) and gap, m,
        of a face's contact with an edge of the ground, or None for other contacts.
    """
    pose = kin.world_rotation[span.body], kin.world_position[span.body]
    columns = Columns(span.bent, wide=False, edges=False)
    curve = _line(SX(DM(columns.row(span, 0))), *pose, span.bent)
    if not span.wide:
        normals = [ca.mtimes(pose[0], DM(normal)) for normal in span.normals if normal.any()]
        return nearest(geometry, terrain, curve, normals), None, None
    across = ca.mtimes(pose[0], DM(span.across))
    face = Face(curve.middle, curve.half, across, SX(int(span.round)))
    if span.row < 0:
        place, _ = nearest_inside(geometry, terrain, face)
        return place[0], place[1], None
    place, gap = deepest_edge_contact(geometry, terrain, face, span.depth, span.row)
    x = ca.if_else(gap < SX.inf(), place[0], OUTSIDE)
    return x, place[1], (-face.outward, gap)


def deepest_spans(
    geometry: Geometry,
    kin: Kinematics,
    terrain: object,
    ends: Mapping[str, tuple[SX, SX]],
    builder: Builder,
) -> Deepest:
    """Return the deepest of the spans that may touch.

    ends: `EdgeBounds.seen` of the candidates between which the spans lie, by name
    """
    # usually a bound for parallel edges excludes all of them
    names = sorted({name for span in geometry.spans for name in span.ends})
    bounds = EdgeBounds.of(geometry, terrain)
    held_ends = builder.store_all("ends", [ends[name] for name in names])
    seen = dict(zip(names, held_ends, strict=True))
    near_any = reduce(ca.logic_or, bounds.any_near(seen))
    spans = searched(geometry.spans)
    columns = Columns.of(geometry.spans)
    bent, wide, edges = columns.bent, columns.wide, columns.edges
    table = np.array(columns.table(geometry.spans, len(geometry.candidates)))
    bodies = sorted({span.body for span in spans})
    poses = [(kin.world_rotation[b], kin.world_position[b]) for b in bodies]

    def inside(_: Values) -> tuple[Values, SX]:
        near = [bounds.may_touch_span(span, seen) for span in spans]
        flags, own = builder.store_all("near", (Flags.of(near), poses))

        # one after the other, of those that are near
        def look(now: Values) -> tuple[Values, SX]:
            size = table.shape[1]
            at, others = builder.store_all("at", Flags(now["flags"]).first())
            index = ca.vertcat(*(size * at + k for k in range(size)))
            row, number = builder.lookup("spans", table, index), at + len(geometry.candidates)
            pose = _pose(row[0], bodies, own)
            curve, radius = builder.store_all("line", (_line(row, *pose, bent), row[7]))
            found: Values = {name: now[name] for name in begin}
            flat, normals = None, list[SX]()
            if wide:
                own_face = row[columns.face]
                across = ca.mtimes(pose[0], own_face[:3])
                face = Face(curve.middle, curve.half, across, own_face[3])
                face = builder.store_all("face", face)
                flat = ca.sumsqr(own_face[:3]) > 0
                inserted = with_face(geometry, terrain, number, face, builder)
                if edges:
                    depth, row_0 = ca.vertsplit(row[columns.first_row])
                    face_of = geometry, terrain, row_0, face, depth
                    inserted = with_edge_contacts(*face_of, builder)
                    normals = [ca.mtimes(pose[0], row[own]) for own in columns.normals]
                found = builder.loop(found, inserted, 1, flat)
            line = number, curve, radius, flat, normals
            found = _with_line(geometry, terrain, line, found, builder)
            after = {name: found[name] for name in begin} | {"flags": others.words}
            return after, others.any

        first = begin | {"flags": flags.words}
        last = builder.loop(first, look, len(spans), flags.any)
        return {name: last[name] for name in begin}, SX(0)

    begin = Deepest.none(geometry.slots, spans=True, faces=wide, edges=edges).values()
    return Deepest.of(builder.cold_loop(begin, inside, 1, near_any))


def _with_line(
    geometry: Geometry,
    terrain: object,
    line: tuple[SX, Curve, SX, SX | None, Sequence[SX]],
    found: Values,
    builder: Builder,
) -> Values:
    """Return the deepest spans with one more, if the ground is nearest inside it.

    line: its number, curve, radius in m, 1 for a face, which is examined elsewhere, and the normals
    (3,) of the faces that meet there
    """
    number, curve, radius, flat, normals = line
    there, *knots = builder.store_all("knots", _valley(geometry, terrain, curve))

    # closer, where there is a valley
    def refined(before: Values) -> tuple[Values, SX]:
        place = builder.store("place", _closer(geometry, terrain, curve, knots, builder))
        distance, frame = geometry.terrain.surfaces([curve.at(place)], terrain)[0]
        own = ca.logic_and(place < OUTSIDE, _own(geometry, terrain, curve, place))
        own = ca.logic_and(own, ca.logic_not(_of_face(frame, normals)))
        gap = ca.if_else(own, distance - radius, SX.inf())
        new = Deepest.of(before).with_one(number, gap, place, geometry.closes(gap))
        return new.values(), SX(0)

    if flat is not None:
        there = ca.logic_and(there, ca.logic_not(flat))
    return builder.loop(found, refined, 1, there)


@dataclass(frozen=True)
class Columns:
    """Columns of the table of spans: body, middle (3,), half (3,), radius, and more if needed.

    Parameters
    ----------
    bent : bool
        Whether there are arcs: then out (3,) follows.
    wide : bool
        Whether there are faces: then across (3,), and 1 for a disc.
    edges : bool
        Whether faces touch edges of the ground: then the depth of a face and the number of its
        first such contact, and the normals (2, 3) of the faces that meet at an edge.
    """

    bent: bool
    wide: bool
    edges: bool

    @classmethod
    def of(cls, spans: Collection[Span]) -> Columns:
        """Return the columns that these spans need."""
        return cls(arcs(spans), faces(spans), len(searched(spans)) < len(spans))

    @property
    def face(self) -> slice:
        """Columns of `across` and `round`."""
        return slice(8 + 3 * self.bent, 12 + 3 * self.bent)

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
        """Return the rows of the spans that are searched, given the number of candidates."""
        number = candidates + len(searched(spans))
        count = 1 + max((span.row for span in spans), default=0)
        rows = []
        for span in searched(spans):
            rows.append(self.row(span, number))
            number += count if span.wide else 0
        return rows

    def row(self, span: Span, first: int) -> list[float]:
        """Return the row of a span; first: number of its first contact with an edge."""
        row = [span.body, *span.middle, *span.half, span.radius]
        row += [*span.out] if self.bent else []
        row += [*span.across, span.round] if self.wide else []
        return row + ([span.depth, first, *span.normals.ravel()] if self.edges else [])


def _pose(body: SX, bodies: list[int], poses: list[tuple[SX, SX]]) -> tuple[SX, SX]:
    """Select the rotation (3, 3) and origin (3,), m, of a body."""
    (R, origin), *others = poses
    for b, (own, at) in zip(bodies[1:], others, strict=True):
        R, origin = ca.if_else(body == b, own, R), ca.if_else(body == b, at, origin)
    return R, origin


def _line(numbers: SX, R: SX, origin: SX, bent: bool) -> Curve:
    """Place a span with these numbers in the world, given the pose of its body."""
    out = ca.mtimes(R, numbers[8:11]) if bent else None
    return Curve(origin + ca.mtimes(R, numbers[1:4]), ca.mtimes(R, numbers[4:7]), out)


def _looks(geometry: Geometry, terrain: object, curve: Curve, places: list[SX]) -> list[Look]:
    points = [curve.at(place) for place in places]
    found = geometry.terrain.surfaces(points, terrain)
    return [
        Look(place, distance, ca.dot(frame[0, :].T, curve.way(place)))
        for place, (distance, frame) in zip(places, found, strict=True)
    ]


def _proposed(a: Look, b: Look, tangents: bool, inside: float = INSIDE) -> SX:
    """Return where to look between two: where tangents meet, or where the secant slope is zero.

    It is the middle if the distance does not fall and grow again between them.
    """
    width, change = b.place - a.place, ca.fmax(b.slope - a.slope, MIN_LENGTH)
    rise = a.distance - b.distance + b.slope * width if tangents else -a.slope * width
    share = ca.fmin(ca.fmax(rise / (change * width), inside), 1 - inside)
    both = ca.logic_and(a.slope < 0, b.slope >= 0)
    return a.place + ca.if_else(both, share, 0.5) * width


def _ahead(a: Look, b: Look, c: Look) -> SX:
    """Return 1 if the minimum lies beyond the third look, which is between the first two."""
    falls, grows = a.slope < 0, b.slope >= 0
    left = ca.logic_and(c.slope < 0, ca.logic_or(grows, c.distance <= a.distance))
    right = ca.logic_not(ca.logic_and(c.slope > 0, c.distance <= b.distance))
    return ca.if_else(falls, left, right)


def _either(flag: SX, new: Look, old: Look) -> Look:
    both = zip(vars(new).values(), vars(old).values(), strict=True)
    return Look(*(ca.if_else(flag, one, other) for one, other in both))
