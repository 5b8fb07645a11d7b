"""The two ways to walk a tree of bodies: outward from the root, inward from the leaves.

Teixeira de Paula 2024, section 2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tarsus.model.mechanism import WORLD, Mechanism

T = TypeVar("T")


def outward(mechanism: Mechanism, visit: Callable[[int, T], T], at_world: T) -> list[T]:
    """values[i] = visit(i, value of i's parent), root first."""
    values: list[T] = []
    for i, body in enumerate(mechanism.bodies):
        values.append(visit(i, at_world if body.parent == WORLD else values[body.parent]))
    return values


def inward(
    mechanism: Mechanism, own: list[T], to_parent: Callable[[int, T], T], add: Callable[[T, T], T]
) -> list[T]:
    """values[i] = own[i] + what each child hands over by to_parent(child, value), leaves first."""
    values = list(own)
    for i in reversed(range(len(mechanism.bodies))):
        parent = mechanism.bodies[i].parent
        if parent != WORLD:
            values[parent] = add(values[parent], to_parent(i, values[i]))
    return values


def path(mechanism: Mechanism, body: int) -> list[int]:
    """The support path kappa(body): the body, its parent, ... up to the root."""
    bodies = []
    while body != WORLD:
        bodies.append(body)
        body = mechanism.bodies[body].parent
    return bodies


def loose(mechanism: Mechanism) -> set[int]:
    """The bodies of free objects beside the robot: those of every tree on a free joint but the
    first.
    """
    roots = [path(mechanism, i)[-1] for i in range(len(mechanism.bodies))]
    return {
        i for i, root in enumerate(roots) if root and mechanism.bodies[root].joint.kind == "free"
    }
