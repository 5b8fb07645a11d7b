"""Candidates at the ground and pairs of capsules: gap, frame, Jacobian and velocity of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.dynamics import jacobian, rnea
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.selection import Selected, Selection
from tarsus.model.capsule import Pair
from tarsus.model.mechanism import Candidate
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene
from tarsus.stepping.coupling import Attached
from tarsus.stepping.ground import Turned, below
from tarsus.stepping.pairs import Segment, between, facing, length, pair_gaps
from tarsus.stepping.shared_body import shared_bodies
from tarsus.stepping.slots import Chosen

FAR = 1.0  # m: the gap of an empty slot


@dataclass(frozen=True, eq=False)
class TouchingPoint:
    """A point of a robot at the ground, as a contact will have it; the frame is the ground's.

    gap: m
    velocity (3,), velocity_product (3,): in the frame, m/s, m/s^2
    point (3,): world, m
    frame (3, 3): rows normal, tangent 1, tangent 2
    material: factors on friction, the ground's and the robot's, and on stiffness [1]
    radius, rotation (3, 3): of the ball that touches, m, and of its body
    arm (3,), told (3,): of `Roundness`
    attached: rows (3, nu) with velocity = rows u, sparse, or the body that it shares with others
    """

    gap: SX
    velocity: SX
    point: SX
    frame: SX
    material: tuple[SX, SX]
    radius: float | SX
    rotation: SX
    velocity_product: SX
    attached: Attached
    arm: SX | None = None
    told: SX | None = None


def touching_points(
    scene: Scene, kin: Kinematics, terrain: object, which: Sequence[Candidate]
) -> list[TouchingPoint]:
    """Of some of the scene's candidates."""
    # the ground below all of them at once
    found, bodies = [], shared_bodies(kin, which)
    centers = [
        bodies[c.body].position(constant(c.position))
        if c.body in bodies
        else jacobian.position(kin, c.body, constant(c.position))
        for c in which
    ]
    turned = [Turned.of(kin, candidate) for candidate in which]
    grounds = below(scene, terrain, centers, turned)
    velocity_product = rnea.velocity_products(kin)
    for candidate, center, outline, ground in zip(which, centers, turned, grounds, strict=True):
        # the candidate's lowest point and how it moves
        reach, distance, frame = ground
        middle, down = constant(candidate.position), -candidate.radius * frame[0, :].T + reach
        if candidate.body in bodies:
            body = bodies[candidate.body]
            arms = body.arms(middle, down, frame)
            attached, velocity = Attached(body.rows, body.number, arms), ca.mtimes(arms, body.twist)
            product = body.velocity_product(middle, down)
        else:
            arm = -candidate.radius * jacobian.direction_in_body(kin, candidate.body, frame[0, :].T)
            if outline is not None:
                arm = jacobian.direction_in_body(kin, candidate.body, down)
            columns = jacobian.point_jacobian(kin, candidate.body, middle + arm)
            rows = ca.mtimes(frame, jacobian.dense(columns, scene.mechanism.nu))
            attached = Attached.by(rows)
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
        found.append(point)
    return found


def gaps(scene: Scene, kin: Kinematics, terrain: object) -> list[SX]:
    """Of the rare candidates, then of the pairs, m."""
    rare = [scene.candidates[i] for i in scene.rare]
    centers = [
        kin.world_position[c.body] + ca.mtimes(kin.world_rotation[c.body], constant(c.position))
        for c in rare
    ]
    grounds = below(scene, terrain, centers, [Turned.of(kin, c) for c in rare])
    found = [distance - c.radius for c, (_, distance, _) in zip(rare, grounds, strict=True)]
    return found + pair_gaps(kin, scene.pairs)


def touching_pairs(kin: Kinematics, pairs: Sequence[Pair]) -> list[TouchingPoint]:
    """Of pairs of capsules, seen in the world."""
    found, product, nu = [], rnea.velocity_products(kin), kin.mechanism.nu
    for pair in pairs:
        # where they touch
        one, other = Segment.of(kin, pair.first), Segment.of(kin, pair.second)
        place = Place.of(one, other, pair.first.radius, pair.second.radius)
        # how both bodies move there
        rows, product_there = SX.zeros(3, nu), SX.zeros(3)
        for capsule, center, sign in zip(
            (pair.first, pair.second), place.centers, (1, -1), strict=True
        ):
            body = capsule.body
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
                (SX(pair.friction), SX(1)),
                0.0,
                kin.world_rotation[pair.first.body],
                product_there,
                Attached.by(rows),
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class Place:
    """Where two capsules touch, in the world.

    gap: m
    frame (3, 3): rows normal, away from the second, and tangents
    centers: the nearest points (3,) of both segments, m
    point (3,): half way between both surfaces, m
    """

    gap: SX
    frame: SX
    centers: tuple[SX, SX]
    point: SX

    @staticmethod
    def of(one: Segment, other: Segment, radius: float | SX, beside: float | SX) -> Place:
        """Of segments with these radii, m."""
        apart, along = between(one, other)
        gap, frame = length(apart) - (radius + beside), facing(apart)
        center = one.middle if one.half is None else one.middle + along * one.half
        point = center - (radius + 0.5 * gap) * frame[0, :].T
        return Place(gap, frame, (center, center - apart), point)


