"""Rigid-body inertia as ten linear parameters: mass m, first moment h = m c, second moment I."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.spatial.rotation import skew


@dataclass(frozen=True)
class LinearInertia:
    """Rigid-body inertia about the origin of its frame.

    Attributes
    ----------
    m
        Mass, kg.
    h
        First moment (3,), kg m.
    I
        Second moment (3, 3), kg m^2.
    """

    m: SX
    h: SX
    I: SX  # noqa: E741  the book's symbol

    def __add__(self, other: LinearInertia) -> LinearInertia:
        return LinearInertia(self.m + other.m, self.h + other.h, self.I + other.I)

    def scale(self, factor: SX) -> LinearInertia:
        """Scale the density by `factor`."""
        return LinearInertia(factor * self.m, factor * self.h, factor * self.I)

    def to_parent(self, R: SX, r: SX) -> LinearInertia:
        """Transform the inertia to the parent's frame, where x_parent = R x + r.

        Teixeira de Paula 2024, Eqn. (26).
        """
        h = ca.mtimes(R, self.h)
        steiner = self.m * (ca.dot(r, r) * SX.eye(3) - ca.mtimes(r, r.T))
        return LinearInertia(
            self.m, h + self.m * r, _rotate(R, self.I) + _shift_first_moment(r, h) + steiner
        )

    def momentum(self, omega: SX, v: SX) -> tuple[SX, SX]:
        """Compute angular (about the origin) and linear momentum for a twist of the origin."""
        return ca.mtimes(self.I, omega) + ca.cross(self.h, v), self.m * v - ca.mtimes(
            skew(self.h), omega
        )


def _rotate(R: SX, I: SX) -> SX:  # noqa: E741
    """Compute R I R^T (3, 3) of a symmetric I, in nine products about a coordinate axis.

    The general case takes 18. With a = Ixx, b = Iyy, d = Ixy, a rotation about z by an angle of
    sine s and cosine c, and w = s (a - b) + 2 c d: Ixx = a - s w, Iyy = b + s w, Ixy = c w - d.
    """
    k = _find_axis(R)
    if k is None:
        return _mirror(ca.mtimes(ca.mtimes(R, I), R.T))
    i, j = (k + 1) % 3, (k + 2) % 3
    c, s, a, b, d = R[i, i], R[j, i], I[i, i], I[j, j], I[i, j]
    w = s * (a - b) + (c + c) * d
    turned = SX(3, 3)
    turned[i, i], turned[j, j], turned[k, k] = a - s * w, b + s * w, I[k, k]
    turned[i, j] = turned[j, i] = c * w - d
    turned[k, i] = turned[i, k] = c * I[k, i] - s * I[k, j]
    turned[k, j] = turned[j, k] = s * I[k, i] + c * I[k, j]
    return turned


def _find_axis(R: SX) -> int | None:
    """Find the coordinate axis of a rotation, if its structure shows one; else None."""
    for k in range(3):
        off = [R[k, (k + 1) % 3], R[k, (k + 2) % 3], R[(k + 1) % 3, k], R[(k + 2) % 3, k]]
        if R[k, k].is_one() and all(entry.is_zero() for entry in off):
            return k
    return None


def _shift_first_moment(r: SX, h: SX) -> SX:
    """Compute 2 (r . h) 1 - r h^T - h r^T (3, 3), the first moment's part about a point at -r."""
    moved, twice = SX(3, 3), [2 * r[k] * h[k] for k in range(3)]
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        moved[k, k] = twice[i] + twice[j]
        moved[i, j] = moved[j, i] = -(r[i] * h[j] + r[j] * h[i])
    return moved


def _mirror(a: SX) -> SX:
    """Mirror the upper triangle, so that the lower one is never computed."""
    return ca.vertcat(
        ca.horzcat(a[0, 0], a[0, 1], a[0, 2]),
        ca.horzcat(a[0, 1], a[1, 1], a[1, 2]),
        ca.horzcat(a[0, 2], a[1, 2], a[2, 2]),
    )
