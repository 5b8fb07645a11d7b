"""Candidates at the ground, and what a slot holds: gap, frame, Jacobian and velocity of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.dynamics import jacobian, rnea
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.selection import Selected, Selection
from tarsus.model.mechanism import Candidate
from tarsus.model.solids import Pair
from tarsus.model.spans import Span
from tarsus.program.ir.trace import Builder
from tarsus.spatial.rotation import constant
from tarsus.stepping import blocked
from tarsus.stepping.base import Scene
from tarsus.stepping.between import place_of, spans_found
from tarsus.stepping.coupling import Attached
from tarsus.stepping.curves import Curve
from tarsus.stepping.edges_near import EdgeBounds
from tarsus.stepping.far_bodies import gaps_of_groups, groups
from tarsus.stepping.ground import Turned, below, below_lowest
from tarsus.stepping.held import Chosen, Low
from tarsus.stepping.lowest import NOWHERE
from tarsus.stepping.places import least, pair_gaps
from tarsus.stepping.shared_body import shared_bodies
from tarsus.stepping.spots import Spots, spots
from tarsus.stepping.touching_pairs import or_pair, touching_pairs
from tarsus.stepping.touching_point import OPEN_GAP, TouchingPoint
from tarsus.stepping.travels import travels


def touching(
    scene: Scene,
    kin: Kinematics,
    terrain: object,
    which: Sequence[Candidate | Span | Pair],
    known: Spots | None = None,
) -> list[TouchingPoint]:
    """Of some of what may touch in the scene, in the order candidates, spans, pairs; known: spots
    of ellipsoids, if they are.
    """
    candidates = [part for part in which if isinstance(part, Candidate)]
    spans = [part for part in which if isinstance(part, Span)]
    known = spots(scene, kin, terrain, candidates) if known is None else known
    found = touching_points(scene, kin, terrain, candidates, known)
    found += touching_spans(scene, kin, terrain, spans)
    return found + touching_pairs(kin, [part for part in which if isinstance(part, Pair)])


def touching_points(
    scene: Scene, kin: Kinematics, terrain: object, which: Sequence[Candidate], known: Spots
) -> list[TouchingPoint]:
    """Of some of the scene's candidates, whose spots are known."""
    # the ground below all of them at once
    found, bodies = [], shared_bodies(kin, which)
    centers = [
        bodies[c.body].position(constant(c.position))
        if c.body in bodies
        else jacobian.position(kin, c.body, constant(c.position))
        for c in which
    ]
    turned = [Turned.of(kin, candidate, known) for candidate in which]
    grounds = below(scene, terrain, centers, turned)
    velocity_product = rnea.velocity_products(kin)
    for candidate, center, outline, ground in zip(which, centers, turned, grounds, strict=True):
        # the candidate's lowest point and how it moves
        reach, distance, frame = ground
        watched = blocked.may_be(scene.mechanism, candidate.body)
        middle, down = constant(candidate.position), -candidate.radius * frame[0, :].T + reach
        if candidate.body in bodies:
            body = bodies[candidate.body]
            arms = body.arms(middle, down, frame)
            attached = Attached(body.rows, body.number, arms, watched)
            velocity = ca.mtimes(arms, body.twist)
            product = body.velocity_product(middle, down)
        else:
            arm = -candidate.radius * jacobian.direction_in_body(kin, candidate.body, frame[0, :].T)
            if outline is not None:
                arm = jacobian.direction_in_body(kin, candidate.body, down)
            columns = jacobian.point_jacobian(kin, candidate.body, middle + arm)
            rows = ca.mtimes(frame, jacobian.dense(columns, scene.mechanism.nu))
            attached = Attached.by(rows, watched)
            velocity = ca.mtimes(rows, kin.u)
            product = velocity_product(candidate.body, middle, arm)
        if outline is not None:
            spin = ca.mtimes(kin.world_rotation[candidate.body], kin.omega[candidate.body])
            product += outline.gained(frame[0, :].T, spin)
        # what the ground says there, in the contact frame
        point = TouchingPoint(
            distance - candidate.radius,
            velocity,
            center + down,
            frame,
            _material(scene, center + down, terrain, candidate.friction),
            candidate.radius,
            kin.world_rotation[candidate.body],
            ca.mtimes(frame, product),
            attached,
            *((down, center) if outline is not None else ()),
        )
        if outline is not None and outline.spot is not None:
            point = replace(point, away=outline.spot.away)
        found.append(point)
    return found


