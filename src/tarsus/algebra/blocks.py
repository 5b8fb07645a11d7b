"""Vectors and matrices in blocks of three: one block per contact, or per pair of contacts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import casadi as ca
from casadi import SX

from tarsus.algebra.products import Matrix
from tarsus.program.ir.symbolic import entries

Blocks = Mapping[tuple[int, int], SX]  # (i, j) -> block (3, 3)


def triples(x: SX) -> list[SX]:
    """Split x (3n,) into n vectors (3,)."""
    return [x[k : k + 3] for k in range(0, x.numel(), 3)]


def list_triples(x: list[SX]) -> list[SX]:
    """Split 3n scalars into n vectors (3,)."""
    return [ca.vertcat(*x[k : k + 3]) for k in range(0, len(x), 3)]


def flatten(columns: Iterable[SX]) -> list[SX]:
    """Flatten several vectors to one list of scalars."""
    return [entry for column in columns for entry in entries(column)]


def flatten_blocks(G: Blocks, n: int) -> Matrix:
    """Flatten n x n blocks to the rows of a matrix (3n, 3n)."""
    return [[entry(G, i, j) for j in range(3 * n)] for i in range(3 * n)]


def lower_triangle(G: Blocks, n: int) -> Matrix:
    """Return the rows of `flatten_blocks` up to the diagonal: row i has i + 1 entries."""
    return [[entry(G, i, j) for j in range(i + 1)] for i in range(3 * n)]


def entry(G: Blocks, i: int, j: int) -> SX:
    """Return row i, column j of the matrix made of blocks."""
    return G[i // 3, j // 3][i % 3, j % 3]


def block(A: Matrix, i: int, j: int) -> SX:
    """Return block (i, j), (3, 3), of a matrix given by its rows."""
    return ca.vertcat(*(ca.horzcat(*A[3 * i + k][3 * j : 3 * j + 3]) for k in range(3)))
