"""Contact points of candidates, spans and pairs, and of the contact assigned to a slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.collision.closest_point.capsule_box import Block, capsule_on_box
from tarsus.collision.closest_point.contact_point_velocity import contact_point_velocity
from tarsus.collision.closest_point.curve_ground import Curve, span_contact
from tarsus.collision.closest_point.ellipsoid_ground import EllipsoidPoints, closest_points
from tarsus.collision.closest_point.segments import Segment, contact_frame
from tarsus.collision.closest_point.solids import PairContact, pair_contact, select_contact
from tarsus.collision.contact_point import OPEN_GAP, Attachment, ContactPoint, may_be_blocked
from tarsus.collision.contact_table import SlotContact
from tarsus.collision.deepest import OUTSIDE
from tarsus.collision.geometry import Geometry
from tarsus.collision.ground import PlacedOutline, ground_below
from tarsus.collision.shared_body import shared_bodies
from tarsus.dynamics import jacobian, rnea
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.selection import BodySelection, SelectedBody
from tarsus.model.mechanism import Candidate
from tarsus.model.solids import Pair
from tarsus.model.spans import Span
from tarsus.spatial.rotation import constant


def contact_points(
    geometry: Geometry,
    kin: Kinematics,
    terrain: object,
    contacts: Sequence[Candidate | Span | Pair],
    known_points: EllipsoidPoints | None = None,
) -> list[ContactPoint]:
    """Compute the contact points of candidates, then spans, then pairs.

    Parameters
    ----------
    geometry : Geometry
        Geometry that has the contacts.
    kin : Kinematics
        Pose and velocity of the robot.
    terrain : object
        Parameters of the terrain, as symbols.
    contacts : sequence
        Contacts of the geometry to compute.
    known_points : dict or None
        Closest points of ellipsoids, if already computed.
    """
    candidates = [contact for contact in contacts if isinstance(contact, Candidate)]
    spans = [contact for contact in contacts if isinstance(contact, Span)]
    pairs = [contact for contact in contacts if isinstance(contact, Pair)]
    if known_points is None:
        known_points = closest_points(geometry, kin, terrain, candidates)
    points = _candidate_points(geometry, kin, terrain, candidates, known_points)
    points += _span_points(geometry, kin, terrain, spans)
    return points + _pair_points(kin, pairs)


def _candidate_points(
    geometry: Geometry,
    kin: Kinematics,
    terrain: object,
    candidates: Sequence[Candidate],
    known_points: EllipsoidPoints,
) -> list[ContactPoint]:
    # the ground below all of them at once
    points, bodies = [], shared_bodies(kin, candidates)
    centers = [
        bodies[c.body].position(constant(c.position))
        if c.body in bodies
        else jacobian.position(kin, c.body, constant(c.position))
        for c in candidates
    ]
    outlines = [PlacedOutline.of(kin, candidate, known_points) for candidate in candidates]
    grounds = ground_below(geometry, terrain, centers, [c.radius for c in candidates], outlines)
    velocity_product = rnea.velocity_products(kin)
    for candidate, center, outline, ground in zip(
        candidates, centers, outlines, grounds, strict=True
    ):
        # the candidate's lowest point and how it moves
        reach, distance, frame = ground
        blocked = may_be_blocked(geometry.mechanism, candidate.body)
        middle, down = constant(candidate.position), -candidate.radius * frame[0, :].T + reach
        if candidate.body in bodies:
            body = bodies[candidate.body]
            arms = body.arms(middle, down, frame)
            attached = Attachment(body.rows, body.number, arms, blocked)
            velocity = ca.mtimes(arms, body.twist)
            product = body.velocity_product(middle, down)
        else:
            arm = -candidate.radius * jacobian.direction_in_body(kin, candidate.body, frame[0, :].T)
            if outline is not None:
                arm = jacobian.direction_in_body(kin, candidate.body, down)
            columns = jacobian.point_jacobian(kin, candidate.body, middle + arm)
            rows = ca.mtimes(frame, jacobian.dense(columns, geometry.mechanism.nu))
            attached = Attachment.from_rows(rows, blocked)
            velocity = ca.mtimes(rows, kin.u)
            product = velocity_product(candidate.body, middle, arm)
        if outline is not None:
            spin = ca.mtimes(kin.world_rotation[candidate.body], kin.omega[candidate.body])
            product += outline.travel_acceleration(frame[0, :].T, spin)
        # in the contact frame; on curved ground the point where a rolling ball touches does not
        # move as fast as its center, by which laws measure sliding there
        curved = candidate.radius > 0 and not geometry.terrain.flat
        point = ContactPoint(
            distance - candidate.radius,
            velocity,
            center + down,
            frame,
            _material(geometry, center + down, terrain, candidate.friction),
            candidate.radius,
            kin.world_rotation[candidate.body],
            ca.mtimes(frame, product),
            attached,
            *((down, center) if outline is not None or curved else ()),
        )
        if outline is not None and outline.closest is not None:
            point = replace(point, max_gap=outline.closest.max_gap)
        points.append(point)
    return points


def _span_points(
    geometry: Geometry, kin: Kinematics, terrain: object, spans: Sequence[Span]
) -> list[ContactPoint]:
    first, points = len(geometry.candidates), []
    for span in spans:
        number = first + geometry.spans.index(span)
        contact = span_contact(geometry, kin, terrain, span)
        outline = constant(geometry.outlines[number]) if geometry.outlines else None
        fixed = SX(span.body), constant(span.middle), SX(span.radius), outline
        along, out = constant(span.half), constant(span.out) if span.is_arc else None
        slot = SlotContact(SX(number), *fixed, along=along, position=contact.position, out=out)
        if contact.cross_position is not None:
            across = constant(span.across)
            slot = replace(slot, across=across, cross_position=contact.cross_position)
        if contact.normal is not None:
            slot = replace(slot, normal=contact.normal, edge_gap=contact.edge_gap)
        points.append(slot_contact_point(geometry, kin, terrain, slot))
    return points


def _pair_points(kin: Kinematics, pairs: Sequence[Pair]) -> list[ContactPoint]:
    points, product, nu = [], rnea.velocity_products(kin), kin.mechanism.nu
    for pair in pairs:
        # motion of both bodies where they touch
        contact, rows, product_there = pair_contact(kin, pair), SX.zeros(3, nu), SX.zeros(3)
        for solid, center, sign in zip(
            (pair.first, pair.second), contact.centers, (1, -1), strict=True
        ):
            body = solid.body
            R, origin = kin.world_rotation[body], kin.world_position[body]
            local, arm = (ca.mtimes(R.T, x) for x in (center - origin, contact.point - center))
            columns = jacobian.point_jacobian(kin, body, local + arm)
            rows += sign * ca.mtimes(contact.frame, jacobian.dense(columns, nu))
            product_there += sign * ca.mtimes(contact.frame, product(body, local, arm))
        points.append(
            ContactPoint(
                contact.gap,
                ca.mtimes(rows, kin.u),
                contact.point,
                contact.frame,
                (SX(pair.friction), contact.share),
                0.0,
                kin.world_rotation[pair.first.body],
                product_there,
                Attachment.from_rows(rows, may_be_blocked=True),
            )
        )
    return points


@dataclass(frozen=True, eq=False)
class SpanPosition:
    """Position of a slot's contact on a span, and the lines along which it moves there.

    Parameters
    ----------
    curve : Curve
        The span in the world.
    position : SX
        Position along the curve, -1 to 1; 0 if the slot holds no span, OUTSIDE if the inside of the
        span does not touch.
    inner : SX
        The same, with 0 instead of OUTSIDE.
    arm : SX
        Vector (3,) from the span's middle to the contact, world, m.
    across : list of SX
        The other direction (3,) in which a face extends, m; empty if the geometry has no faces.
    """

    curve: Curve
    position: SX
    inner: SX
    arm: SX
    across: list[SX]

    @classmethod
    def of(cls, slot: SlotContact, body: SelectedBody, arm: SX) -> SpanPosition:
        """Locate a slot's contact; `arm` (3,) leads from the body's origin to the span's middle."""
        assert slot.along is not None and slot.position is not None
        out = None if slot.out is None else ca.mtimes(body.rotation, slot.out)
        offset, across = SX.zeros(3), list[SX]()
        if slot.across is not None and slot.cross_position is not None:
            across = [ca.mtimes(body.rotation, slot.across)]
            offset = slot.cross_position * across[0]
        curve = Curve(body.origin + arm + offset, ca.mtimes(body.rotation, slot.along), out)
        inner = ca.if_else(slot.position < OUTSIDE, slot.position, 0)
        return cls(curve, slot.position, inner, offset + curve.arm(inner), across)

    @property
    def touches(self) -> SX:
        """0 if the slot holds a span whose inside does not touch, else 1."""
        return self.position < OUTSIDE

    def lines(self, normal: SX) -> list[tuple[SX, SX | float]]:
        """Return the lines along which the contact moves, for `contact_point_velocity`."""
        along = self.curve.derivative(self.inner), self.curve.curvature(self.inner, normal)
        return [along, *((direction, 0.0) for direction in self.across)]


