"""Three hinges without mass between them: where their axes align, the mass matrix is singular."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tarsus.model.mechanism import WORLD, Body, Mechanism

MARGIN = 0.1  # rad: joints pass their limits a little, and M is nearly singular close to alignment


def aligned_hinges(mechanism: Mechanism) -> list[str]:
    """Describe all triples of successive hinges whose axes can lie in one plane.

    The axes meet in a point, and there is no mass or armature between them. Where the middle hinge
    turns all three axes into a plane, the outer two can turn against each other at no energy, and
    M(q) is singular.
    """
    phrases = []
    for first, second, third in _find_successive_hinges(mechanism):
        angle = _find_aligning_angle(first, second, third)
        if angle is not None:
            names = [repr(body.joint.name) for body in (first, second, third)]
            phrases.append(f"{', '.join(names[:2])} and {names[2]} at {names[1]} = {angle:.2f} rad")
    return phrases


def _find_successive_hinges(mechanism: Mechanism) -> list[tuple[Body, Body, Body]]:
    """Find bodies on three successive hinges whose axes intersect in a point.

    Each hinge is the only joint on the body before it. There is no mass between the hinges, and the
    outer two have no armature.
    """
    bodies = mechanism.bodies
    child_counts = Counter(body.parent for body in bodies)
    rows = []
    for third in bodies:
        second = None if third.parent == WORLD else bodies[third.parent]
        if second is None or second.parent == WORLD:
            continue
        first = bodies[second.parent]
        hinges = all(body.joint.kind == "hinge" for body in (first, second, third))
        single = child_counts[second.parent] == child_counts[third.parent] == 1
        meet = not (second.position.any() or third.position.any())
        massless = not any(b.inertia.mass or b.inertia.about_com.any() for b in (first, second))
        bare = first.joint.armature == third.joint.armature == 0
        if hinges and single and meet and massless and bare:
            rows.append((first, second, third))
    return rows


def _find_aligning_angle(first: Body, second: Body, third: Body) -> float | None:
    """Find the middle hinge's angle, in rad, at which the three axes lie in a plane.

    Of several angles within its range it is the one nearest to zero; None if there is none.
    """
    # a_1 . (a_2 x a_3) = A cos q + B sin q in the frame that the middle hinge turns in
    a_1 = second.rotation.T @ first.joint.axis
    a_2 = second.joint.axis
    normal = np.cross(a_2, third.rotation @ third.joint.axis)
    A, B = a_1 @ normal, a_1 @ np.cross(a_2, normal)
    zero = np.arctan2(-A, B)
    within = [
        angle
        for angle in zero + np.pi * np.arange(-2, 3)
        if second.joint.lower - MARGIN <= angle <= second.joint.upper + MARGIN
    ]
    return float(min(within, key=abs)) if within else None
