"""Which shapes of a robot, and of objects beside it, may touch each other, as its file says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from tarsus.model.candidates import Shape, numbered
from tarsus.model.mechanism import WORLD, Body, Mechanism
from tarsus.model.solids import MEANT, Capsule, Cuboid, Pair, Solid, contacts_of
from tarsus.model.stand_ins import STAND_INS


def solids(shapes: Iterable[tuple[str, int, Shape]]) -> tuple[Solid, ...]:
    """Of (link name, body, shape) the spheres, capsules and boxes, and what stands in for cylinders
    and ellipsoids; named after shape or link, several of a link end in _0, _1, ...
    """
    # by name
    shapes = [
        (link, body, shape)
        for link, body, shape in shapes
        if shape.kind in STAND_INS and min(shape.size[:3]) > 0
    ]
    often = [shape.name for _, _, shape in shapes]
    groups: dict[str, list[tuple[int, Shape]]] = {}
    for link, body, shape in shapes:
        label = shape.name if shape.name and often.count(shape.name) == 1 else link
        groups.setdefault(label, []).append((body, shape))
    used = {label for label, group in groups.items() if len(group) == 1}
    return tuple(
        _solid(name, body, shape)
        for label, group in groups.items()
        for name, (body, shape) in zip(numbered(label, len(group), used), group, strict=True)
    )


def pairs(mechanism: Mechanism, own: bool = True) -> tuple[Pair, ...]:
    """Of every two solids that the file lets touch the first contact: by their bits, of bodies that
    are neither one, nor parent and child, nor excluded; where the file names the two, of any two.

    own: those of one robot too, not only those `between` robots and objects
    """
    bodies = mechanism.bodies
    apart = {frozenset(names) for names in mechanism.excluded}
    found = []
    for one, other in combinations(mechanism.solids, 2):
        a, b = one.body, other.body
        named = frozenset((bodies[a].name, bodies[b].name))
        joined = a == b or _carrier(bodies, a) == b or _carrier(bodies, b) == a
        meant = one.bits[0] & other.bits[1] | one.bits[1] & other.bits[0]
        filtered = joined or named in apart
        if a != b and (meant if not filtered else meant >= MEANT):
            pair = contacts_of(one, other)[0]
            found += [pair] if own or between(mechanism, pair) else []
    return tuple(found)


def between(mechanism: Mechanism, pair: Pair) -> bool:
    """Whether a pair's solids belong to a robot and an object beside it, to two of them: to trees
    of which one at least is free.
    """
    roots = [_root(mechanism.bodies, solid.body) for solid in (pair.first, pair.second)]
    return roots[0] != roots[1] and any(mechanism.bodies[k].joint.kind == "free" for k in roots)


def moved(known: tuple[Pair, ...], mechanism: Mechanism) -> tuple[Pair, ...]:
    """The pairs of a robot in other coordinates, where its bodies' frames may stand elsewhere."""
    own = {solid.name: solid for solid in mechanism.solids}
    if all(own[c.name] is c for pair in known for c in (pair.first, pair.second)):
        return known
    return tuple(
        replace(pair, first=own[pair.first.name], second=own[pair.second.name]) for pair in known
    )


def _root(bodies: Sequence[Body], body: int) -> int:
    while bodies[body].parent != WORLD:
        body = bodies[body].parent
    return body


def _carrier(bodies: Sequence[Body], body: int) -> int:
    """The nearest body with a mass that carries it: joints on one link have bodies without."""
    body = bodies[body].parent
    while body != WORLD and not bodies[body].inertia.mass:
        body = bodies[body].parent
    return body


def _solid(name: str, body: int, shape: Shape) -> Solid:
    pose, found = shape.pose, STAND_INS[shape.kind](*shape.size)
    own = (shape.friction, shape.bits, shape.priority, shape.paired, found.off)
    half = np.array(found.half)
    if not found.radius:
        return Cuboid(name, body, pose.position, half, pose.rotation, *own)
    return Capsule(name, body, pose.position, pose.rotation @ half, found.radius, *own)
