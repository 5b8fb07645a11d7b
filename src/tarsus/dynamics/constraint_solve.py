"""Solve bilateral constraints W_B^T u = -d directly (Gehring 2014, Eqn. (20)).

Impulses L_U along other directions W_U cause the constraint impulses
L_B = -G_B^-1 (gamma_B + G_BU L_U). The Delassus matrix of the other directions is then
G_UU - G_UB G_B^-1 G_BU.
"""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.algebra.ldl import Entries, Factor, factorize_tree
from tarsus.algebra.products import dot

# Regularization of G_B, relative to its mean diagonal: redundant constraints share their load. A
# smaller value would let round-off drive them against each other.
RELATIVE_REGULARIZATION = 1e-9

# Smallest regularization, 1/kg: above round-off where joints of the tree prevent all motion that
# the constraints would prevent.
MIN_REGULARIZATION = 1e-20

Half = list[SX]  # L^-T w (nu,) of a force direction w, with structural zeros


@dataclass(frozen=True)
class Constraints:
    """Constraints (nb,) of a factorized mass matrix.

    Attributes
    ----------
    half
        Half-solved directions, L^-T w of each row w of W_B^T.
    G
        G_B = W_B^T M^-1 W_B, shape (nb, nb).
    factor
        Factors of the regularized G_B.
    gamma
        W_B^T u at the end of the step without constraint impulses, plus stabilization, shape (nb,).
    closing
        Number of leading rows that close loops; the others are compliant. None: all.
    """

    half: list[Half]
    G: list[list[SX]]
    factor: Factor
    gamma: list[SX]
    closing: int | None = None

    def regularization(self, S: list[list[SX]]) -> SX:
        """Compute the regularization of S (nb, nb), which replaces G_B for compliant contacts."""
        return compute_regularization(S, self.closing)

    def impulses(self, driven: list[SX]) -> list[SX]:
        """Solve L_B = -G_B^-1 driven, with driven = gamma + G_BU L_U, both of shape (nb,).

        One step of iterative refinement removes the error of the regularization.
        """
        first = self.factor.solve(driven)
        residual = [rate - dot(row, first) for rate, row in zip(driven, self.G, strict=True)]
        return [-(x + dx) for x, dx in zip(first, self.factor.solve(residual), strict=True)]


def delassus(M: Factor, rows: list[Half], columns: list[Half]) -> list[list[SX]]:
    """Compute W_r^T M^-1 W_c from half-solved directions; structural zeros stay zero."""
    scaled = [
        [d * y if not y.is_zero() else y for d, y in zip(M.inverse_pivots, c, strict=True)]
        for c in columns
    ]
    return [[dot(row, column) for column in scaled] for row in rows]


def compute_regularization(G_B: list[list[SX]], closing: int | None = None) -> SX:
    """Compute the regularization of G_B, which lets redundant rows share their load.

    Parameters
    ----------
    G_B
        Matrix of the constraints, shape (nb, nb).
    closing
        Number of leading rows whose mean diagonal sets the scale; None: all.

    Returns
    -------
    SX
        Regularization in 1/kg.
    """
    counted = len(G_B) if closing is None else closing
    mean = sum((G_B[k][k] for k in range(counted)), SX(0)) / max(counted, 1)
    return RELATIVE_REGULARIZATION * mean + MIN_REGULARIZATION


def factorize(G_B: list[list[SX]], closing: int | None = None) -> Factor:
    """Factorize G_B (nb, nb) with its regularization."""
    size, added = len(G_B), compute_regularization(G_B, closing)
    lower: Entries = {
        (k, i): G_B[k][i] + (added if i == k else 0) for k in range(size) for i in range(k + 1)
    }
    return factorize_tree(lower, size)
