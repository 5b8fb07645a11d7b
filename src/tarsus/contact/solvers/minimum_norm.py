"""The least-squares solution of least norm of G x = b, G symmetric, positive semidefinite and perhaps singular.

With P = (G + r 1)^-1 G (G + r 1)^-1 the iteration x <- x + P (b - G x) from x = 0 tends to the Moore-Penrose
solution G^+ b for any b, also one outside the range of G: along an eigenvector with eigenvalue s the error shrinks
by 1 - s^2 / (s + r)^2, about 2 r / s, a step, and where s = 0 nothing enters. r = rho times the largest diagonal
entry of G. Round-off outside the range is amplified by (1 / rho)^2, the price of a large `passes` is small.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from tarsus.contact.solvers.ldl import Matrix, factorise, times

PASSES = 4


def minimum_norm(G: Matrix, b: list[SX], rho: SX, largest: SX) -> list[SX]:
    """G^+ b to (2 rho largest / s)^PASSES along each eigenvector; `largest`: the scale of G, above 0.

    Rows and columns that are zero, with b zero, give zero.
    """
    shift = rho * largest
    factor = factorise([[*row[:i], row[i] + shift] for i, row in enumerate(G)])
    x = None
    for _ in range(PASSES):
        left = b if x is None else [a - c for a, c in zip(b, times(G, x), strict=True)]
        step = factor.solve(times(G, factor.solve(left)))
        x = step if x is None else [a + c for a, c in zip(x, step, strict=True)]
    return x or []


def largest_diagonal(G: Matrix) -> SX:
    """max_i G_ii."""
    largest = SX(0)
    for i, row in enumerate(G):
        largest = ca.fmax(largest, row[i])
    return largest
