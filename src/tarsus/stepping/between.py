"""Where between a body's ends, rims and corners the ground is nearest (`model.spans`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import casadi as ca
import numpy as np
from casadi import DM, SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.spans import Span, arcs, faces
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import Scene
from tarsus.stepping.closed import closes
from tarsus.stepping.curves import Curve
from tarsus.stepping.edges_near import EdgeBounds
from tarsus.stepping.faces import Face, nearest_inside, with_face
from tarsus.stepping.flags import Flags
from tarsus.stepping.ground import LOOKS
from tarsus.stepping.lowest import NOWHERE, Lowest

KNOTS = np.linspace(-1, 1, 6)  # where the ground is looked at first
ROUNDS = 6  # looks between two of them
TURN = 1e-4  # rad: between two knots ground that turns less is straight
RISE = 0.02  # [1]: ground that comes nearer by less of the way may be straight, its distance rough
INSIDE = 0.02  # of the way between two looks: no look is nearer to one of them
APART = 0.03  # of a rim's radius: what is nearer to where the rim touches is that
TINY = 1e-12  # m


@dataclass(frozen=True, eq=False)
class Look:
    """At the ground below a place on a line: distance, m, and how fast it grows along it, m."""

    place: SX
    distance: SX
    slope: SX


def nearest(scene: Scene, terrain: object, line: Curve) -> SX:
    """The place on a line, -1 to 1, where the ground is nearest, NOWHERE if that is at an end.

    Knots find two places between which the distance falls and grows again; of several such the
    lowest. Tangents and secants of the distance come together there in turns: the ones are best at
    an edge of the ground, the others where it is round.
    """
    there, *knots = _valley(scene, terrain, line)
    place = _closer(scene, terrain, line, knots)
    there = ca.logic_and(there, _own(scene, terrain, line, place))
    return ca.if_else(there, place, NOWHERE)


def _own(scene: Scene, terrain: object, line: Curve, place: SX) -> SX:
    """1 where no candidate touches in place of a span: on an arc where its rim does not, which is
    found as in `stepping.ground`.
    """
    if line.out is None:
        return SX(1)
    arm = SX.zeros(3)
    for _ in range(LOOKS):
        [(_, frame)] = scene.terrain.surfaces([line.middle + arm], terrain)
        arm = line.lowest(frame[0, :].T)
    same = ca.sumsqr(line.arm(place) - arm) < APART**2 * ca.dot(line.half, line.half)
    return ca.logic_not(ca.logic_and(line.bent, same))


def _valley(scene: Scene, terrain: object, line: Curve) -> tuple[SX, Look, Look]:
    """1 if there is such a place between two knots, and these."""
    found = _looks(scene, terrain, line, [SX(knot) for knot in KNOTS])
    length = line.length
    best, a, b = SX.inf(), found[0], found[1]
    for left, right in pairwise(found):
        turned = right.slope - left.slope > TURN * length
        risen = RISE * length * (right.place - left.place)
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
    scene: Scene,
    terrain: object,
    line: Curve,
    knots: Sequence[Look],
    builder: Builder | None = None,
) -> SX:
    """The place between two knots where the ground is nearest, NOWHERE if it is at one of them."""
    a, b = knots
    for k in range(ROUNDS):
        if builder is not None:
            a, b = builder.hold("bracket", (a, b))
        [c] = _looks(scene, terrain, line, [_proposed(a, b, tangents=k % 2 == 0)])
        ahead = _ahead(a, b, c)
        a, b = _either(ahead, c, a), _either(ahead, b, c)
    there = ca.logic_and(a.slope < 0, b.slope >= 0)
    return ca.if_else(there, _proposed(a, b, tangents=False, inside=0.0), NOWHERE)


def place_of(scene: Scene, kin: Kinematics, terrain: object, span: Span) -> tuple[SX, SX | None]:
    """The place on a span where the ground is nearest (`nearest`), and of a face that across it
    (`nearest_inside`).
    """
    pose = kin.world_rotation[span.body], kin.world_position[span.body]
    line = _line(SX(DM(_numbers(span, span.bent, wide=False))), *pose, span.bent)
    if not span.wide:
        return nearest(scene, terrain, line), None
    across = ca.mtimes(pose[0], DM(span.across))
    face = Face(line.middle, line.half, across, SX(int(span.round)))
    place, _ = nearest_inside(scene, terrain, face)
    return place[0], place[1]


def spans_found(
    scene: Scene,
    kin: Kinematics,
    terrain: object,
    ends: Mapping[str, tuple[SX, SX]],
    builder: Builder,
) -> Lowest:
    """The lowest of the spans that may touch.

    ends: of the candidates between which they lie, by name, `EdgeBounds.seen`
    """
    # seldom is any near: a bound for edges side by side tells
    names = sorted({name for span in scene.spans for name in span.ends})
    reach = EdgeBounds.of(scene, terrain)
    told = builder.hold("ends", [ends[name] for name in names])
    seen = dict(zip(names, told, strict=True))
    near_any = reduce(ca.logic_or, reach.any_near(seen))
    bent, wide = arcs(scene.spans), faces(scene.spans)
    table = np.array([_numbers(span, bent, wide) for span in scene.spans])
    bodies = sorted({span.body for span in scene.spans})
    poses = [(kin.world_rotation[b], kin.world_position[b]) for b in bodies]

    def inside(_: Values) -> tuple[Values, SX]:
        near = [reach.may_touch_span(span, seen) for span in scene.spans]
        flags, own = builder.hold("near", (Flags.of(near), poses))

        # one after the other, of those that are near
        def look(now: Values) -> tuple[Values, SX]:
            size = table.shape[1]
            at, others = builder.hold("at", Flags(now["flags"]).first())
            index = ca.vertcat(*(size * at + k for k in range(size)))
            row, number = builder.lookup("spans", table, index), at + len(scene.candidates)
            pose = _pose(row[0], bodies, own)
            line, radius = builder.hold("line", (_line(row, *pose, bent), row[7]))
            found: Values = {name: now[name] for name in begin}
            flat = None
            if wide:
                across = ca.mtimes(pose[0], row[-4:-1])
                face = builder.hold("face", Face(line.middle, line.half, across, row[-1]))
                flat = ca.sumsqr(row[-4:-1]) > 0
                found = builder.loop(
                    found, with_face(scene, terrain, number, face, builder), 1, flat
                )
            found = _with_line(scene, terrain, (number, line, radius, flat), found, builder)
            after = {name: found[name] for name in begin} | {"flags": others.words}
            return after, others.any

        first = begin | {"flags": flags.words}
        last = builder.loop(first, look, len(scene.spans), flags.any)
        return {name: last[name] for name in begin}, SX(0)

    begin = Lowest.none(scene.slots, spans=True, faces=wide).values()
    return Lowest.of(builder.cold_loop(begin, inside, 1, near_any))


def _with_line(
    scene: Scene,
    terrain: object,
    own: tuple[SX, Curve, SX, SX | None],
    found: Values,
    builder: Builder,
) -> Values:
    """The lowest spans with one more, where it is nearest to the ground inside.

    own: its number, itself, its radius, m, and 1 for a face, which is looked at otherwise
    """
    number, line, radius, flat = own
    there, *knots = builder.hold("knots", _valley(scene, terrain, line))

    # closer, where there is a valley
    def refined(before: Values) -> tuple[Values, SX]:
        place = builder.keep("place", _closer(scene, terrain, line, knots, builder))
        distance, _ = scene.terrain.surfaces([line.at(place)], terrain)[0]
        own = ca.logic_and(place < NOWHERE, _own(scene, terrain, line, place))
        gap = ca.if_else(own, distance - radius, SX.inf())
        new = Lowest.of(before).with_one(number, gap, place, closes(scene.law, gap))
        return new.values(), SX(0)

    if flat is not None:
        there = ca.logic_and(there, ca.logic_not(flat))
    return builder.loop(found, refined, 1, there)


def _numbers(span: Span, bent: bool, wide: bool) -> list[float]:
    """Body, middle (3,), half (3,), radius; out (3,) where the scene has arcs; where it has faces
    across (3,) and 1 for a disc.
    """
    straight = [span.body, *span.middle, *span.half, span.radius]
    return [*straight, *(span.out if bent else ()), *((*span.across, span.round) if wide else ())]


def _pose(body: SX, bodies: list[int], poses: list[tuple[SX, SX]]) -> tuple[SX, SX]:
    """The rotation (3, 3) and origin (3,), m, of one of these bodies."""
    (R, origin), *others = poses
    for b, (own, at) in zip(bodies[1:], others, strict=True):
        R, origin = ca.if_else(body == b, own, R), ca.if_else(body == b, at, origin)
    return R, origin


def _line(numbers: SX, R: SX, origin: SX, bent: bool) -> Curve:
    """A span of these numbers, its body having this rotation (3, 3) and origin (3,), m."""
    out = ca.mtimes(R, numbers[8:11]) if bent else None
    return Curve(origin + ca.mtimes(R, numbers[1:4]), ca.mtimes(R, numbers[4:7]), out)


def _looks(scene: Scene, terrain: object, line: Curve, places: list[SX]) -> list[Look]:
    points = [line.at(place) for place in places]
    found = scene.terrain.surfaces(points, terrain)
    return [
        Look(place, distance, ca.dot(frame[0, :].T, line.way(place)))
        for place, (distance, frame) in zip(places, found, strict=True)
    ]


def _proposed(a: Look, b: Look, tangents: bool, inside: float = INSIDE) -> SX:
    """Where to look between two: where their tangents meet, or where a line through their slopes
    is zero; in the middle where the distance does not fall and grow again.
    """
    width, change = b.place - a.place, ca.fmax(b.slope - a.slope, TINY)
    rise = a.distance - b.distance + b.slope * width if tangents else -a.slope * width
    share = ca.fmin(ca.fmax(rise / (change * width), inside), 1 - inside)
    both = ca.logic_and(a.slope < 0, b.slope >= 0)
    return a.place + ca.if_else(both, share, 0.5) * width


def _ahead(a: Look, b: Look, c: Look) -> SX:
    """1 where the least distance between two looks is behind the third, between them."""
    falls, grows = a.slope < 0, b.slope >= 0
    left = ca.logic_and(c.slope < 0, ca.logic_or(grows, c.distance <= a.distance))
    right = ca.logic_not(ca.logic_and(c.slope > 0, c.distance <= b.distance))
    return ca.if_else(falls, left, right)


def _either(flag: SX, new: Look, old: Look) -> Look:
    both = zip(vars(new).values(), vars(old).values(), strict=True)
    return Look(*(ca.if_else(flag, one, other) for one, other in both))
