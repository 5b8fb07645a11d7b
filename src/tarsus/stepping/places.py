"""Where two solids touch, in the world: segments that are capsules, and boxes.

A contact of a pair presses on both bodies at one point with opposite forces, so that it changes
neither momentum nor angular momentum of the whole; its ground is the second solid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca
from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.solids import Pair
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.stepping.base import Scene
from tarsus.stepping.boxes import Block, Meeting, capsule_on_box
from tarsus.stepping.closed import closes
from tarsus.stepping.far import at_least
from tarsus.stepping.lowest import Lowest, touching_of
from tarsus.stepping.pairs import Segment, between, facing, length
from tarsus.stepping.shapes import Shape, shape_of, shapes_of
from tarsus.stepping.two_boxes import facing_of

Radius = float | SX


@dataclass(frozen=True, eq=False)
class Place:
    """Where two solids touch, in the world.

    gap: m
    frame (3, 3): rows normal, away from the second, and tangents
    centers: points (3,) of both that move with them, from which the contact's arms do not turn, m
    point (3,): half way between both surfaces, m
    share: factor on the law's stiffness and damping [1]
    """

    gap: SX
    frame: SX
    centers: tuple[SX, SX]
    point: SX
    share: SX = field(default_factory=lambda: SX(1))

    @staticmethod
    def of(one: Segment, other: Segment, radius: Radius, beside: Radius) -> Place:
        """Of segments with these radii, m."""
        apart, along = between(one, other)
        gap, frame = length(apart) - (radius + beside), facing(apart)
        center = one.middle if one.half is None else one.middle + along * one.half
        point = center - (radius + 0.5 * gap) * frame[0, :].T
        return Place(gap, frame, (center, center - apart), point)

    @staticmethod
    def on_box(one: Segment, at: Meeting, radius: Radius) -> Place:
        """Of a capsule at a box."""
        center = one.middle if one.half is None else one.middle + at.along * one.half
        point = center - (radius + 0.5 * at.gap) * at.normal
        return Place(at.gap, facing(at.normal), (center, point), point)

    @staticmethod
    def of_boxes(one: Block, other: Block, row: SX | int) -> Place:
        """One contact of two boxes."""
        found = facing_of(one, other)
        gap, point = found.contact(row)
        return Place(gap, facing(found.normal), (point, point), point, found.share(row))


def of_pair(kin: Kinematics, pair: Pair) -> Place:
    """One of a pair's contacts."""
    one, other = shape_of(kin, pair.first), shape_of(kin, pair.second)
    if isinstance(one, Block):
        assert isinstance(other, Block)
        return Place.of_boxes(one, other, pair.row)
    if isinstance(other, Segment):
        return Place.of(one, other, pair.first.radius, pair.second.radius)
    at = capsule_on_box(one.middle, one.half, pair.first.radius, other)[pair.row]
    return Place.on_box(one, at, pair.first.radius)


def either(found: Mapping[int, Place], boxes: SX) -> Place:
    """The place whose pair has as many boxes as said, of places by that number."""
    if len(found) == 1:
        return next(iter(found.values()))
    (_, first), *others = sorted(found.items())
    parts = [first.gap, first.frame[0, :].T, *first.centers, first.point, first.share]
    for count, place in others:
        new = [place.gap, place.frame[0, :].T, *place.centers, place.point, place.share]
        parts = [ca.if_else(boxes == count, a, b) for a, b in zip(new, parts, strict=True)]
    gap, normal, one, other, point, share = parts
    return Place(gap, facing(normal), (one, other), point, share)


def pair_gaps(scene: Scene, kin: Kinematics, builder: Builder) -> Lowest:
    """The lowest contacts of the scene's pairs that touch; none is looked for where no pair is so
    near that it may.
    """
    firsts = {(pair.first.name, pair.second.name): pair for pair in scene.pairs}
    near = builder.keep("near", closes(scene.law, least(at_least(kin, list(firsts.values())))))
    count = min(scene.slots, len(scene.pairs))

    def exact(_: Values) -> tuple[Values, SX]:
        shapes = shapes_of(kin, scene.pairs)
        known = {
            both: _gaps(pair, *(shapes[name] for name in both)) for both, pair in firsts.items()
        }
        gaps = [known[pair.first.name, pair.second.name][pair.row] for pair in scene.pairs]
        touch = [closes(scene.law, gap) for gap in gaps]
        number = len(scene.candidates) + len(scene.spans)
        return touching_of(gaps, touch, number, count, builder).values(), SX(0)

    return Lowest.of(builder.cold_loop(Lowest.none(count, spans=False).values(), exact, 1, near))


def least(values: list[SX]) -> SX:
    """The least of all, pair by pair: none waits for all the others."""
    while len(values) > 1:
        halves = [ca.fmin(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = halves + ([values[-1]] if len(values) % 2 else [])
    return values[0]


def _gaps(pair: Pair, one: Shape, other: Shape) -> list[SX]:
    """At every contact of two solids."""
    if isinstance(one, Block):
        assert isinstance(other, Block)
        how = facing_of(one, other)
        return [how.contact(row)[0] for row in range(pair.count)]
    if isinstance(other, Block):
        at = capsule_on_box(one.middle, one.half, pair.first.radius, other)
        return [meeting.gap for meeting in at]
    apart, _ = between(one, other)
    return [length(apart) - (pair.first.radius + pair.second.radius)]
