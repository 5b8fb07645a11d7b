"""Convex sets of contact laws and projections (prox) on them: half-line, disc, friction cone.

A vector (3,) has its normal component first, then two tangents. The friction cone of mu contains
the x with |x_T| <= mu x_N, its polar cone those with mu |x_T| <= -x_N, which project to zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

TINY = 1e-30  # against a division by zero


def project_on_half_line(x: SX) -> SX:
    """Project onto non-negative numbers: unilateral contact (Gehring 2014, Eqns. (2), (11))."""
    return ca.fmax(x, 0)


def project_on_disc(x: SX, radius: SX) -> SX:
    """Project onto a disc around zero: Coulomb friction (Gehring 2014, Eqn. (3)).

    Parameters
    ----------
    x : SX
        Point (2,).
    radius : SX
        Radius of the disc, not negative.
    """
    squared = ca.dot(x, x)
    inside = squared <= radius * radius
    scale = ca.if_else(inside, 1, radius / ca.sqrt(ca.if_else(inside, 1, squared)))
    return scale * x


def radial_return(x: SX, mu: SX, on_edge: SX | None = None) -> SX:
    """Map x (3,) into the friction cone: clip its normal part at zero, then shorten its tangent.

    Where `on_edge` is 1, the result lies on the edge of the cone even if x lies inside.
    """
    normal = project_on_half_line(x[0])
    length, edge = ca.sqrt(ca.dot(x[1:], x[1:]) + TINY), mu * normal
    outside = length > edge
    moved = outside if on_edge is None else ca.logic_or(on_edge, outside)
    return ca.vertcat(normal, ca.if_else(moved, edge / length, 1) * x[1:])


@dataclass(frozen=True)
class ConePoint:
    """Position of a vector x (3,) relative to the friction cone of mu, ready to be projected.

    The projection has two forms: with `direction` for callers that also need the factor of its
    derivative, without it for callers that try many points and save a division per point.

    Attributes
    ----------
    x, mu
        Vector and friction coefficient.
    length
        |x_T|, rounded off at the apex if requested.
    inside
        1 in the cone, else 0.
    polar
        1 in the polar cone, else 0.
    """

    x: SX
    mu: SX | float
    length: SX
    inside: SX
    polar: SX

    @classmethod
    def of(cls, x: SX, mu: SX | float, rounding: float = 0.0) -> ConePoint:
        """Compare x (3,) with the cone.

        `rounding` is added to |x_T|^2, so that |x_T| is never zero; the cone grows by twice its
        root.
        """
        length = ca.sqrt(ca.dot(x[1:], x[1:]) + rounding)
        inside = length <= mu * x[0] + 2 * rounding**0.5
        # a cone without friction is a half line: its other half is polar
        inside = ca.logic_and(inside, ca.logic_or(x[0] >= 0, mu > 0))
        return cls(x, mu, length, inside, mu * length <= -x[0])

    @property
    def reach(self) -> SX:
        """Sum x_N + mu |x_T|, which is positive if the projection lies on the edge."""
        return self.x[0] + self.mu * self.length

    @property
    def share(self) -> SX | float:
        """1 / (1 + mu^2)."""
        return 1 / (1 + self.mu * self.mu)

    @property
    def direction(self) -> SX:
        """Unit vector (2,) along the tangents, zero at the axis."""
        return self.x[1:] / ca.fmax(self.length, TINY)

    def project(self) -> SX:
        """Project x onto the cone, (3,); `length` must not be zero."""
        normal = (1 - self.polar) * self.reach * self.share
        tangent = (self.mu * normal / self.length) * self.x[1:]
        return ca.if_else(self.inside, self.x, ca.vertcat(normal, tangent))

    def project_by_direction(self) -> SX:
        """Project x onto the cone, (3,), using the unit vector along the tangents."""
        normal = self.reach * self.share
        edge = ca.vertcat(normal, self.mu * normal * self.direction)
        return ca.if_else(self.inside, self.x, ca.if_else(self.polar, 0, edge))

    def squared_length(self) -> SX:
        """Compute the squared length of the nearest point."""
        reach, squared = self.reach, ca.dot(self.x[1:], self.x[1:]) + self.x[0] * self.x[0]
        return ca.if_else(self.inside, squared, (1 - self.polar) * reach * reach * self.share)

    def derivative(self) -> SX:
        """Compute a generalized derivative (3, 3) of `project`; the apex counts as inside."""
        mu, flat, outside_polar = self.mu, self.share, 1 - self.polar
        x, y = self.x[1] / self.length, self.x[2] / self.length
        share = mu * flat * self.reach / self.length
        rest, along = mu * mu * flat - share, mu * flat
        on_edge = ca.vertcat(
            ca.horzcat(flat, along * x, along * y),
            ca.horzcat(along * x, share + rest * x * x, rest * x * y),
            ca.horzcat(along * y, rest * x * y, share + rest * y * y),
        )
        return ca.if_else(self.inside, SX.eye(3), outside_polar * on_edge)

    def derivative_factor(self) -> SX:
        """Compute B (3, 3) with B B^T a generalized derivative of the projection."""
        mu, direction = self.mu, self.direction
        normal = self.reach * self.share
        along = ca.sqrt(self.share) * ca.vertcat(1, mu * direction)
        bend = ca.sqrt(ca.fmax(mu * normal, 0) / ca.fmax(self.length, TINY))
        across = bend * ca.vertcat(0, -direction[1], direction[0])
        edge = ca.horzcat(along, across, SX.zeros(3))
        return ca.if_else(self.inside, SX.eye(3), ca.if_else(self.polar, 0, edge))
