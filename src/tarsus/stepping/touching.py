"""Contact candidates at the ground: gap, frame, Jacobian and velocity of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.dynamics import jacobian, rnea
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.selection import Selection
from tarsus.model.mechanism import Candidate
from tarsus.spatial.rotation import constant
from tarsus.stepping.base import Scene
from tarsus.stepping.coupling import Attached
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
    surfaces = scene.terrain.surfaces(centers, terrain)
    velocity_product = rnea.velocity_products(kin)
    for candidate, center, (distance, frame) in zip(which, centers, surfaces, strict=True):
        # the candidate's lowest point and how it moves
        middle, down = constant(candidate.position), -candidate.radius * frame[0, :].T
        if candidate.body in bodies:
            body = bodies[candidate.body]
            arms = body.arms(middle, down, frame)
            attached, velocity = Attached(body.rows, body.number, arms), ca.mtimes(arms, body.twist)
            product = body.velocity_product(middle, down)
        else:
            arm = -candidate.radius * jacobian.direction_in_body(kin, candidate.body, frame[0, :].T)
            columns = jacobian.point_jacobian(kin, candidate.body, middle + arm)
            rows = ca.mtimes(frame, jacobian.dense(columns, scene.mechanism.nu))
            attached = Attached([ca.horzsplit(rows[k, :]) for k in range(3)])
            velocity = ca.mtimes(rows, kin.u)
            product = velocity_product(candidate.body, middle, arm)
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
        )
        found.append(point)
    return found


def gaps(scene: Scene, kin: Kinematics, terrain: object) -> list[SX]:
    """Of the rare candidates, m."""
    rare = [scene.candidates[i] for i in scene.rare]
    centers = [
        kin.world_position[c.body] + ca.mtimes(kin.world_rotation[c.body], constant(c.position))
        for c in rare
    ]
    surfaces = scene.terrain.surfaces(centers, terrain)
    return [distance - c.radius for c, (distance, _) in zip(rare, surfaces, strict=True)]


def touching_slot(scene: Scene, kin: Kinematics, terrain: object, slot: Chosen) -> TouchingPoint:
    """Of what a slot holds, rows dense; an empty slot is far away."""
    selection = Selection(kin, [c.body for c in scene.candidates])
    body = selection.body(slot.body)
    arm = ca.mtimes(body.rotation, slot.center)
    center = body.origin + arm
    [(distance, frame)] = scene.terrain.surfaces([center], terrain)
    down = -slot.radius * frame[0, :].T
    rows = ca.mtimes(frame, selection.columns(body, center + down))
    return TouchingPoint(
        ca.if_else(slot.number >= 0, distance - slot.radius, FAR),
        ca.mtimes(rows, kin.u),
        center + down,
        frame,
        _material(scene, center + down, terrain, _friction_of(scene, slot.number)),
        slot.radius,
        body.rotation,
        ca.mtimes(frame, body.velocity_product(arm, down)),
        Attached([ca.horzsplit(rows[k, :]) for k in range(3)]),
    )


def _material(scene: Scene, point: SX, terrain: object, own: float | SX) -> tuple[SX, SX]:
    """Factors on friction and on stiffness at a point (3,), of the ground and of what touches."""
    friction, stiffness = scene.terrain.material(point, terrain)
    return friction if SX(own).is_one() else own * friction, stiffness


def _friction_of(scene: Scene, number: SX) -> SX:
    """The factor of the candidate that a slot holds, by its number in the scene's order."""
    factors = [scene.candidates[i].friction for i in scene.order]
    found = SX(factors[0])
    for k in range(1, len(factors)):
        if factors[k] != factors[k - 1]:
            found = ca.if_else(number >= k, factors[k], found)
    return found