def slot_contact_point(
    geometry: Geometry, kin: Kinematics, terrain: object, slot: SlotContact
) -> ContactPoint:
    """Compute the contact point of the contact that a slot holds, with dense rows.

    An empty slot is far away. A pair is expressed in the frame of its second body, so that a law's
    memory of positions moves with that body.
    """
    paired = [c.body for pair in geometry.pairs for c in (pair.first, pair.second)]
    grounded = [c.body for c in (*geometry.candidates, *geometry.spans)]
    selection = BodySelection(kin, grounded + paired)
    # the ground below it
    body = selection.body(slot.body)
    arm, span = ca.mtimes(body.rotation, slot.center), None
    if slot.along is not None:
        span = SpanPosition.of(slot, body, arm)
        arm += span.arm
    center = body.origin + arm
    outline = None if slot.outline is None else PlacedOutline(slot.outline, body.rotation)
    [(reach, distance, frame)] = ground_below(geometry, terrain, [center], [slot.radius], [outline])
    closest = slot.ellipsoid_point
    if closest is not None:
        reach = ca.if_else(closest.is_distinct >= 0, closest.arm, reach)
        [(distance, frame)] = geometry.terrain.surfaces([center + reach], terrain)
        distance = ca.if_else(closest.is_distinct == 0, OPEN_GAP, distance)
    if slot.normal is not None and slot.edge_gap is not None:
        at_edge = ca.sumsqr(slot.normal) > 0
        distance = ca.if_else(at_edge, slot.edge_gap, distance)
        frame = ca.if_else(at_edge, contact_frame(slot.normal), frame)
    normal = frame[0, :].T
    down = -slot.radius * normal + reach
    product = body.velocity_product(arm, down)
    if outline is not None:
        product += outline.travel_acceleration(normal, body.omega)
    # as a contact
    rows = ca.mtimes(frame, selection.columns(body, center + down))
    velocity = ca.mtimes(rows, kin.u)
    tracked = (down, center + down - reach) if outline is not None else ()
    if not geometry.terrain.flat:
        tracked = down, center
    if span is not None:
        moving = normal, body.omega, ca.mtimes(frame.T, velocity) - ca.cross(body.omega, down)
        sliding = contact_point_velocity(geometry, terrain, center, span.lines(normal), moving)
        product += ca.cross(body.omega, sliding)
        tracked = down + span.arm, center - span.arm
    here = slot.number >= 0 if span is None else ca.logic_and(slot.number >= 0, span.touches)
    blocked = any(may_be_blocked(geometry.mechanism, body) for body in grounded)
    ground = ContactPoint(
        ca.if_else(here, distance - slot.radius, OPEN_GAP),
        velocity,
        center + down,
        frame,
        _material(geometry, center + down, terrain, _select_friction_of(geometry, slot.number)),
        slot.radius,
        body.rotation,
        ca.mtimes(frame, product),
        Attachment.from_rows(rows, blocked),
        *tracked,
    )
    ground = ground if closest is None else replace(ground, max_gap=closest.max_gap)
    if slot.second is None:
        return ground
    return _ground_or_pair(ground, slot, (selection, body), geometry.pairs)


