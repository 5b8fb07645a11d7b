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


def company(mechanism: Mechanism) -> set[int]:
    """The roots of all trees that loop joints tie to the first one, its own among them; WORLD among
    them if it is tied to the world, or to what stands on it.
    """
    roots = [path(mechanism, i)[-1] for i in range(len(mechanism.bodies))]
    stays = {root for root in roots if mechanism.bodies[root].joint.kind != "free"} | {WORLD}
    ties: list[set[int]] = []
    for loop in mechanism.loops:
        ends = {WORLD if end == WORLD else roots[end] for end in (loop.parent, loop.child)}
        ties.append({WORLD if end in stays else end for end in ends})
    found = {0}
    while more := {root for tie in ties if tie & found for root in tie - found}:
        found |= more
    return found


def loose(mechanism: Mechanism) -> set[int]:
    """The bodies of objects beside the robot: those of every tree on a free joint but the first;
    beside a first one on a free joint, too, those of trees that hang on the world, as doors do,
    unless motors, loops or joints that follow others make them part of it.
    """
    bodies = mechanism.bodies
    roots = [path(mechanism, i)[-1] for i in range(len(bodies))]
    own = {0} | {root for root in roots if bodies[root].joint.kind != "free"}
    if mechanism.floating:
        own = {0} | (own & _worked(mechanism, roots))
    return {i for i, root in enumerate(roots) if root not in own}


def _worked(mechanism: Mechanism, roots: list[int]) -> set[int]:
    """The roots of trees with a motor, a loop or a joint that follows another or leads it."""
    joints = {motor.joint for motor in (*mechanism.actuators, *mechanism.file_actuators)}
    joints |= {name for c in mechanism.couplings for name in (c.joint, c.leader)}
    ends = {end for loop in mechanism.loops for end in (loop.parent, loop.child) if end != WORLD}
    moved = {i for i, body in enumerate(mechanism.bodies) if body.joint.name in joints}
    return {roots[i] for i in ends | moved}
