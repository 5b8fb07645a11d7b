"""Branch-sparse factorisation M = L^T D L on the tree's ancestors (Featherstone 2008, section 6.5): no fill-in."""

from __future__ import annotations

from dataclasses import dataclass

from casadi import SX


@dataclass(frozen=True)
class Factor:
    """M = L^T D L with unit lower triangular L; parents[k] is the next velocity towards the root.

    L holds only ancestors' entries, inverse_pivots = 1 / diag(D): one division a velocity, the rest multiplies.
    """

    parents: list[int]
    L: dict[tuple[int, int], SX]
    inverse_pivots: list[SX]

    def ancestors(self, k: int) -> list[int]:
        """Velocities on the way from k (not included) to the root."""
        found = []
        while (k := self.parents[k]) >= 0:
            found.append(k)
        return found

    def backward(self, b: list[SX]) -> list[SX]:
        """y = L^-T b, from the leaves to the root; zeros stay structural."""
        y = list(b)
        for k in reversed(range(len(y))):
            if y[k].is_zero():
                continue
            for i in self.ancestors(k):
                y[i] = y[i] - self.L[k, i] * y[k]
        return y

    def forward(self, y: list[SX]) -> list[SX]:
        """x = L^-1 y, from the root to the leaves."""
        x = list(y)
        for k in range(len(x)):
            for i in self.ancestors(k):
                x[k] = x[k] - self.L[k, i] * x[i]
        return x

    def solve(self, b: list[SX]) -> list[SX]:
        """x = M^-1 b."""
        return self.forward([d * y for d, y in zip(self.inverse_pivots, self.backward(b), strict=True)])


def factorise(M: SX, parents: list[int]) -> Factor:
    """Factorise a mass matrix (nu, nu) whose sparsity is that of `parents`."""
    n = M.shape[0]
    H: dict[tuple[int, int], SX] = {}
    for k in range(n):
        i = k
        while i >= 0:
            H[k, i] = M[k, i]
            i = parents[i]
    factor = Factor(parents, {}, [SX(0)] * n)
    for k in reversed(range(n)):
        inverse = 1 / H[k, k]
        factor.inverse_pivots[k] = inverse
        ancestors = factor.ancestors(k)
        for place, i in enumerate(ancestors):
            a = H[k, i] * inverse
            for j in ancestors[place:]:
                H[i, j] = H[i, j] - a * H[k, j]
            factor.L[k, i] = a
    return factor
