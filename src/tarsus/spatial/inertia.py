"""Rigid-body inertia as ten linear parameters: mass m, first moment h = m c, second moment I."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.spatial.rotation import skew


@dataclass(frozen=True)
class LinearInertia:
    """m (kg), h (3,) (kg m), I (3, 3) (kg m^2) about the origin of the frame they are in."""

    m: SX
    h: SX
    I: SX  # noqa: E741  the book's symbol

    def __add__(self, other: LinearInertia) -> LinearInertia:
        return LinearInertia(self.m + other.m, self.h + other.h, self.I + other.I)

    def scaled(self, factor: SX) -> LinearInertia:
        """Every parameter times `factor`: the same shape, denser."""
        return LinearInertia(factor * self.m, factor * self.h, factor * self.I)

    def seen_from_parent(self, R: SX, r: SX) -> LinearInertia:
        """The same matter in the parent's frame: x_parent = R x + r.

        Teixeira de Paula 2024, Eqn. (26).
        """
        h = ca.mtimes(R, self.h)
        turned = _symmetric(ca.mtimes(ca.mtimes(R, self.I), R.T))
        moved = 2 * ca.dot(r, h) * SX.eye(3) - ca.mtimes(r, h.T) - ca.mtimes(h, r.T)
        steiner = self.m * (ca.dot(r, r) * SX.eye(3) - ca.mtimes(r, r.T))
        return LinearInertia(self.m, h + self.m * r, turned + moved + steiner)

    def momentum(self, omega: SX, v: SX) -> tuple[SX, SX]:
        """Angular (about the origin) and linear momentum for a twist (omega, v) of the origin."""
        return ca.mtimes(self.I, omega) + ca.cross(self.h, v), self.m * v - ca.mtimes(
            skew(self.h), omega
        )


def _symmetric(a: SX) -> SX:
    """The upper triangle mirrored, so that the lower one is never computed."""
    return ca.vertcat(
        ca.horzcat(a[0, 0], a[0, 1], a[0, 2]),
        ca.horzcat(a[0, 1], a[1, 1], a[1, 2]),
        ca.horzcat(a[0, 2], a[1, 2], a[2, 2]),
    )
