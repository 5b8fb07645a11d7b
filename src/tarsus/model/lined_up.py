"""Three hinges with no mass between them: where the axes line up, nothing resists their turning."""

from __future__ import annotations

import numpy as np

from tarsus.model.mechanism import Body, Mechanism

MARGIN = 0.1  # rad: limits are passed a little, and M is nearly singular before the axes line up


def lined_up(mechanism: Mechanism) -> list[str]:
    """A phrase for each three hinges in a row, about axes that meet, without mass or armature
    between them, whose middle one can turn to where all three axes lie in a plane.

    The outer two then turn against each other at no energy, and M(q) is singular.
    """
    bodies = mechanism.bodies
    children = [body.parent for body in bodies]
    found = []
    for third in bodies:
        if third.parent < 0 or bodies[third.parent].parent < 0:
            continue
        second = bodies[third.parent]
        first = bodies[second.parent]
        alone = all(children.count(above.parent) == 1 for above in (second, third))
        weightless = not any(b.inertia.mass or b.inertia.about_com.any() for b in (first, second))
        free = first.joint.armature == third.joint.armature == 0
        meet = not (second.position.any() or third.position.any())
        hinges = all(body.joint.kind == "hinge" for body in (first, second, third))
        if not (alone and weightless and free and meet and hinges):
            continue
        where = _in_a_plane(first, second, third)
        if where is not None:
            names = [repr(body.joint.name) for body in (first, second, third)]
            found.append(f"{', '.join(names[:2])} and {names[2]} at {names[1]} = {where:.2f} rad")
    return found


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
