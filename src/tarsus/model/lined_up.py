"""Three hinges with no mass between them: where the axes line up, nothing resists their turning."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tarsus.model.mechanism import WORLD, Body, Mechanism

MARGIN = 0.1  # rad: limits are passed a little, and M is nearly singular before the axes line up


def lined_up(mechanism: Mechanism) -> list[str]:
    """A phrase for each three hinges in a row, about axes that meet, without mass or armature
    between them, whose middle one can turn to where all three axes lie in a plane.

    The outer two then turn against each other at no energy, and M(q) is singular.
    """
    found = []
    for first, second, third in _in_a_row(mechanism):
        where = _in_a_plane(first, second, third)
        if where is not None:
            names = [repr(body.joint.name) for body in (first, second, third)]
            found.append(f"{', '.join(names[:2])} and {names[2]} at {names[1]} = {where:.2f} rad")
    return found


def _in_a_row(mechanism: Mechanism) -> list[tuple[Body, Body, Body]]:
    """Three hinges, each the only one on the body before it, whose axes meet in a point, without
    mass between them and without armature on the outer two.
    """
    bodies = mechanism.bodies
    carried = Counter(body.parent for body in bodies)
    rows = []
    for third in bodies:
        second = None if third.parent == WORLD else bodies[third.parent]
        if second is None or second.parent == WORLD:
            continue
        first = bodies[second.parent]
        hinges = all(body.joint.kind == "hinge" for body in (first, second, third))
        alone = carried[second.parent] == carried[third.parent] == 1
        meet = not (second.position.any() or third.position.any())
        weightless = not any(b.inertia.mass or b.inertia.about_com.any() for b in (first, second))
        bare = first.joint.armature == third.joint.armature == 0
        if hinges and alone and meet and weightless and bare:
            rows.append((first, second, third))
    return rows


def _in_a_plane(first: Body, second: Body, third: Body) -> float | None:
    """The middle hinge's angle at which its axes lie in a plane, that nearest to zero within its
    range, rad; None for none.
    """
    # a_1 . (a_2 x a_3) = A cos q + B sin q in the frame that the middle hinge turns in
    a_1 = second.rotation.T @ first.joint.axis
    a_2 = second.joint.axis
    across = np.cross(a_2, third.rotation @ third.joint.axis)
    A, B = a_1 @ across, a_1 @ np.cross(a_2, across)
    zero = np.arctan2(-A, B)
    within = [
        angle
        for angle in zero + np.pi * np.arange(-2, 3)
        if second.joint.lower - MARGIN <= angle <= second.joint.upper + MARGIN
    ]
    return float(min(within, key=abs)) if within else None
