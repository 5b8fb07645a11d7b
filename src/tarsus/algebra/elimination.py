"""Systems that need not be symmetric, solved by elimination without pivoting, symbolically."""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.algebra.products import Matrix


def solve_tree(A: SX, b: list[SX]) -> list[SX]:
    """x (n,) with A x = b, eliminated from the last row to the first.

    No fill-in where A (n, n) couples each unknown to its ancestors and descendants in a tree alone,
    the leaves numbered last. There is no pivoting: A must be close to positive definite.
    """
    pattern, size, b = A.sparsity(), len(b), list(b)
    H = {(k, i): A[k, i] for k in range(size) for i in range(size) if pattern.has_nz(k, i)}
    inverse = [SX(0)] * size
    for k in reversed(range(size)):
        inverse[k] = 1 / H[k, k]
        left = [j for j in range(k) if (k, j) in H]
        for i in (i for i in range(k) if (i, k) in H):
            factor = H[i, k] * inverse[k]
            b[i] = b[i] - factor * b[k]
            for j in left:
                H[i, j] = H.get((i, j), SX(0)) - factor * H[k, j]
    x = list(b)
    for k in range(size):
        for j in (j for j in range(k) if (k, j) in H):
            x[k] = x[k] - H[k, j] * x[j]
        x[k] = x[k] * inverse[k]
    return x


@dataclass(frozen=True)
class Eliminated:
    """A dense matrix as L U, the diagonal of L being ones, ready to solve with."""

    rows: Matrix
    """U on and above the diagonal, L below."""

    def solve(self, b: list[SX]) -> list[SX]:
        """x with A x = b."""
        x, size = list(b), len(b)
        for i in range(size):
            for j in range(i):
                x[i] = x[i] - self.rows[i][j] * x[j]
        for i in reversed(range(size)):
            for j in range(i + 1, size):
                x[i] = x[i] - self.rows[i][j] * x[j]
            x[i] = x[i] / self.rows[i][i]
        return x


def eliminated(A: Matrix) -> Eliminated:
    """The factors of a dense matrix, without pivoting: A must be close to positive definite."""
    rows, size = [list(row) for row in A], len(A)
    for k in range(size):
        for i in range(k + 1, size):
            rows[i][k] = rows[i][k] / rows[k][k]
            for j in range(k + 1, size):
                rows[i][j] = rows[i][j] - rows[i][k] * rows[k][j]
    return Eliminated(rows)
