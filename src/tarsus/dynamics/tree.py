"""Traverse a tree of bodies: outward from the root, inward from the leaves.

Teixeira de Paula 2024, section 2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tarsus.model.mechanism import WORLD, Mechanism

T = TypeVar("T")


def sweep_outward(mechanism: Mechanism, visit: Callable[[int, T], T], world_value: T) -> list[T]:
    """Compute values[i] = visit(i, value of the parent of i), root first."""
    values: list[T] = []
    for i, body in enumerate(mechanism.bodies):
        values.append(visit(i, world_value if body.parent == WORLD else values[body.parent]))
    return values


def sweep_inward(
    mechanism: Mechanism,
    quantities: list[T],
    to_parent: Callable[[int, T], T],
    add: Callable[[T, T], T],
) -> list[T]:
    """Compute values[i] = own[i] + sum of to_parent(child, values[child]), leaves first."""
    values = list(quantities)
    for i in reversed(range(len(mechanism.bodies))):
        parent = mechanism.bodies[i].parent
        if parent != WORLD:
            values[parent] = add(values[parent], to_parent(i, values[i]))
    return values


def support_path(mechanism: Mechanism, body: int) -> list[int]:
    """Return the support path kappa(body): the body, its parent, ... up to the root."""
    bodies = []
    while body != WORLD:
        bodies.append(body)
        body = mechanism.bodies[body].parent
    return bodies


def connected_roots(mechanism: Mechanism) -> set[int]:
    """Find the roots of all trees that loop joints connect to the first tree, itself included.

    WORLD is among them if the first tree is connected to the world, or to a tree fixed to it.
    """
    roots = [support_path(mechanism, i)[-1] for i in range(len(mechanism.bodies))]
    fixed = {root for root in roots if mechanism.bodies[root].joint.kind != "free"} | {WORLD}
    fixed -= set(mechanism.base_chain[:1])
    links: list[set[int]] = []
    for loop in mechanism.loops:
        ends = {WORLD if end == WORLD else roots[end] for end in (loop.parent, loop.child)}
        links.append({WORLD if end in fixed else end for end in ends})
    connected = {0}
    while more := {root for link in links if link & connected for root in link - connected}:
        connected |= more
    return connected


def object_bodies(mechanism: Mechanism) -> set[int]:
    """Find the bodies of objects, which are not part of the robot.

    Every tree on a free joint is an object, except the first one. If the robot's base moves, so is
    a tree fixed to the world, such as a door, unless it has motors, loops or mimic joints.
    """
    bodies = mechanism.bodies
    roots = [support_path(mechanism, i)[-1] for i in range(len(bodies))]
    robot = {0} | {root for root in roots if bodies[root].joint.kind != "free"}
    if mechanism.mobile:
        robot = {0} | (robot & _find_actuated_roots(mechanism, roots))
    return {i for i, root in enumerate(roots) if root not in robot}


def _find_actuated_roots(mechanism: Mechanism, roots: list[int]) -> set[int]:
    """Find the roots of trees with a motor, a loop, a mimic joint or the leader of one."""
    joints = {motor.joint for motor in (*mechanism.actuators, *mechanism.file_actuators)}
    joints |= {name for c in mechanism.couplings for name in (c.joint, *c.leader_names)}
    joints |= {name for tendon in mechanism.tendons for name, _ in tendon.terms}
    ends = {end for loop in mechanism.loops for end in (loop.parent, loop.child) if end != WORLD}
    moved = {i for i, body in enumerate(mechanism.bodies) if body.joint.name in joints}
    return {roots[i] for i in ends | moved}
