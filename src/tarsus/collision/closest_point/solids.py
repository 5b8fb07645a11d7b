"""Contacts of two solids: select the closest-point search for their shapes.

A contact of a pair presses on both bodies at one point with opposite forces, so that it changes
neither momentum nor angular momentum of the robot. The second solid is its ground.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca
from casadi import SX

from tarsus.collision.closest_point.box_box import facing_of
from tarsus.collision.closest_point.capsule_box import Block, Meeting, capsule_on_box
from tarsus.collision.closest_point.segments import Segment, between, facing, length
from tarsus.collision.closest_point.shapes import Shape, shape_of
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.solids import Pair

Radius = float | SX


@dataclass(frozen=True, eq=False)
class Place:
    """Where two solids touch, in the world.

    Parameters
    ----------
    gap : SX
        Distance, m.
    frame : SX
        (3, 3): rows normal, away from the second solid, and tangents.
    centers : tuple of SX
        A point (3,) of each solid that moves with it and from which the contact's arm does not
        turn, m.
    point : SX
        (3,): half way between both surfaces, m.
    share : SX
        Factor on the law's stiffness and damping.
    """

    gap: SX
    frame: SX
    centers: tuple[SX, SX]
    point: SX
    share: SX = field(default_factory=lambda: SX(1))

    @staticmethod
    def of(one: Segment, other: Segment, radius: Radius, other_radius: Radius) -> Place:
        """Place the contact of two capsules with these radii, m."""
        apart, along = between(one, other)
        gap, frame = length(apart) - (radius + other_radius), facing(apart)
        center = one.middle if one.half is None else one.middle + along * one.half
        point = center - (radius + 0.5 * gap) * frame[0, :].T
        return Place(gap, frame, (center, center - apart), point)

    @staticmethod
    def on_box(one: Segment, at: Meeting, radius: Radius) -> Place:
        """Place a contact of a capsule and a box."""
        center = one.middle if one.half is None else one.middle + at.along * one.half
        point = center - (radius + 0.5 * at.gap) * at.normal
        return Place(at.gap, facing(at.normal), (center, point), point)

    @staticmethod
    def of_boxes(one: Block, other: Block, row: SX | int) -> Place:
        """Place one contact of two boxes."""
        faces = facing_of(one, other)
        gap, point = faces.contact(row)
        return Place(gap, facing(faces.normal), (point, point), point, faces.share(row))


def of_pair(kin: Kinematics, pair: Pair) -> Place:
    """Place one of a pair's contacts."""
    one, other = shape_of(kin, pair.first), shape_of(kin, pair.second)
    if isinstance(one, Block):
        assert isinstance(other, Block)
        return Place.of_boxes(one, other, pair.row)
    if isinstance(other, Segment):
        return Place.of(one, other, pair.first.radius, pair.second.radius)
    at = capsule_on_box(one.middle, one.half, pair.first.radius, other)[pair.row]
    return Place.on_box(one, at, pair.first.radius)


def either(places: Mapping[int, Place], boxes: SX) -> Place:
    """Select the place of a pair with that number of boxes, of places by that number."""
    if len(places) == 1:
        return next(iter(places.values()))
    (_, first), *others = sorted(places.items())
    parts = [first.gap, first.frame[0, :].T, *first.centers, first.point, first.share]
    for count, place in others:
        new = [place.gap, place.frame[0, :].T, *place.centers, place.point, place.share]
        parts = [ca.if_else(boxes == count, a, b) for a, b in zip(new, parts, strict=True)]
    gap, normal, one, other, point, share = parts
    return Place(gap, facing(normal), (one, other), point, share)


def pair_gaps(pair: Pair, one: Shape, other: Shape) -> list[SX]:
    """Return the gap at every contact of two solids, m."""
    if isinstance(one, Block):
        assert isinstance(other, Block)
        faces = facing_of(one, other)
        return [faces.contact(row)[0] for row in range(pair.count)]
    if isinstance(other, Block):
        at = capsule_on_box(one.middle, one.half, pair.first.radius, other)
        return [meeting.gap for meeting in at]
    apart, _ = between(one, other)
    return [length(apart) - (pair.first.radius + pair.second.radius)]
