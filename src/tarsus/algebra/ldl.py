"""Symmetric positive definite systems by L D L^T, written out symbolically, without square
roots.
"""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

Matrix = list[list[SX]]


@dataclass(frozen=True)
class Ldl:
    """K = L D L^T: L[i][k] below the unit diagonal, 1 / D."""

    L: Matrix
    inverse: list[SX]

    def solve(self, b: list[SX]) -> list[SX]:
        """K^-1 b."""
        x = list(b)
        for i, row in enumerate(self.L):
            for k, entry in enumerate(row):
                x[i] = x[i] - entry * x[k]
        for k in reversed(range(len(x))):
            x[k] = x[k] * self.inverse[k]
            for i in range(k + 1, len(x)):
                x[k] = x[k] - self.L[i][k] * x[i]
        return x


def factorize(K: Matrix) -> Ldl:
    """Only the lower triangle K[i][j], j <= i, is read."""
    K = [list(row[: i + 1]) for i, row in enumerate(K)]
    inverse = []
    for k in range(len(K)):
        inverse.append(1 / K[k][k])
        column = [K[i][k] for i in range(k, len(K))]
        for i in range(k + 1, len(K)):
            K[i][k] = K[i][k] * inverse[k]
            for j in range(k + 1, i + 1):
                K[i][j] = K[i][j] - K[i][k] * column[j - k]
    return Ldl([row[:-1] for row in K], inverse)


def times(K: Matrix, x: list[SX]) -> list[SX]:
    """K x."""
    return [sum((a * b for a, b in zip(row, x, strict=True)), SX(0)) for row in K]