def gaps(
    scene: Scene,
    kin: Kinematics,
    terrain: object,
    builder: Builder,
    known: Spots | None = None,
    ahead: SX | None = None,
) -> Low:
    """Of all contacts but the usual ones; known: spots of ellipsoids, if they are.

    ahead: s, in which a candidate that approaches the ground comes closer: its gap is that at the
        end; None: gaps as they are
    """
    # bodies that are far from uneven ground are not looked at
    rare = [scene.candidates[i] for i in scene.rare]
    eggs = spots(scene, kin, terrain, rare, builder) if known is None else known
    apart = [] if scene.terrain.flat else groups(scene, eggs)
    seen = gaps_of_groups(scene, kin, terrain, apart, builder) if apart else {}
    # the ground below all other centers at once, and below ends of spans that are usual candidates
    ends = {name for span in scene.spans for name in span.ends}
    usual = [scene.candidates[i] for i in scene.usual if scene.candidates[i].name in ends]
    others = [c for c in rare if c.name not in seen]
    centers = [
        kin.world_position[c.body] + ca.mtimes(kin.world_rotation[c.body], constant(c.position))
        for c in (*others, *usual)
    ]
    first = scene.terrain.surfaces(centers, terrain)
    own = len(others)
    turned = [Turned.of(kin, c, eggs) for c in others]
    grounds = below_lowest(scene, terrain, centers[:own], turned, first[:own])
    below_them = zip(others, grounds, strict=True)
    gap_of = {}
    for c, (_, distance, frame) in below_them:
        gap_of[c.name] = distance - c.radius
        if ahead is not None:
            gap_of[c.name] += ahead * ca.fmin(_approach(kin, c, frame[0, :].T), 0)
    gap_of |= {name: gap for name, (gap, _) in seen.items()}
    found = [gap_of[c.name] for c in rare]
    # between them
    spans = None
    if scene.spans:
        found = builder.hold("rare", found)
        bounds = EdgeBounds.of(scene, terrain)
        heights = {name: height for name, (_, height) in seen.items()}
        for c, center, ground in zip((*others, *usual), centers, first, strict=True):
            heights[c.name] = bounds.seen(center, *ground)
        spans = spans_found(scene, kin, terrain, heights, builder)
    pairs = pair_gaps(scene, kin, builder) if scene.pairs else None
    low = [*found, *(other.least for other in (spans, pairs) if other is not None)]
    return Low(found, least(low), pairs, spans, eggs)


def _approach(kin: Kinematics, candidate: Candidate, normal: SX) -> SX:
    """Velocity of a candidate's center along the ground's normal (3,), m/s."""
    body = candidate.body
    spin = ca.cross(kin.omega[body], constant(candidate.position))
    return ca.dot(normal, ca.mtimes(kin.world_rotation[body], kin.velocity[body] + spin))


def touching_spans(
    scene: Scene, kin: Kinematics, terrain: object, which: Sequence[Span]
) -> list[TouchingPoint]:
    """Of some of the scene's spans."""
    first, found = len(scene.candidates), []
    for span in which:
        number = first + scene.spans.index(span)
        place, aside = place_of(scene, kin, terrain, span)
        outline = constant(scene.outlines[number]) if scene.outlines else None
        fixed = SX(span.body), constant(span.middle), SX(span.radius), outline
        along, out = constant(span.half), constant(span.out) if span.bent else None
        slot = Chosen(SX(number), *fixed, along=along, place=place, out=out)
        if aside is not None:
            slot = replace(slot, across=constant(span.across), aside=aside)
        found.append(touching_slot(scene, kin, terrain, slot))
    return found