def _ground_or_pair(
    ground: ContactPoint,
    slot: SlotContact,
    selected: tuple[BodySelection, SelectedBody],
    pairs: Sequence[Pair],
) -> ContactPoint:
    """Compute the contact point of a slot that may hold a pair; `ground` if it holds none."""
    assert slot.second is not None
    selection, body = selected
    other = selection.body(slot.second.body)
    contact, middle = _pair_contact(slot, body, other, {pair.boxes for pair in pairs})
    # motion of both bodies at the contact, or of one body on the ground
    is_pair = slot.second.body >= 0

    def merge_pair(pair: SX, single: SX) -> SX:
        return ca.if_else(is_pair, pair, single)

    point, frame = merge_pair(contact.point, ground.point), merge_pair(contact.frame, ground.frame)
    moved = selection.columns(body, point) - merge_pair(selection.columns(other, point), SX(0))
    rows = ca.mtimes(frame, moved)
    products = [
        position.velocity_product(center - position.origin, contact.point - center)
        for position, center in zip((body, other), contact.centers, strict=True)
    ]
    product = ca.mtimes(contact.frame, products[0] - products[1])
    # in the frame of the second body
    back = other.rotation.T
    tracked, frame_there = (
        ca.mtimes(back, middle - other.origin),
        ca.mtimes(contact.frame, other.rotation),
    )
    down = -slot.radius * ground.frame[0, :].T if ground.arm is None else ground.arm
    return ContactPoint(
        ca.if_else(slot.number >= 0, merge_pair(contact.gap, ground.gap), OPEN_GAP),
        ca.mtimes(rows, selection.kin.u),
        merge_pair(tracked, ground.point),
        merge_pair(frame_there, ground.frame),
        (ground.material[0], merge_pair(contact.share, ground.material[1])),
        ground.radius,
        merge_pair(ca.mtimes(back, body.rotation), ground.rotation),
        merge_pair(product, ground.velocity_product),
        Attachment.from_rows(rows, may_be_blocked=True),
        merge_pair(ca.mtimes(back, contact.point - middle), down),
        None if ground.tracked is None else merge_pair(tracked, ground.tracked),
    )


