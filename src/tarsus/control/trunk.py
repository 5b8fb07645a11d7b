"""The motion of a floating trunk as gaits use it, in products and sums without angles.

x points forwards and y to the left, both seen from the trunk; `Planar` triples move the feet under
it.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from tarsus.spatial.rotation import from_quaternion


class Planar(NamedTuple):
    """A displacement x, y (m) and a small turn to the left (rad) in the trunk's plane, or their
    rates.
    """

    x: ca.SX
    y: ca.SX
    turn: ca.SX

    def times(self, factor: ca.SX | float) -> Planar:
        """All three times a number."""
        return Planar(self.x * factor, self.y * factor, self.turn * factor)

    def plus(self, other: Planar) -> Planar:
        """The sum of both."""
        return Planar(self.x + other.x, self.y + other.y, self.turn + other.turn)

    def at(self, x: float, y: float) -> tuple[ca.SX, ca.SX]:
        """How the point (x, y) m moves: m, or m/s."""
        return self.x - self.turn * y, self.y + self.turn * x


class TrunkMotion(NamedTuple):
    """How the trunk stands and moves.

    heading: (2,) the x axis seen from above
    rise: (2,) world height gained per meter along x and y
    velocity: in the trunk's plane
    """

    heading: ca.SX
    rise: ca.SX
    velocity: Planar


def trunk(q: ca.SX, u: ca.SX) -> TrunkMotion:
    """Of coordinates (nq,) and velocities (nu,). Sideways, the velocity is the horizontal one."""
    R = from_quaternion(q[3:7])
    cos, sin = R[0, 0], R[1, 0]
    velocity = Planar(cos * u[0] + sin * u[1] + R[2, 0] * u[2], cos * u[1] - sin * u[0], u[5])
    return TrunkMotion(ca.vertcat(cos, sin), R[2, :2].T, velocity)


def keep_heading(kept: ca.SX, actual: ca.SX, turned: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Sine of the angle, to the left, from the actual heading to the one kept; and the latter,
    `turned` (rad) further.

    kept: (2,) a unit vector, or zero: then the actual heading is taken; actual: (2,), nearly a unit
    vector. A step's turn is small: it is taken to first order, and a Newton step keeps the length 1
    however long one walks.
    """
    square = ca.dot(kept, kept)
    fresh = square < 0.5
    x, y = kept[0] + fresh * actual[0], kept[1] + fresh * actual[1]
    length = 1.5 - 0.5 * (square + fresh)
    return actual[0] * y - actual[1] * x, length * ca.vertcat(x - turned * y, y + turned * x)