def touching_slot(scene: Scene, kin: Kinematics, terrain: object, slot: Chosen) -> TouchingPoint:
    """Of what a slot holds, rows dense; an empty slot is far away. A pair is seen from its second
    body, on which a law's memory of places then stays.
    """
    paired = [c.body for pair in scene.pairs for c in (pair.first, pair.second)]
    selection = Selection(kin, [c.body for c in scene.candidates] + paired)
    # the ground below it
    body = selection.body(slot.body)
    arm = ca.mtimes(body.rotation, slot.center)
    center = body.origin + arm
    outline = None if slot.outline is None else Turned(slot.outline, body.rotation)
    [(reach, distance, frame)] = below(scene, terrain, [center], [outline])
    normal = frame[0, :].T
    down = -slot.radius * normal + reach
    product = body.velocity_product(arm, down)
    if outline is not None:
        product += outline.gained(normal, body.spin)
    # as a contact
    rows = ca.mtimes(frame, selection.columns(body, center + down))
    ground = TouchingPoint(
        ca.if_else(slot.number >= 0, distance - slot.radius, FAR),
        ca.mtimes(rows, kin.u),
        center + down,
        frame,
        _material(scene, center + down, terrain, _friction_of(scene, slot.number)),
        slot.radius,
        body.rotation,
        ca.mtimes(frame, product),
        Attached.by(rows),
        *((down, center + down - reach) if outline is not None else ()),
    )
    return ground if slot.against is None else _or_pair(ground, slot, selection, body)


def _or_pair(
    ground: TouchingPoint, slot: Chosen, selection: Selection, body: Selected
) -> TouchingPoint:
    """What a slot holds where that may be a pair; `ground`: what it is else."""
    assert slot.against is not None and slot.half is not None
    # where both capsules touch
    second = slot.against
    other = selection.body(second.body)
    one, two = (
        Segment(
            at.origin + ca.mtimes(at.rotation, center),
            ca.mtimes(at.rotation, half),
            ca.dot(half, half),
        )
        for at, center, half in (
            (body, slot.center, slot.half),
            (other, second.center, second.half),
        )
    )
    place, middle = Place.of(one, two, slot.radius, second.radius), one.middle
    # how both bodies move there, or the one
    meets = second.body >= 0

    def either(pair: SX, one: SX) -> SX:
        return ca.if_else(meets, pair, one)

    point, frame = either(place.point, ground.point), either(place.frame, ground.frame)
    moved = selection.columns(body, point) - either(selection.columns(other, point), SX(0))
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
        ca.if_else(slot.number >= 0, either(place.gap, ground.gap), FAR),
        ca.mtimes(rows, selection.kin.u),
        either(seen[0], ground.point),
        either(seen[1], ground.frame),
        (ground.material[0], either(SX(1), ground.material[1])),
        ground.radius,
        either(ca.mtimes(back, body.rotation), ground.rotation),
        either(product, ground.velocity_product),
        Attached.by(rows),
        either(ca.mtimes(back, place.point - middle), down),
        None if ground.told is None else either(seen[0], ground.told),
    )


def _material(scene: Scene, point: SX, terrain: object, own: float | SX) -> tuple[SX, SX]:
    """Factors on friction and on stiffness at a point (3,), of the ground and of what touches."""
    friction, stiffness = scene.terrain.material(point, terrain)
    return friction if SX(own).is_one() else own * friction, stiffness


def _friction_of(scene: Scene, number: SX) -> SX:
    """The factor of the candidate that a slot holds, by its number in the scene's order."""
    factors = [scene.candidates[i].friction for i in scene.order[: len(scene.candidates)]]
    factors += [pair.friction for pair in scene.pairs]
    found = SX(factors[0])
    for k in range(1, len(factors)):
        if factors[k] != factors[k - 1]:
            found = ca.if_else(number >= k, factors[k], found)
    return found
