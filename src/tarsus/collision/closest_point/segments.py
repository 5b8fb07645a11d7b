"""Closest points of two segments, which rounded are capsules."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.solids import Capsule
from tarsus.spatial.rotation import constant

CENTERING = 1e-6  # draws the closest points of parallel segments to their middles
MIN_SQUARE = 1e-12  # m^2: keeps a ball's segment from dividing by zero
MIN_LENGTH = 1e-12  # m: capsules whose segments cross are separated upwards
# relative to a rectangle's size: an edge that changes less along a side is parallel to it, and not
# cut. This is round-off only: a larger value would end the edge of an equal face too early
MIN_COMPONENT = 1e-12
AXES = constant(np.array([[2, 3, 6], [3, -6, 2], [6, 2, -3]]) / 7)  # parallel to no joint or edge


@dataclass(frozen=True, eq=False)
class Segment:
    """A segment from middle - half to middle + half (3,), world, m; a point if half is None.

    square: |half|^2, m^2
    """

    middle: SX
    half: SX | None
    square: float | SX = 0.0

    @staticmethod
    def of(kin: Kinematics, capsule: Capsule) -> Segment:
        """Place the segment of a capsule in the world."""
        R, r = kin.world_rotation[capsule.body], kin.world_position[capsule.body]
        middle = r + ca.mtimes(R, constant(capsule.middle))
        if capsule.ball:
            return Segment(middle, None)
        half = capsule.half
        return Segment(middle, ca.mtimes(R, constant(half)), float(half @ half))


def clip(start: SX, along: SX, sizes: SX) -> tuple[SX, SX]:
    """Clip a segment in a plane by a rectangle around the origin.

    Parameters
    ----------
    start, along : SX
        Start (2,) of the segment, and vector (2,) to its end, m.
    sizes : SX
        Half edges (2,) of the rectangle, m.

    Returns
    -------
    tuple of SX
        Start and end of the part inside, from 0 to 1 along the segment. The start is beyond the end
        if the segment misses the rectangle.
    """
    first, last = SX(0), SX(1)
    for k in range(2):
        parallel = MIN_COMPONENT * sizes[k]
        step = ca.if_else(ca.fabs(along[k]) < parallel, parallel, along[k])
        cuts = (-sizes[k] - start[k]) / step, (sizes[k] - start[k]) / step
        first, last = ca.fmax(first, ca.fmin(*cuts)), ca.fmin(last, ca.fmax(*cuts))
    return first, last


def closest_offset(one: Segment, other: Segment) -> tuple[SX, SX]:
    """Find the vector between the closest points of two segments, and its position on the first.

    The vector (3,), m, leads from `other` to `one`; the position along `one` is from -1 to 1.

    Minimizes |m1 + s d1 - m2 - t d2|^2 over a square of s and t: s is clamped, then t is the best
    one alone, then s. Parallel segments have many closest points; those nearest to their middles
    are returned, so that the points move continuously.
    """
    offset, d1, d2 = one.middle - other.middle, one.half, other.half
    if d1 is None:
        if d2 is None:
            return offset, SX(0)
        t = _inside(ca.dot(d2, offset) * (1 / (other.square + MIN_SQUARE)))
        return offset - t * d2, SX(0)
    if d2 is None:
        s = _inside(ca.dot(d1, offset) * (-1 / (one.square + MIN_SQUARE)))
        return offset + s * d1, s
    b, c, f = ca.dot(d1, d2), ca.dot(d1, offset), ca.dot(d2, offset)
    even = CENTERING * (one.square + other.square) + MIN_SQUARE
    a, e = one.square + even, other.square + even
    s = _inside((b * f - c * e) / (a * e - b * b))
    t = _inside((b * s + f) * (1 / e))
    s = _inside((b * t - c) * (1 / a))
    return offset + s * d1 - t * d2, s


def length(offset: SX) -> SX:
    """Return |apart|, m, never zero."""
    return ca.sqrt(ca.dot(offset, offset) + MIN_LENGTH**2)


def contact_frame(offset: SX) -> SX:
    """Build a contact frame (3, 3) with its normal along `offset`: rows normal and tangents.

    AXES are turned the shortest way so that the first becomes the normal. The tangents are
    continuous except where the normal is opposite to that axis.
    """
    away = offset + ca.vertcat(0, 0, MIN_LENGTH)
    normal = away / ca.sqrt(ca.dot(away, away))
    z, x, y = ca.vertsplit(ca.mtimes(AXES, normal))
    share = 1 / ca.fmax(1 + z, MIN_LENGTH)
    forward = ca.vertcat(-x, 1 - x * x * share, -x * y * share)
    left = ca.vertcat(-y, -x * y * share, 1 - y * y * share)
    return ca.horzcat(normal, ca.mtimes(AXES.T, forward), ca.mtimes(AXES.T, left)).T


def _inside(x: SX) -> SX:
    return ca.fmin(ca.fmax(x, -1), 1)
