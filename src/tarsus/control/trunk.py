"""Motion of a floating trunk as gaits use it, by products and sums, without angles.

In the trunk's frame x points forwards and y to the left. `Planar` triples move the feet below it.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from tarsus.spatial.rotation import from_quaternion


class Planar(NamedTuple):
    """Displacement x, y (m) and small turn to the left (rad) of the trunk, or its velocity."""

    x: ca.SX
    y: ca.SX
    turn: ca.SX

    def scale(self, factor: ca.SX | float) -> Planar:
        """Multiply this displacement by a factor."""
        return Planar(self.x * factor, self.y * factor, self.turn * factor)

    def add(self, other: Planar) -> Planar:
        """Add two displacements."""
        return Planar(self.x + other.x, self.y + other.y, self.turn + other.turn)

    def of_point(self, x: float, y: float) -> tuple[ca.SX, ca.SX]:
        """Compute the displacement (m) or velocity (m/s) of the point (x, y), in m."""
        return self.x - self.turn * y, self.y + self.turn * x


class TrunkMotion(NamedTuple):
    """Attitude and velocity of the trunk.

    Attributes
    ----------
    heading
        Projection of the x axis on the ground, shape (2,).
    rise
        World height gained per meter along x and y, shape (2,).
    velocity
        Velocity in the trunk's plane.
    """

    heading: ca.SX
    rise: ca.SX
    velocity: Planar


def trunk_motion(q: ca.SX, u: ca.SX) -> TrunkMotion:
    """Compute the trunk's motion at coordinates q, shape (nq,), and velocities u, shape (nu,).

    The sideways velocity is the horizontal one.
    """
    R = from_quaternion(q[3:7])
    cos, sin = R[0, 0], R[1, 0]
    velocity = Planar(cos * u[0] + sin * u[1] + R[2, 0] * u[2], cos * u[1] - sin * u[0], u[5])
    return TrunkMotion(ca.vertcat(cos, sin), R[2, :2].T, velocity)


def keep_heading(desired: ca.SX, actual: ca.SX, turned: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Compute the heading error and the next desired heading.

    A turn within a step is small: it is taken to first order, and a Newton step keeps the length of
    the heading at 1 over any number of steps.

    Parameters
    ----------
    desired
        Desired heading, shape (2,): a unit vector, or zero to start from the actual heading.
    actual
        Actual heading, shape (2,), close to a unit vector.
    turned
        Turn to the left in this step, in rad.

    Returns
    -------
    tuple of casadi.SX
        Sine of the angle, to the left, from the actual to the desired heading; and the desired
        heading turned further by `turned`, shape (2,).
    """
    square = ca.dot(desired, desired)
    fresh = square < 0.5
    x, y = desired[0] + fresh * actual[0], desired[1] + fresh * actual[1]
    length = 1.5 - 0.5 * (square + fresh)
    return actual[0] * y - actual[1] * x, length * ca.vertcat(x - turned * y, y + turned * x)
