"""Segments, that rounded are capsules, and where two of them are nearest."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.solids import Capsule
from tarsus.spatial.rotation import constant

EVEN = 1e-6  # part of their lengths that draws the nearest points of segments to their middles
ROUND = 1e-12  # m^2: keeps a ball's segment from dividing by zero
TINY = 1e-12  # m: capsules whose segments cross are parted upwards
AXES = constant(np.array([[2, 3, 6], [3, -6, 2], [6, 2, -3]]) / 7)  # no joint's, no edge's


@dataclass(frozen=True, eq=False)
class Segment:
    """From middle - half to middle + half (3,), world, m; a point where half is None.

    square: |half|^2, m^2
    """

    middle: SX
    half: SX | None
    square: float | SX = 0.0

    @staticmethod
    def of(kin: Kinematics, capsule: Capsule) -> Segment:
        """That of a capsule."""
        R, r = kin.world_rotation[capsule.body], kin.world_position[capsule.body]
        middle = r + ca.mtimes(R, constant(capsule.middle))
        if capsule.ball:
            return Segment(middle, None)
        half = capsule.half
        return Segment(middle, ca.mtimes(R, constant(half)), float(half @ half))


def between(one: Segment, other: Segment) -> tuple[SX, SX]:
    """From the nearest point of the other to the nearest of one (3,), m; the latter's place along
    one, -1 to 1.

    The least of |m1 + s d1 - m2 - t d2|^2 over a square of s and t: at the least over s, cut off
    at the ends, t is best alone, and then s. Of parallel segments, that have many nearest points,
    those nearest to the middles: where the points else jump, they move fast, but continuously.
    """
    apart, d1, d2 = one.middle - other.middle, one.half, other.half
    if d1 is None:
        if d2 is None:
            return apart, SX(0)
        t = _inside(ca.dot(d2, apart) * (1 / (other.square + ROUND)))
        return apart - t * d2, SX(0)
    if d2 is None:
        s = _inside(ca.dot(d1, apart) * (-1 / (one.square + ROUND)))
        return apart + s * d1, s
    b, c, f = ca.dot(d1, d2), ca.dot(d1, apart), ca.dot(d2, apart)
    even = EVEN * (one.square + other.square) + ROUND
    a, e = one.square + even, other.square + even
    s = _inside((b * f - c * e) / (a * e - b * b))
    t = _inside((b * s + f) * (1 / e))
    s = _inside((b * t - c) * (1 / a))
    return apart + s * d1 - t * d2, s


def length(apart: SX) -> SX:
    """|apart|, m, never zero."""
    return ca.sqrt(ca.dot(apart, apart) + TINY**2)


def facing(apart: SX) -> SX:
    """The frame (3, 3) of a contact whose normal is along `apart` (3,): rows normal and tangents.

    AXES turned the shortest way, so that the first becomes the normal: the tangents turn with it
    but where it is against that axis, for no field of tangents is continuous everywhere.
    """
    away = apart + ca.vertcat(0, 0, TINY)
    normal = away / ca.sqrt(ca.dot(away, away))
    z, x, y = ca.vertsplit(ca.mtimes(AXES, normal))
    share = 1 / ca.fmax(1 + z, TINY)
    forward = ca.vertcat(-x, 1 - x * x * share, -x * y * share)
    left = ca.vertcat(-y, -x * y * share, 1 - y * y * share)
    return ca.horzcat(normal, ca.mtimes(AXES.T, forward), ca.mtimes(AXES.T, left)).T


def _inside(x: SX) -> SX:
    return ca.fmin(ca.fmax(x, -1), 1)
