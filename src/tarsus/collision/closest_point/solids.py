"""Contacts of two solids: select the closest-point search for their shapes.

A contact of a pair presses on both bodies at one point with opposite forces, so that it changes
neither momentum nor angular momentum of the robot. The second solid is its ground.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca
from casadi import SX

from tarsus.collision.closest_point.box_box import find_face_pair
from tarsus.collision.closest_point.capsule_box import Block, CapsuleBoxContact, capsule_on_box
from tarsus.collision.closest_point.segments import Segment, closest_offset, contact_frame, length
from tarsus.collision.closest_point.shapes import Shape, place_shape
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.solids import Pair

Radius = float | SX


@dataclass(frozen=True, eq=False)
class PairContact:
    """One contact of two solids, in the world.

    Parameters
    ----------
    gap : SX
        Distance, m.
    frame : SX
        (3, 3): rows normal, away from the second solid, and tangents.
    centers : tuple of SX
        Point (3,) of each solid, m, from which the arm to the contact does not rotate.
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
    def of_capsules(
        one: Segment, other: Segment, radius: Radius, other_radius: Radius
    ) -> PairContact:
        """Compute the contact of two capsules with these radii, m."""
        offset, along = closest_offset(one, other)
        gap, frame = length(offset) - (radius + other_radius), contact_frame(offset)
        center = one.middle if one.half is None else one.middle + along * one.half
        point = center - (radius + 0.5 * gap) * frame[0, :].T
        return PairContact(gap, frame, (center, center - offset), point)

    @staticmethod
    def of_capsule_and_box(one: Segment, contact: CapsuleBoxContact, radius: Radius) -> PairContact:
        """Compute a contact of a capsule and a box."""
        center = one.middle if one.half is None else one.middle + contact.along * one.half
        point = center - (radius + 0.5 * contact.gap) * contact.normal
        return PairContact(contact.gap, contact_frame(contact.normal), (center, point), point)

    @staticmethod
    def of_boxes(one: Block, other: Block, row: SX | int) -> PairContact:
        """Compute one contact of two boxes."""
        faces = find_face_pair(one, other)
        gap, point = faces.contact(row)
        return PairContact(
            gap, contact_frame(faces.normal), (point, point), point, faces.share(row)
        )


def pair_contact(kin: Kinematics, pair: Pair) -> PairContact:
    """Compute the contact of a pair."""
    one, other = place_shape(kin, pair.first), place_shape(kin, pair.second)
    if isinstance(one, Block):
        assert isinstance(other, Block)
        return PairContact.of_boxes(one, other, pair.row)
    if isinstance(other, Segment):
        return PairContact.of_capsules(one, other, pair.first.radius, pair.second.radius)
    contact = capsule_on_box(one.middle, one.half, pair.first.radius, other)[pair.row]
    return PairContact.of_capsule_and_box(one, contact, pair.first.radius)


def select_contact(contacts: Mapping[int, PairContact], boxes: SX) -> PairContact:
    """Select the contact for a pair of `boxes` boxes; the keys are numbers of boxes."""
    if len(contacts) == 1:
        return next(iter(contacts.values()))
    (_, first), *others = sorted(contacts.items())
    parts = [first.gap, first.frame[0, :].T, *first.centers, first.point, first.share]
    for count, contact in others:
        new = [contact.gap, contact.frame[0, :].T, *contact.centers, contact.point, contact.share]
        parts = [ca.if_else(boxes == count, a, b) for a, b in zip(new, parts, strict=True)]
    gap, normal, one, other, point, share = parts
    return PairContact(gap, contact_frame(normal), (one, other), point, share)


def pair_gaps(pair: Pair, one: Shape, other: Shape) -> list[SX]:
    """Compute the gap at every contact of two solids, m."""
    if isinstance(one, Block):
        assert isinstance(other, Block)
        faces = find_face_pair(one, other)
        return [faces.contact(row)[0] for row in range(pair.count)]
    if isinstance(other, Block):
        contacts = capsule_on_box(one.middle, one.half, pair.first.radius, other)
        return [contact.gap for contact in contacts]
    offset, _ = closest_offset(one, other)
    return [length(offset) - (pair.first.radius + pair.second.radius)]
