"""Normal equations of least squares over windows, whose starts are eliminated one by one.

A residual far beyond the noise counts by its size, not by its square, so that one foot that lands a
step late does not outvote the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import lsq_linear

Array = NDArray[np.float64]
LARGE = 3.0  # deviations: a residual beyond counts by its size
TINY = 1e-12
ALONE = 1 << 18  # multiplications of a product that one thread makes


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The problem near a point: J^T J and J^T r by blocks.

    of_unknowns (p, p), of_starts (W, s, s), coupling (W, s, p); gradient (W, s)
    slopes (W, p): what each window adds to J^T r; known (p,): what is known beforehand adds
    """

    of_unknowns: Array
    of_starts: Array
    coupling: Array
    slopes: Array
    known: Array
    gradient: Array

    def eliminated(self, damping: float = 0.0) -> tuple[Array, Array, list[Any]]:
        """S (p, p) and g (p,) of the unknowns alone, and factors of the windows' damped blocks."""
        S, factors = self.of_unknowns.copy(), list[Any]()
        g = self.slopes.sum(0) + self.known
        if not self.gradient.shape[1]:
            return S, g, factors
        for block, c, b in zip(self.of_starts, self.coupling, self.gradient, strict=True):
            factor = cho_factor(block + np.diag(damping * np.diag(block)))
            solved = cho_solve(factor, c)
            S, g = S - c.T @ solved, g - solved.T @ b
            factors.append(factor)
        return 0.5 * (S + S.T), g, factors

    def scores(self) -> Array:
        """How each window pulls at the unknowns (W, p), its start eliminated."""
        if not self.gradient.shape[1]:
            return self.slopes
        parts = zip(self.eliminated()[2], self.coupling, self.gradient, strict=True)
        return self.slopes - np.stack([c.T @ cho_solve(factor, b) for factor, c, b in parts])

    def moved(self, step: Array, factors: list[Any]) -> Array:
        """How far the starts move with the unknowns (p,), (W, s)."""
        if not factors:
            return np.zeros_like(self.gradient)
        right = -self.gradient - self.coupling @ step
        return np.stack([cho_solve(f, r) for f, r in zip(factors, right, strict=True)])


def weights(residuals: Array) -> Array:
    """Factors of residuals by which squares become sizes beyond `LARGE`."""
    return (1 + (residuals / LARGE) ** 2) ** -0.25


def window_costs(residuals: Array, starts: Array) -> Array:
    """Costs (c, W) of residuals (c, W, samples, n) and of starts (c, W, s) that are moved."""
    scaled = LARGE**2 * (np.sqrt(1 + (residuals / LARGE) ** 2) - 1)
    return scaled.sum((2, 3)) + 0.5 * (starts**2).sum(2)


def products(columns: Array) -> Array:
    """J^T J (W, n, n) of columns (W, rows, n), in parts so small that none is shared among threads,
    which on a busy machine wait for one another a thousand times as long as they work.
    """
    rows, n = columns.shape[1:]
    part, others = max(1, ALONE // n**2), columns.copy()
    found = np.zeros((len(columns), n, n))
    for k in range(0, rows, part):
        some = slice(k, k + part)
        found += columns[:, some].transpose(0, 2, 1) @ others[:, some]
    return found


def stepped(
    normal: NormalEquations, z: Array, starts: Array, damping: float
) -> tuple[Array, Array]:
    """Shares and starts after a damped step that stays inside the ranges."""
    S, g, factors = normal.eliminated(damping)
    scale = np.diag(S).copy()
    damped = S + np.diag(damping * scale + TINY * scale.max() + TINY)
    values, vectors = np.linalg.eigh(damped)
    values = np.maximum(values, TINY * values.max())
    root = np.sqrt(values)[:, None] * vectors.T
    right = -(vectors.T @ g) / np.sqrt(values)
    # bounds touch: a hair's breadth keeps lower below upper
    low, high = -z - TINY, 1 - z + TINY
    step = np.clip(z + lsq_linear(root, right, (low, high), method="bvls").x, 0, 1) - z
    return z + step, starts + normal.moved(step, factors)
