"""Contacts of a capsule with a box, without branches.

These are the closest point of its segment, and the ends of the part of it above the box's face.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import casadi as ca
from casadi import SX

ABSENT_GAP = 1.0  # m: gap of a contact that does not exist
SAME_POSITION = 1e-5  # relative to a box or an edge: positions that differ less are one
INSIDE_DISTANCE = 1e-9  # m: a point nearer to a box than this counts as inside
MIN_COMPONENT = 1e-12  # m: a segment that changes less along an axis is parallel to that face


@dataclass(frozen=True, eq=False)
class Block:
    """Box in the world: middle (3,), m, rotation (3, 3), half edges (3,), m."""

    middle: SX
    rotation: SX
    half: SX

    def to_box(self, point: SX) -> SX:
        """Convert a world point (3,) to the box's frame."""
        return ca.mtimes(self.rotation.T, point - self.middle)


@dataclass(frozen=True, eq=False)
class CapsuleBoxContact:
    """One contact of a capsule with a box.

    Parameters
    ----------
    gap : SX
        Distance, m.
    normal : SX
        Normal (3,), away from the box, world.
    along : SX
        Position on the segment, -1 to 1.
    """

    gap: SX
    normal: SX
    along: SX


def capsule_on_box(
    middle: SX, half: SX | None, radius: SX | float, box: Block
) -> list[CapsuleBoxContact]:
    """Compute the contacts of a capsule with a box.

    The first is the closest point. The others are the ends of the part above the box's face, if
    they are elsewhere. A ball has only the first.

    Parameters
    ----------
    middle, half : SX
        (3,): middle of the capsule's segment, and from there to its end, world, m; half is None
        for a ball.
    radius : SX or float
        Radius of the capsule, m.
    box : Block
        Box in the world.
    """
    p = box.to_box(middle)
    if half is None:
        return [_ball_contact(p, SX(0), radius, box)]
    d = ca.mtimes(box.rotation.T, half)
    ball = ca.dot(d, d) < MIN_COMPONENT**2
    d = ca.vertcat(
        *(ca.if_else(ca.fabs(x) < MIN_COMPONENT, MIN_COMPONENT, x) for x in ca.vertsplit(d))
    )
    t = ca.if_else(ball, 0, _find_nearest_parameter(p, d, box.half))
    nearest = p + t * d
    # part of the segment above the face that is closest there
    face = ca.fabs(nearest) - box.half
    first, last = SX(-1), SX(1)
    for k in range(3):
        # not along the normal of the face
        is_normal = ca.logic_and(face[k] >= face[k - 1], face[k] >= face[k - 2])
        cuts = (-box.half[k] - p[k]) / d[k], (box.half[k] - p[k]) / d[k]
        first = ca.if_else(is_normal, first, ca.fmax(first, ca.fmin(*cuts)))
        last = ca.if_else(is_normal, last, ca.fmin(last, ca.fmax(*cuts)))
    above = ca.logic_and(last - first > SAME_POSITION, ca.logic_not(ball))
    within = ca.logic_and(t > first - SAME_POSITION, t < last + SAME_POSITION)
    positions = [
        (t, ca.logic_not(ca.logic_and(above, within))),
        (ca.fmin(ca.fmax(first, -1), 1), above),
        (ca.fmin(ca.fmax(last, -1), 1), above),
    ]
    contacts = []
    for position, exists in positions:
        contact = _ball_contact(p + position * d, position, radius, box)
        contacts.append(
            CapsuleBoxContact(
                ca.if_else(exists, contact.gap, ABSENT_GAP), contact.normal, contact.along
            )
        )
    return contacts


def _find_nearest_parameter(p: SX, d: SX, half: SX) -> SX:
    """Find the t in [-1, 1] for which p + t d (3,) is nearest to a box around the origin.

    Half the derivative of the squared distance increases with t and is piecewise linear, with
    breaks where the line passes a face. It is zero between the last break at which it is not
    positive and the first at which it is.
    """

    def slope(t: SX) -> SX:
        x = p + t * d
        return ca.dot(d, x - ca.fmin(ca.fmax(x, -half), half))

    # the last break with a slope of at most zero, and the first with a positive one
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


def _ball_contact(x: SX, along: SX, radius: SX | float, box: Block) -> CapsuleBoxContact:
    """Compute the contact of a ball around a point (3,) in the box's frame."""
    beyond = x - ca.fmin(ca.fmax(x, -box.half), box.half)
    distance = ca.sqrt(ca.dot(beyond, beyond) + INSIDE_DISTANCE**4)
    # inside: out through the nearest face
    depth = ca.fabs(x) - box.half
    largest = reduce(ca.fmax, ca.vertsplit(depth))
    out = ca.vertcat(*(sign(x[k]) * (depth[k] >= largest) for k in range(3)))
    within = distance < INSIDE_DISTANCE
    normal = ca.if_else(within, out / ca.sqrt(ca.dot(out, out)), beyond / distance)
    gap = ca.if_else(within, largest, distance) - radius
    return CapsuleBoxContact(gap, ca.mtimes(box.rotation, normal), along)


def sign(x: SX) -> SX:
    """Return the sign of x, 1 at zero."""
    return ca.if_else(x < 0, -1, 1)
