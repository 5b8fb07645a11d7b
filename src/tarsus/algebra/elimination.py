"""Nonsymmetric linear systems, solved symbolically by elimination without pivoting."""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.algebra.products import Matrix
from tarsus.program.ir.trace import Builder

UNKNOWNS_PER_LOOP = 6  # after these, the next loop works on a smaller matrix


@dataclass(frozen=True)
class TreeFactor:
    """Matrix eliminated from the last row to the first, ready to solve with.

    Attributes
    ----------
    entries
        Below the diagonal the entries of each row when it was eliminated, above it the factors by
        which it was subtracted from the rows before it.
    inverse
        Inverse pivot of each row.
    """

    entries: dict[tuple[int, int], SX]
    inverse: list[SX]

    def solve(self, b: list[SX]) -> list[SX]:
        """Solve A x = b for x (n,)."""
        x, size = list(b), len(b)
        for k in reversed(range(size)):
            for i in (i for i in range(k) if (i, k) in self.entries):
                x[i] = x[i] - self.entries[i, k] * x[k]
        for k in range(size):
            for j in (j for j in range(k) if (k, j) in self.entries):
                x[k] = x[k] - self.entries[k, j] * x[j]
            x[k] = x[k] * self.inverse[k]
        return x


def eliminate_tree(A: dict[tuple[int, int], SX], size: int) -> TreeFactor:
    """Eliminate a matrix, given by its nonzero entries, from the last row to the first.

    There is no fill-in where A couples each unknown only to its ancestors and descendants in a
    tree, with the leaves numbered last. There is no pivoting: A must be close to positive definite.
    """
    H, inverse = dict(A), [SX(0)] * size
    for k in reversed(range(size)):
        inverse[k] = 1 / H[k, k]
        left = [j for j in range(k) if (k, j) in H]
        for i in (i for i in range(k) if (i, k) in H):
            H[i, k] = H[i, k] * inverse[k]
            for j in left:
                H[i, j] = H.get((i, j), SX(0)) - H[i, k] * H[k, j]
    return TreeFactor(H, inverse)


def eliminate_dense(A: Matrix, builder: Builder) -> TreeFactor:
    """Eliminate a dense matrix like `eliminate_tree`, by loops."""
    result, inverses = dict[tuple[int, int], SX](), [SX(0)] * len(A)
    left = [row[::-1] for row in A[::-1]]  # the last first
    while left:
        left, rounds = _eliminate_first(left, min(len(left), UNKNOWNS_PER_LOOP), builder)
        for done, (inverse, factors, row) in enumerate(rounds):
            k = len(left) + len(rounds) - 1 - done
            inverses[k] = inverse
            for i in range(k):
                result[i, k], result[k, i] = factors[k - 1 - i], row[k - 1 - i]
    return TreeFactor(result, inverses)


def _eliminate_first(
    A: Matrix, count: int, builder: Builder
) -> tuple[Matrix, list[tuple[SX, list[SX], list[SX]]]]:
    """Eliminate the first `count` unknowns by a loop.

    Returns the remaining matrix and, for each round, the inverse pivot, the factors by which its
    row was subtracted from the others, and the row. Each round pivots on the first entry, then
    shifts the remaining matrix to the top left and pads it with zeros. All rounds share the same
    code, so products with the padding are computed but never used.
    """
    size = len(A)
    places = [(i, j) for i in range(size) for j in range(size)]

    def round_of(values: list[SX]) -> tuple[list[SX], tuple[SX, list[SX], list[SX]]]:
        H, rest = dict(zip(places, values, strict=True)), range(size - 1)
        inverse, row = 1 / H[0, 0], [H[0, j + 1] for j in rest]
        factors = [H[i + 1, 0] * inverse for i in rest]
        moved = {(i, j): H[i + 1, j + 1] - factors[i] * row[j] for i in rest for j in rest}
        return [moved.get(index, SX(0)) for index in places], (inverse, factors, row)

    begin = [A[i][j] for i, j in places]
    values, rounds = builder.scan("eliminated", begin, count, round_of)
    H, left = dict(zip(places, values, strict=True)), range(size - count)
    return [[H[i, j] for j in left] for i in left], rounds


def solve_tree(A: SX, b: list[SX]) -> list[SX]:
    """Solve A (n, n) x = b for x (n,) by `eliminate_tree`."""
    pattern, places = A.sparsity(), [(k, i) for k in range(len(b)) for i in range(len(b))]
    H = {index: A[index] for index in places if pattern.has_nz(*index)}
    return eliminate_tree(H, len(b)).solve(b)


@dataclass(frozen=True)
class DenseFactor:
    """Dense matrix as L U with a unit diagonal of L, ready to solve with.

    Attributes
    ----------
    rows
        U on and above the diagonal, L below.
    """

    rows: Matrix

    def solve(self, b: list[SX]) -> list[SX]:
        """Solve A x = b for x."""
        x, size = list(b), len(b)
        for i in range(size):
            for j in range(i):
                x[i] = x[i] - self.rows[i][j] * x[j]
        for i in reversed(range(size)):
            for j in range(i + 1, size):
                x[i] = x[i] - self.rows[i][j] * x[j]
            x[i] = x[i] / self.rows[i][i]
        return x


def eliminate(A: Matrix) -> DenseFactor:
    """Factor a dense matrix without pivoting: A must be close to positive definite."""
    rows, size = [list(row) for row in A], len(A)
    for k in range(size):
        for i in range(k + 1, size):
            rows[i][k] = rows[i][k] / rows[k][k]
            for j in range(k + 1, size):
                rows[i][j] = rows[i][j] - rows[i][k] * rows[k][j]
    return DenseFactor(rows)
