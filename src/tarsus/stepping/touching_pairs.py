"""Pairs of solids that may touch: gap, frame, Jacobian and velocity of each, alone or in a slot."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
from casadi import SX

from tarsus.dynamics import jacobian, rnea
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.selection import Selected, Selection
from tarsus.model.solids import Pair
from tarsus.stepping.boxes import Block, capsule_on_box
from tarsus.stepping.coupling import Attached
from tarsus.stepping.held import Chosen
from tarsus.stepping.pairs import Segment
from tarsus.stepping.places import Place, either, of_pair
from tarsus.stepping.touching_point import OPEN_GAP, TouchingPoint


def touching_pairs(kin: Kinematics, pairs: Sequence[Pair]) -> list[TouchingPoint]:
    """Of pairs of solids, seen in the world."""
    found, product, nu = [], rnea.velocity_products(kin), kin.mechanism.nu
    for pair in pairs:
        # how both bodies move where they touch
        place, rows, product_there = of_pair(kin, pair), SX.zeros(3, nu), SX.zeros(3)
        for solid, center, sign in zip(
            (pair.first, pair.second), place.centers, (1, -1), strict=True
        ):
            body = solid.body
            R, origin = kin.world_rotation[body], kin.world_position[body]
            own, arm = (ca.mtimes(R.T, x) for x in (center - origin, place.point - center))
            columns = jacobian.point_jacobian(kin, body, own + arm)
            rows += sign * ca.mtimes(place.frame, jacobian.dense(columns, nu))
            product_there += sign * ca.mtimes(place.frame, product(body, own, arm))
        found.append(
            TouchingPoint(
                place.gap,
                ca.mtimes(rows, kin.u),
                place.point,
                place.frame,
                (SX(pair.friction), place.share),
                0.0,
                kin.world_rotation[pair.first.body],
                product_there,
                Attached.by(rows, watched=True),
            )
        )
    return found


def or_pair(
    ground: TouchingPoint,
    slot: Chosen,
    selected: tuple[Selection, Selected],
    pairs: Sequence[Pair],
) -> TouchingPoint:
    """What a slot holds where that may be one of the pairs; `ground`: what it is else; selected:
    the bodies to choose from, and the slot's.
    """
    assert slot.against is not None
    selection, body = selected
    # where both touch
    other = selection.body(slot.against.body)
    place, middle = _place(slot, body, other, {pair.boxes for pair in pairs})
    # how both bodies move there, or the one
    meets = slot.against.body >= 0

    def if_meets(pair: SX, one: SX) -> SX:
        return ca.if_else(meets, pair, one)

    point, frame = if_meets(place.point, ground.point), if_meets(place.frame, ground.frame)
    moved = selection.columns(body, point) - if_meets(selection.columns(other, point), SX(0))
    rows = ca.mtimes(frame, moved)
    gained = [
        at.velocity_product(center - at.origin, place.point - center)
        for at, center in zip((body, other), place.centers, strict=True)
    ]
    product = ca.mtimes(place.frame, gained[0] - gained[1])
    # as the second body sees it
    back = other.rotation.T
    seen = ca.mtimes(back, middle - other.origin), ca.mtimes(place.frame, other.rotation)
    down = -slot.radius * ground.frame[0, :].T if ground.arm is None else ground.arm
    return TouchingPoint(
        ca.if_else(slot.number >= 0, if_meets(place.gap, ground.gap), OPEN_GAP),
        ca.mtimes(rows, selection.kin.u),
        if_meets(seen[0], ground.point),
        if_meets(seen[1], ground.frame),
        (ground.material[0], if_meets(place.share, ground.material[1])),
        ground.radius,
        if_meets(ca.mtimes(back, body.rotation), ground.rotation),
        if_meets(product, ground.velocity_product),
        Attached.by(rows, watched=True),
        if_meets(ca.mtimes(back, place.point - middle), down),
        None if ground.told is None else if_meets(seen[0], ground.told),
    )


def _place(slot: Chosen, body: Selected, other: Selected, kinds: set[int]) -> tuple[Place, SX]:
    """Where the pair of a slot touches, pairs being of these numbers of boxes, and its first
    solid's middle (3,), m, world.
    """
    # its solids, in the world
    second, half = slot.against, slot.half
    assert second is not None and half is not None
    middle = body.origin + ca.mtimes(body.rotation, slot.center)
    behind = other.origin + ca.mtimes(other.rotation, second.center)
    one = Segment(middle, ca.mtimes(body.rotation, half), ca.dot(half, half))
    found: dict[int, Place] = {}
    if 0 in kinds:
        along = ca.mtimes(other.rotation, second.half)
        two = Segment(behind, along, ca.dot(second.half, second.half))
        found[0] = Place.of(one, two, slot.radius, second.radius)
    boxes = slot.boxes
    if boxes is None:
        return found[0], middle
    box = Block(behind, ca.mtimes(other.rotation, boxes.second), second.half)
    # each kind's contact of that row
    if 1 in kinds:
        assert one.half is not None
        at, *more = capsule_on_box(one.middle, one.half, slot.radius, box)
        for row, meeting in enumerate(more, 1):
            chosen = boxes.row == row
            parts = zip(vars(meeting).values(), vars(at).values(), strict=True)
            at = type(at)(*(ca.if_else(chosen, new, old) for new, old in parts))
        found[1] = Place.on_box(one, at, slot.radius)
    if 2 in kinds:
        first = Block(middle, ca.mtimes(body.rotation, boxes.first), half)
        found[2] = Place.of_boxes(first, box, boxes.row)
    return either(found, boxes.count), middle