def _pair_contact(
    slot: SlotContact, body: SelectedBody, other: SelectedBody, kinds: set[int]
) -> tuple[PairContact, SX]:
    """Compute the contact of a slot's pair, and the middle (3,) of its first solid, m, world.

    `kinds` has the number of boxes of every pair of the geometry.
    """
    # its solids, in the world
    second, half = slot.second, slot.half
    assert second is not None and half is not None
    middle = body.origin + ca.mtimes(body.rotation, slot.center)
    other_middle = other.origin + ca.mtimes(other.rotation, second.center)
    one = Segment(middle, ca.mtimes(body.rotation, half), ca.dot(half, half))
    contacts: dict[int, PairContact] = {}
    if 0 in kinds:
        along = ca.mtimes(other.rotation, second.half)
        two = Segment(other_middle, along, ca.dot(second.half, second.half))
        contacts[0] = PairContact.of_capsules(one, two, slot.radius, second.radius)
    boxes = slot.boxes
    if boxes is None:
        return contacts[0], middle
    box = Block(other_middle, ca.mtimes(other.rotation, boxes.second), second.half)
    # each kind's contact of that row
    if 1 in kinds:
        assert one.half is not None
        contact, *more = capsule_on_box(one.middle, one.half, slot.radius, box)
        for row, other_contact in enumerate(more, 1):
            chosen = boxes.row == row
            parts = zip(vars(other_contact).values(), vars(contact).values(), strict=True)
            contact = type(contact)(*(ca.if_else(chosen, new, old) for new, old in parts))
        contacts[1] = PairContact.of_capsule_and_box(one, contact, slot.radius)
    if 2 in kinds:
        first = Block(middle, ca.mtimes(body.rotation, boxes.first), half)
        contacts[2] = PairContact.of_boxes(first, box, boxes.row)
    return select_contact(contacts, boxes.count), middle


def _material(geometry: Geometry, point: SX, terrain: object, factor: float | SX) -> tuple[SX, SX]:
    """Return the factors on friction and stiffness at a point, of ground and contact together."""
    friction, stiffness = geometry.terrain.material(point, terrain)
    return friction if SX(factor).is_one() else factor * friction, stiffness


def _select_friction_of(geometry: Geometry, number: SX) -> SX:
    """Select the friction factor of the contact with that number."""
    candidates = geometry.order[: len(geometry.candidates)]
    factors = [geometry.candidates[i].friction for i in candidates]
    factors += [other.friction for other in (*geometry.spans, *geometry.pairs)]
    factor = SX(factors[0])
    for k in range(1, len(factors)):
        if factors[k] != factors[k - 1]:
            factor = ca.if_else(number >= k, factors[k], factor)
    return factor
