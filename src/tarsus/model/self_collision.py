"""Pairs of shapes, of a robot and of other objects, that the robot's file allows to collide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from tarsus.model.candidates import Shape, reserve_names
from tarsus.model.mechanism import WORLD, Body, Mechanism
from tarsus.model.solids import FIRST_PAIR_BIT, Capsule, Cuboid, Pair, Solid, create_contacts
from tarsus.model.stand_ins import STAND_INS


def create_solids(shapes: Iterable[tuple[str, int, Shape]]) -> tuple[Solid, ...]:
    """Create the solids of shapes, given as (link name, body, shape).

    Spheres, capsules and boxes are solids themselves; capsules or boxes stand in for cylinders and
    ellipsoids; meshes have none. A solid is named after its shape or link; the names of several
    solids of one link end in _0, _1, ...
    """
    shapes = [
        (link, body, shape)
        for link, body, shape in shapes
        if shape.kind in STAND_INS and min(shape.size[:3]) > 0
    ]
    names = [shape.name for _, _, shape in shapes]
    groups: dict[str, list[tuple[int, Shape]]] = {}
    for link, body, shape in shapes:
        label = shape.name if shape.name and names.count(shape.name) == 1 else link
        groups.setdefault(label, []).append((body, shape))
    used = {label for label, group in groups.items() if len(group) == 1}
    return tuple(
        _create_solid(name, body, shape)
        for label, group in groups.items()
        for name, (body, shape) in zip(reserve_names(label, len(group), used), group, strict=True)
    )


def create_pairs(mechanism: Mechanism, within_robot: bool = True) -> tuple[Pair, ...]:
    """Create the first contact of every two solids that may collide according to the file.

    Two solids may collide if their bits match and their bodies are neither the same, nor parent and
    child, nor excluded. Solids of an explicit pair of the file may collide in any case.

    Parameters
    ----------
    mechanism
        A robot, or several robots and objects in one world.
    within_robot
        Whether to include pairs within one robot, not only those between robots and objects.
    """
    bodies = mechanism.bodies
    excluded = {frozenset(names) for names in mechanism.excluded}
    result = []
    for one, other in combinations(mechanism.solids, 2):
        a, b = one.body, other.body
        names = frozenset((bodies[a].name, bodies[b].name))
        adjacent = a == b or _find_carrier(bodies, a) == b or _find_carrier(bodies, b) == a
        matching = one.bits[0] & other.bits[1] | one.bits[1] & other.bits[0]
        filtered = adjacent or names in excluded
        if a != b and (matching if not filtered else matching >= FIRST_PAIR_BIT):
            pair = create_contacts(one, other)[0]
            result += [pair] if within_robot or is_between_trees(mechanism, pair) else []
    return tuple(result)


def is_between_trees(mechanism: Mechanism, pair: Pair) -> bool:
    """Return whether a pair's solids belong to two trees, of which at least one is free.

    These are a robot and an object beside it, or two of either.
    """
    roots = [_root(mechanism.bodies, solid.body) for solid in (pair.first, pair.second)]
    return roots[0] != roots[1] and any(mechanism.bodies[k].joint.kind == "free" for k in roots)


def transfer_pairs(known: tuple[Pair, ...], mechanism: Mechanism) -> tuple[Pair, ...]:
    """Transfer the pairs to the solids of the same robot in other coordinates.

    Cutting joints may move the frames of bodies, and with them the solids in these frames.
    """
    solid_of = {solid.name: solid for solid in mechanism.solids}
    if all(solid_of[c.name] is c for pair in known for c in (pair.first, pair.second)):
        return known
    return tuple(
        replace(pair, first=solid_of[pair.first.name], second=solid_of[pair.second.name])
        for pair in known
    )


def _root(bodies: Sequence[Body], body: int) -> int:
    while bodies[body].parent != WORLD:
        body = bodies[body].parent
    return body


def _find_carrier(bodies: Sequence[Body], body: int) -> int:
    """Find the nearest ancestor with a mass: several joints on one link have massless bodies."""
    body = bodies[body].parent
    while body != WORLD and not bodies[body].inertia.mass:
        body = bodies[body].parent
    return body


def _create_solid(name: str, body: int, shape: Shape) -> Solid:
    pose, stand_in = shape.pose, STAND_INS[shape.kind](*shape.size)
    contact = (shape.friction, shape.bits, shape.priority, shape.paired, stand_in.max_deviation)
    half = np.array(stand_in.half)
    if not stand_in.radius:
        return Cuboid(name, body, pose.position, half, pose.rotation, *contact)
    return Capsule(name, body, pose.position, pose.rotation @ half, stand_in.radius, *contact)
