"""Sparse factorization M = L^T D L from the last row to the first: no fill-in on a tree
(Featherstone 2008, sec. 6.5).

Velocities are numbered from the root outwards, so that a leaf is eliminated first and touches its
ancestors alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

Entries = dict[tuple[int, int], SX]  # the lower triangle of a symmetric matrix: (k, i) with i <= k


@dataclass(frozen=True)
class Factor:
    """M = L^T D L with unit lower triangular L; pattern[k]: the columns i < k of row k that are not
    zero, descending.

    inverse_pivots = 1 / diag(D): one division a row, the rest multiplies.
    """

    pattern: list[list[int]]
    L: Entries
    inverse_pivots: list[SX]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.pattern)

    def backward(self, b: list[SX]) -> list[SX]:
        """y = L^-T b, from the last row to the first; zeros stay structural."""
        y = list(b)
        for k in reversed(range(len(y))):
            if y[k].is_zero():
                continue
            for i in self.pattern[k]:
                y[i] = y[i] - self.L[k, i] * y[k]
        return y

    def forward(self, y: list[SX]) -> list[SX]:
        """x = L^-1 y, from the first row to the last."""
        x = list(y)
        for k in range(len(x)):
            for i in self.pattern[k]:
                x[k] = x[k] - self.L[k, i] * x[i]
        return x

    def solve(self, b: list[SX]) -> list[SX]:
        """x = M^-1 b."""
        return self.forward(
            [d * y for d, y in zip(self.inverse_pivots, self.backward(b), strict=True)]
        )


def factorize(H: Entries, size: int) -> Factor:
    """Factorize a symmetric positive definite matrix given by what is not zero of its lower
    triangle.
    """
    H = {place: value for place, value in H.items() if not value.is_zero()}
    factor = Factor([[] for _ in range(size)], {}, [SX(0)] * size)
    for k in reversed(range(size)):
        inverse = 1 / H[k, k]
        factor.inverse_pivots[k] = inverse
        columns = [i for i in reversed(range(k)) if (k, i) in H]
        factor.pattern[k].extend(columns)
        for place, i in enumerate(columns):
            a = H[k, i] * inverse
            for j in columns[place:]:
                H[i, j] = H.get((i, j), SX(0)) - a * H[k, j]
            factor.L[k, i] = a
    return factor


def lower(M: SX) -> Entries:
    """The lower triangle of a symmetric matrix (n, n), structural zeros left out."""
    pattern = M.sparsity()
    return {
        (k, i): M[k, i] for k in range(M.shape[0]) for i in range(k + 1) if pattern.has_nz(k, i)
    }
