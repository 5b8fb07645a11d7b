"""Symmetric positive definite systems, solved symbolically by elimination without square roots.

The unknowns are eliminated in an order that the caller chooses. From the last to the first it is M
= L^T D L, without fill-in where a tree's leaves are numbered last (Featherstone 2008, sec. 6.5);
from the first to the last it is the textbook's L D L^T. The operations on an entry follow the order
of elimination, which determines the result to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from casadi import SX

from tarsus.algebra.products import Matrix

Entries = dict[tuple[int, int], SX]  # the lower triangle of a symmetric matrix: (k, i) with i <= k
# added on the diagonal of an unknown, such as an impulse, it forces its solution to zero
ZERO_IMPULSE_DIAGONAL = 1e20


@dataclass(frozen=True)
class Factor:
    """Factored matrix, ready to solve with: one division per row, otherwise products.

    Attributes
    ----------
    order
        Unknowns in the order of elimination.
    pattern
        pattern[k]: unknowns eliminated after k that are coupled to it, in that order.
    L
        L[k, i] for i in pattern[k]: the multiple of row k that was subtracted from row i.
    inverse_pivots
        1 / D, by unknown.
    """

    order: tuple[int, ...]

    pattern: list[list[int]]

    L: Entries

    inverse_pivots: list[SX]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.order)

    def backward(self, b: list[SX]) -> list[SX]:
        """Compute the first half of a solution, in the order of elimination."""
        y = list(b)
        for k in self.order:
            if y[k].is_zero():
                continue
            for i in self.pattern[k]:
                y[i] = y[i] - self.L[k, i] * y[k]
        return y

    def forward(self, y: list[SX]) -> list[SX]:
        """Compute the second half of a solution, from the last eliminated unknown to the first.

        Unknowns that were computed first are used first, so that a row waits for one product of the
        row before it.
        """
        x = list(y)
        for k in reversed(self.order):
            for i in reversed(self.pattern[k]):
                x[k] = x[k] - self.L[k, i] * x[i]
        return x

    def solve(self, b: list[SX]) -> list[SX]:
        """Solve M x = b for x."""
        return self.forward(
            [d * y for d, y in zip(self.inverse_pivots, self.backward(b), strict=True)]
        )


def factorize(H: Entries, order: Sequence[int]) -> Factor:
    """Eliminate the unknowns of a symmetric positive definite matrix in the given order.

    H holds what is not zero of the lower triangle.
    """
    H = {index: value for index, value in H.items() if not value.is_zero()}
    factor = Factor(tuple(order), [[] for _ in order], {}, [SX(0)] * len(order))
    for done, k in enumerate(order, 1):
        inverse = 1 / H[k, k]
        factor.inverse_pivots[k] = inverse
        row = {i: H[_lower(k, i)] for i in order[done:] if _lower(k, i) in H}
        factor.pattern[k].extend(row)
        factor.L.update({(k, i): value * inverse for i, value in row.items()})
        for i in row:
            for j in row:
                if j <= i:
                    H[i, j] = H.get((i, j), SX(0)) - factor.L[k, i] * row[j]
    return factor


def factorize_tree(H: Entries, size: int) -> Factor:
    """Eliminate from the last unknown to the first.

    There is no fill-in if H couples each unknown only to its ancestors. Velocities are numbered
    from the root outwards, so that a leaf is eliminated first.
    """
    return factorize(H, range(size)[::-1])


def factorize_dense(K: Matrix) -> Factor:
    """Eliminate from the first unknown to the last; only K[i][j] with j <= i is read."""
    return factorize({(i, j): K[i][j] for i in range(len(K)) for j in range(i + 1)}, range(len(K)))


def lower_triangle(M: SX) -> Entries:
    """Return the lower triangle of a symmetric matrix (n, n) without structural zeros."""
    pattern = M.sparsity()
    return {
        (k, i): M[k, i] for k in range(M.shape[0]) for i in range(k + 1) if pattern.has_nz(k, i)
    }


def _lower(k: int, i: int) -> tuple[int, int]:
    return (k, i) if i <= k else (i, k)
