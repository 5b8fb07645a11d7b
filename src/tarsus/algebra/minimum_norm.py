"""Least-squares solution of minimum norm of G x = b, with G symmetric positive semidefinite.

With F = (G + r 1)^-1 the iteration x <- x + (F - r F F) (b - G x) from x = 0 converges to the
Moore-Penrose solution G^+ b for any b, also outside the range of G: along an eigenvector with
eigenvalue s the residual shrinks by 1 - s^2 / (s + r)^2, about 2 r / s, per pass, and where s = 0
nothing enters, because 1 / r - r / r^2 = 0. r is rho times the largest diagonal entry of G. The
residual is updated by itself, b - G x <- r (2 F - r F F) (b - G x), so that G is never multiplied.
Round-off outside the range is amplified by (1 / rho)^2.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.algebra.ldl import ZERO_IMPULSE_DIAGONAL, factorize_dense
from tarsus.algebra.products import Matrix

PASSES = 4


def minimum_norm(G: Matrix, b: list[SX], rho: SX, used: list[SX]) -> list[SX]:
    """Compute G^+ b, restricted to the rows and columns in use (flag 1, else 0).

    The relative error is (2 rho largest / s)^PASSES along each eigenvector. Unused unknowns are
    zero if their b is zero.
    """
    largest = SX(0)
    for i, row in enumerate(G):
        largest = ca.fmax(largest, used[i] * row[i])
    r = rho * largest
    fixed = [
        [*row[:i], row[i] + ca.if_else(used[i], r, ZERO_IMPULSE_DIAGONAL), *row[i + 1 :]]
        for i, row in enumerate(G)
    ]
    factor = factorize_dense(fixed)
    x, left = [SX(0)] * len(b), list(b)
    for k in range(PASSES):
        once = factor.solve(left)
        twice = [r * value for value in factor.solve(once)]
        x = [a + (e - f) for a, e, f in zip(x, once, twice, strict=True)]
        if k + 1 < PASSES:
            left = [r * (2 * e - f) for e, f in zip(once, twice, strict=True)]
    return [u * value for u, value in zip(used, x, strict=True)]
