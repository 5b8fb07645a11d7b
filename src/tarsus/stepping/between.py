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
from tarsus.model.spans import Span, arcs
from tarsus.program.ir.trace import Builder, Values
from tarsus.stepping.base import Scene
from tarsus.stepping.closed import closes
from tarsus.stepping.curves import Curve
from tarsus.stepping.edges_near import EdgeBounds
from tarsus.stepping.flags import Flags
from tarsus.stepping.ground import LOOKS
from tarsus.stepping.lowest import NOWHERE, Lowest

KNOTS = np.linspace(-1, 1, 6)  # where the ground is looked at first
ROUNDS = 6  # looks between two of them
TURN = 1e-4  # rad: between two knots ground that turns less is straight
RISE = 0.02  # [1]: ground that comes nearer by less of the way may be straight, its distance rough
INSIDE = 0.02  # of the way between two looks: no look is nearer to one of them
FLATTEST = 0.75  # by half a line: on ground less round than that the place moves no faster
AHEAD = 1e-3  # m: how far from it the ground is looked at to see how it turns
STRAIGHT = 8  # numbers of a segment
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


def place_of(scene: Scene, kin: Kinematics, terrain: object, span: Span) -> SX:
    """The place on a span where the ground is nearest (`nearest`)."""
    pose = kin.world_rotation[span.body], kin.world_position[span.body]
    return nearest(scene, terrain, _line(SX(DM(_numbers(span, span.bent))), *pose))


def spans_found(
    scene: Scene,
    kin: Kinematics,
    terrain: object,
    ends: Mapping[str, tuple[SX, SX, SX]],
    builder: Builder,
) -> Lowest:
    """The lowest of the spans that may touch.

    ends: of the candidates between which they lie, by name, the center (3,), m, and the ground's
        distance, m, and frame (3, 3) there
    """
    # seldom is any near: a bound for edges side by side tells
    names = sorted({name for span in scene.spans for name in span.ends})
    reach = EdgeBounds.of(scene, terrain)
    told = builder.hold("ends", [reach.seen(*ends[name]) for name in names])
    seen = dict(zip(names, told, strict=True))
    near_any = reduce(ca.logic_or, reach.any_near(seen))
    bent = arcs(scene.spans)
    table = np.array([_numbers(span, bent) for span in scene.spans])
    bodies = sorted({span.body for span in scene.spans})
    poses = [(kin.world_rotation[b], kin.world_position[b]) for b in bodies]

    def inside(_: Values) -> tuple[Values, SX]:
        near = [reach.may_touch_span(span, seen) for span in scene.spans]
        flags, own = builder.hold("near", (Flags.of(near), poses))

        # one after the other, of those that are near
        def look(now: Values) -> tuple[Values, SX]:
            wide = table.shape[1]
            at, others = builder.hold("at", Flags(now["flags"]).first())
            index = ca.vertcat(*(wide * at + k for k in range(wide)))
            row = builder.lookup("spans", table, index)
            line, radius = builder.hold("line", (_line(row, *_pose(row[0], bodies, own)), row[7]))
            there, *knots = builder.hold("knots", _valley(scene, terrain, line))

            # closer, where there is a valley
            def refined(before: Values) -> tuple[Values, SX]:
                place = builder.keep("place", _closer(scene, terrain, line, knots, builder))
                distance, _ = scene.terrain.surfaces([line.at(place)], terrain)[0]
                own = ca.logic_and(place < NOWHERE, _own(scene, terrain, line, place))
                gap = ca.if_else(own, distance - radius, SX.inf())
                number, touches = at + len(scene.candidates), closes(scene.law, gap)
                new = Lowest.of(before).with_one(number, gap, place, touches)
                return new.values(), SX(0)

            found = builder.loop({name: now[name] for name in begin}, refined, 1, there)
            after = {name: found[name] for name in begin} | {"flags": others.words}
            return after, others.any

        first = begin | {"flags": flags.words}
        last = builder.loop(first, look, len(scene.spans), flags.any)
        return {name: last[name] for name in begin}, SX(0)

    begin = Lowest.none(scene.slots, spans=True).values()
    return Lowest.of(builder.rarely(begin, inside, 1, near_any))


def travel(
    normal: SX, line: SX, turned: SX, spin: SX, velocity: SX, rising: SX | float = 0.0
) -> SX:
    """How fast (3,), m/s, the place where the ground is nearest moves along a line with its body:
    the ground's normal there stays at a right angle to it.

    normal (3,): the ground's; turned (3,): how it turns along the line (`turning`), 1/m
    line (3,): along it; spin (3,), velocity (3,): the body's and that of the place, world
    rising: how much the line itself bends away from the ground (`Curve.rising`), 1/m
    """
    half = ca.sqrt(ca.dot(line, line) + TINY**2)
    along = line / half
    out = ca.dot(normal, ca.cross(spin, along)) + ca.dot(turned, velocity)
    return -out / ca.fmax(ca.dot(turned, along) + rising, FLATTEST / half) * along


def turning(scene: Scene, terrain: object, center: SX, line: SX) -> SX:
    """How the ground's normal (3,) changes on the way along a line (3,) from a point (3,), 1/m."""
    along = line / ca.sqrt(ca.dot(line, line) + TINY**2)
    ways = [center + way * along for way in (-AHEAD, AHEAD)]
    before, behind = (frame[0, :].T for _, frame in scene.terrain.surfaces(ways, terrain))
    return (behind - before) / (2 * AHEAD)


def _numbers(span: Span, bent: bool) -> list[float]:
    """Body, middle (3,), half (3,), radius; out (3,) where arcs are among the spans."""
    straight = [span.body, *span.middle, *span.half, span.radius]
    return [*straight, *span.out] if bent else straight


def _pose(body: SX, bodies: list[int], poses: list[tuple[SX, SX]]) -> tuple[SX, SX]:
    """The rotation (3, 3) and origin (3,), m, of one of these bodies."""
    (R, origin), *others = poses
    for b, (own, at) in zip(bodies[1:], others, strict=True):
        R, origin = ca.if_else(body == b, own, R), ca.if_else(body == b, at, origin)
    return R, origin


def _line(numbers: SX, R: SX, origin: SX) -> Curve:
    """A span of these numbers, its body having this rotation (3, 3) and origin (3,), m."""
    out = ca.mtimes(R, numbers[8:11]) if numbers.numel() > STRAIGHT else None
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
