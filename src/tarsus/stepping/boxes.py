"""Where a capsule meets a box: the nearest point of its segment, and the ends of what is above the
box's face. All without branches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import casadi as ca
from casadi import SX

ABSENT = 1.0  # m: the gap of a contact that is not there
SAME = 1e-5  # of a box's size, or of an edge: places that differ less are one
SHARP = 1e-9  # m: nearer to a box than this a point is taken to be in it
STEEP = 1e-12  # m: a segment that changes less along an axis of the box is parallel to its face


@dataclass(frozen=True, eq=False)
class Block:
    """A box in the world: middle (3,), m, rotation (3, 3), half edges (3,), m."""

    middle: SX
    rotation: SX
    half: SX

    def inside(self, point: SX) -> SX:
        """A world point (3,) in the box's frame."""
        return ca.mtimes(self.rotation.T, point - self.middle)


@dataclass(frozen=True, eq=False)
class Meeting:
    """A contact of two solids.

    gap: m
    normal (3,): away from the second, world
    along: place on the capsule's segment, -1 to 1
    """

    gap: SX
    normal: SX
    along: SX


def capsule_on_box(middle: SX, half: SX | None, radius: SX | float, box: Block) -> list[Meeting]:
    """The contacts of a capsule, a segment (3,), m, world, and its radius, m, with a box: where it
    is nearest; where its part above the box's face begins and ends, if that is elsewhere. Of a
    ball, whose half is None, the first alone.
    """
    p = box.inside(middle)
    if half is None:
        return [_at(p, SX(0), radius, box)]
    d = ca.mtimes(box.rotation.T, half)
    ball = ca.dot(d, d) < STEEP**2
    d = ca.vertcat(*(ca.if_else(ca.fabs(x) < STEEP, STEEP, x) for x in ca.vertsplit(d)))
    t = ca.if_else(ball, 0, _nearest(p, d, box.half))
    nearest = p + t * d
    # what of it is above the face that is nearest there
    face = ca.fabs(nearest) - box.half
    first, last = SX(-1), SX(1)
    for k in range(3):
        # the face's own axis does not cut it
        own = ca.logic_and(face[k] >= face[k - 1], face[k] >= face[k - 2])
        ways = (-box.half[k] - p[k]) / d[k], (box.half[k] - p[k]) / d[k]
        first = ca.if_else(own, first, ca.fmax(first, ca.fmin(*ways)))
        last = ca.if_else(own, last, ca.fmin(last, ca.fmax(*ways)))
    above = ca.logic_and(last - first > SAME, ca.logic_not(ball))
    within = ca.logic_and(t > first - SAME, t < last + SAME)
    found = [
        (t, ca.logic_not(ca.logic_and(above, within))),
        (ca.fmin(ca.fmax(first, -1), 1), above),
        (ca.fmin(ca.fmax(last, -1), 1), above),
    ]
    contacts = []
    for place, there in found:
        at = _at(p + place * d, place, radius, box)
        contacts.append(Meeting(ca.if_else(there, at.gap, ABSENT), at.normal, at.along))
    return contacts


def _nearest(p: SX, d: SX, half: SX) -> SX:
    """Where p + t d (3,) is nearest to a box around zero, -1 <= t <= 1.

    Half the derivative of the squared distance rises with t and is linear between the places where
    the line passes a face: between the last where it is not positive and the first where it is, it
    is zero on a line.
    """

    def slope(t: SX) -> SX:
        x = p + t * d
        return ca.dot(d, x - ca.fmin(ca.fmax(x, -half), half))

    # between the ends, then between ever nearer faces
    low, at_low, high, at_high = SX(-1), slope(SX(-1)), SX(1), slope(SX(1))
    begin, end = at_low, at_high
    for k in range(3):
        for side in (-1, 1):
            t = (side * half[k] - p[k]) / d[k]
            value = slope(t)
            inside = ca.logic_and(t > -1, t < 1)
            lower = ca.logic_and(inside, ca.logic_and(value <= 0, t > low))
            upper = ca.logic_and(inside, ca.logic_and(value > 0, t < high))
            low, at_low = ca.if_else(lower, t, low), ca.if_else(lower, value, at_low)
            high, at_high = ca.if_else(upper, t, high), ca.if_else(upper, value, at_high)
    # on the line between
    rise = at_high - at_low
    t = low - at_low * (high - low) / ca.if_else(rise > 0, rise, 1)
    return ca.if_else(begin > 0, -1, ca.if_else(end <= 0, 1, t))


def _at(x: SX, along: SX, radius: SX | float, box: Block) -> Meeting:
    """Of a point (3,) in the box's frame, rounded by a radius."""
    beyond = x - ca.fmin(ca.fmax(x, -box.half), box.half)
    away = ca.sqrt(ca.dot(beyond, beyond) + SHARP**4)
    # inside: out through the nearest face
    depth = ca.fabs(x) - box.half
    most = reduce(ca.fmax, ca.vertsplit(depth))
    out = ca.vertcat(*(side_of(x[k]) * (depth[k] >= most) for k in range(3)))
    within = away < SHARP
    normal = ca.if_else(within, out / ca.sqrt(ca.dot(out, out)), beyond / away)
    gap = ca.if_else(within, most, away) - radius
    return Meeting(gap, ca.mtimes(box.rotation, normal), along)


def side_of(x: SX) -> SX:
    """-1 or 1, 1 at zero."""
    return ca.if_else(x < 0, -1, 1)