@dataclass(frozen=True, eq=False)
class OnSpan:
    """Where on a span a slot's contact lies, and the ways on which it travels there.

    place: along the curve, 0 where the slot holds no span, NOWHERE where the inside of one does not
        touch; at: the same, 0 there
    away (3,): from the span's middle, world, m
    across: of scenes with faces, the other way (3,) over one
    """

    curve: Curve
    place: SX
    at: SX
    away: SX
    across: list[SX]

    @classmethod
    def of(cls, slot: Chosen, body: Selected, arm: SX) -> OnSpan:
        """Of a scene with spans; arm (3,): from the body's origin to the span's middle."""
        assert slot.along is not None and slot.place is not None
        out = None if slot.out is None else ca.mtimes(body.rotation, slot.out)
        away, across = SX.zeros(3), list[SX]()
        if slot.across is not None and slot.aside is not None:
            across = [ca.mtimes(body.rotation, slot.across)]
            away = slot.aside * across[0]
        curve = Curve(body.origin + arm + away, ca.mtimes(body.rotation, slot.along), out)
        at = ca.if_else(slot.place < NOWHERE, slot.place, 0)
        return cls(curve, slot.place, at, away + curve.arm(at), across)

    @property
    def there(self) -> SX:
        """1 where the slot holds no span, or one whose inside touches."""
        return self.place < NOWHERE

    def ways(self, normal: SX) -> list[tuple[SX, SX | float]]:
        """Of `travels`."""
        along = self.curve.way(self.at), self.curve.rising(self.at, normal)
        return [along, *((own, 0.0) for own in self.across)]


def touching_slot(scene: Scene, kin: Kinematics, terrain: object, slot: Chosen) -> TouchingPoint:
    """Of what a slot holds, rows dense; an empty slot is far away. A pair is seen from its second
    body, on which a law's memory of places then stays.
    """
    paired = [c.body for pair in scene.pairs for c in (pair.first, pair.second)]
    grounded = [c.body for c in (*scene.candidates, *scene.spans)]
    selection = Selection(kin, grounded + paired)
    # the ground below it
    body = selection.body(slot.body)
    arm, span = ca.mtimes(body.rotation, slot.center), None
    if slot.along is not None:
        span = OnSpan.of(slot, body, arm)
        arm += span.away
    center = body.origin + arm
    outline = None if slot.outline is None else Turned(slot.outline, body.rotation)
    [(reach, distance, frame)] = below(scene, terrain, [center], [outline])
    spot = slot.spot
    if spot is not None:
        reach = ca.if_else(spot.there >= 0, spot.arm, reach)
        [(distance, frame)] = scene.terrain.surfaces([center + reach], terrain)
        distance = ca.if_else(spot.there == 0, OPEN_GAP, distance)
    normal = frame[0, :].T
    down = -slot.radius * normal + reach
    product = body.velocity_product(arm, down)
    if outline is not None:
        product += outline.gained(normal, body.spin)
    # as a contact
    rows = ca.mtimes(frame, selection.columns(body, center + down))
    velocity = ca.mtimes(rows, kin.u)
    told = (down, center + down - reach) if outline is not None else ()
    if span is not None:
        moving = normal, body.spin, ca.mtimes(frame.T, velocity) - ca.cross(body.spin, down)
        product += ca.cross(body.spin, travels(scene, terrain, center, span.ways(normal), moving))
        told = down + span.away, center + down - reach - span.away
    here = slot.number >= 0 if span is None else ca.logic_and(slot.number >= 0, span.there)
    watched = any(blocked.may_be(scene.mechanism, body) for body in grounded)
    ground = TouchingPoint(
        ca.if_else(here, distance - slot.radius, OPEN_GAP),
        velocity,
        center + down,
        frame,
        _material(scene, center + down, terrain, _friction_of(scene, slot.number)),
        slot.radius,
        body.rotation,
        ca.mtimes(frame, product),
        Attached.by(rows, watched),
        *told,
    )
    ground = ground if spot is None else replace(ground, away=spot.away)
    return ground if slot.against is None else or_pair(ground, slot, (selection, body), scene.pairs)


def _material(scene: Scene, point: SX, terrain: object, own: float | SX) -> tuple[SX, SX]:
    """Factors on friction and on stiffness at a point (3,), of the ground and of what touches."""
    friction, stiffness = scene.terrain.material(point, terrain)
    return friction if SX(own).is_one() else own * friction, stiffness


def _friction_of(scene: Scene, number: SX) -> SX:
    """The factor of the candidate that a slot holds, by its number in the scene's order."""
    factors = [scene.candidates[i].friction for i in scene.order[: len(scene.candidates)]]
    factors += [other.friction for other in (*scene.spans, *scene.pairs)]
    found = SX(factors[0])
    for k in range(1, len(factors)):
        if factors[k] != factors[k - 1]:
            found = ca.if_else(number >= k, factors[k], found)
    return found
