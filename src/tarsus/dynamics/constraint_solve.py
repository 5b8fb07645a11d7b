"""A mechanism with bilateral constraints W_B^T u = -d, solved directly (Gehring 2014, Eqn. (20)).

For impulses L_U on other directions W_U the constraints answer with L_B = -G_B^-1 (gamma_B +
G_BU L_U), so that the Delassus matrix that is left is G_UU - G_UB G_B^-1 G_BU.
"""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX

from tarsus.algebra.ldl import Entries, Factor, factorize_tree
from tarsus.algebra.products import dot

# of the mean diagonal, added to it: redundant constraints share their load; by less, round-off
# would drive them against each other
REDUNDANT = 1e-9

# 1/kg: where joints of the tree hold all that the constraints would, round-off is less than this
HELD = 1e-20

Half = list[SX]  # L^-T w (nu,) of a force direction w, with structural zeros


@dataclass(frozen=True)
class Constraints:
    """Constraints (nb,) beside a factored mass matrix: half-solved directions, G_B and its factors.

    gamma (nb,): what W_B^T u would be at the end of the step without them, plus what stabilization
    asks for.
    closing: how many of them, the first, close loops; the others give way (`factored`)
    """

    half: list[Half]
    G: list[list[SX]]
    factor: Factor
    gamma: list[SX]
    closing: int | None = None

    def added(self, S: list[list[SX]]) -> SX:
        """The `redundancy` of S (nb, nb), which stands for G_B where contacts give way."""
        return redundancy(S, self.closing)

    def impulses(self, driven: list[SX]) -> list[SX]:
        """L_B (nb,) = -G_B^-1 (driven), with driven (nb,) = gamma + G_BU L_U.

        What `REDUNDANT` takes from it is given back: solved once more for what is left.
        """
        first = self.factor.solve(driven)
        left = [own - dot(row, first) for own, row in zip(driven, self.G, strict=True)]
        return [-(x + more) for x, more in zip(first, self.factor.solve(left), strict=True)]


def delassus(M: Factor, rows: list[Half], columns: list[Half]) -> list[list[SX]]:
    """W_r^T M^-1 W_c of half-solved directions; structural zeros stay zero."""
    scaled = [
        [d * y if not y.is_zero() else y for d, y in zip(M.inverse_pivots, c, strict=True)]
        for c in columns
    ]
    return [[dot(row, column) for column in scaled] for row in rows]


def redundancy(G_B: list[list[SX]], closing: int | None = None) -> SX:
    """What is added to the diagonal of G_B (nb, nb), so that redundant rows share what they carry.

    closing: how many of them, the first, have a mean that says how much; None: all
    """
    counted = len(G_B) if closing is None else closing
    mean = sum((G_B[k][k] for k in range(counted)), SX(0)) / max(counted, 1)
    return REDUNDANT * mean + HELD


def factored(G_B: list[list[SX]], closing: int | None = None) -> Factor:
    """G_B (nb, nb) factored, with its `redundancy`."""
    size, added = len(G_B), redundancy(G_B, closing)
    lower: Entries = {
        (k, i): G_B[k][i] + (added if i == k else 0) for k in range(size) for i in range(k + 1)
    }
    return factorize_tree(lower, size)
