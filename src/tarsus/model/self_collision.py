"""Which shapes of a robot may touch each other, as its file says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from tarsus.model.candidates import Shape, numbered
from tarsus.model.capsule import Capsule, Pair
from tarsus.model.mechanism import WORLD, Body, Mechanism


def capsules(shapes: Iterable[tuple[str, int, Shape]]) -> tuple[Capsule, ...]:
    """Of (link name, body, shape) the spheres and capsules, and of a cylinder the longest capsule
    in it; named after shape or link, several of a link end in _0, _1, ...
    """
    # by name
    shapes = [
        (link, body, shape)
        for link, body, shape in shapes
        if shape.kind in INSIDE and shape.size[0]
    ]
    often = [shape.name for _, _, shape in shapes]
    groups: dict[str, list[tuple[int, Shape]]] = {}
    for link, body, shape in shapes:
        label = shape.name if shape.name and often.count(shape.name) == 1 else link
        groups.setdefault(label, []).append((body, shape))
    used = {label for label, group in groups.items() if len(group) == 1}
    return tuple(
        _capsule(name, body, shape)
        for label, group in groups.items()
        for name, (body, shape) in zip(numbered(label, len(group), used), group, strict=True)
    )


def pairs(mechanism: Mechanism) -> tuple[Pair, ...]:
    """Those that the file lets touch: by their bits, of bodies that are neither one, nor parent and
    child, nor excluded.
    """
    bodies = mechanism.bodies
    apart = {frozenset(names) for names in mechanism.excluded}
    found = []
    for one, other in combinations(mechanism.capsules, 2):
        a, b = one.body, other.body
        named = frozenset((bodies[a].name, bodies[b].name))
        joined = a == b or _carrier(bodies, a) == b or _carrier(bodies, b) == a
        meant = one.bits[0] & other.bits[1] or one.bits[1] & other.bits[0]
        if meant and not joined and named not in apart:
            found.append(Pair(one, other))
    return tuple(found)


def moved(known: tuple[Pair, ...], mechanism: Mechanism) -> tuple[Pair, ...]:
    """The pairs of a robot in other coordinates, where its bodies' frames may stand elsewhere."""
    own = {capsule.name: capsule for capsule in mechanism.capsules}
    if all(own[c.name] is c for pair in known for c in (pair.first, pair.second)):
        return known
    return tuple(Pair(own[pair.first.name], own[pair.second.name]) for pair in known)


def _carrier(bodies: Sequence[Body], body: int) -> int:
    """The nearest body with a mass that carries it: joints on one link have bodies without."""
    body = bodies[body].parent
    while body != WORLD and not bodies[body].inertia.mass:
        body = bodies[body].parent
    return body


def _capsule(name: str, body: int, shape: Shape) -> Capsule:
    radius, half = INSIDE[shape.kind](*shape.size)
    along = half * shape.pose.rotation[:, 2]
    own = shape.friction, shape.bits
    return Capsule(name, body, shape.pose.position, along, radius, *own)


def _in_cylinder(radius: float, half: float) -> tuple[float, float]:
    return min(radius, half), max(half - radius, 0.0)


INSIDE = {  # radius and half length of the capsule in a shape, by its sizes
    "sphere": lambda radius: (radius, 0.0),
    "capsule": lambda radius, half: (radius, half),
    "cylinder": _in_cylinder,
}
