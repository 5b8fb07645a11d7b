"""Normal equations over windows, with the starts eliminated window by window.

A residual far beyond the noise counts linearly instead of quadratically, so that one foot that
lands a step late does not outweigh the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import lsq_linear

Array = NDArray[np.float64]
LINEAR_ABOVE = 3.0  # deviations: larger residuals count linearly
EPSILON = 1e-12
SINGLE_THREAD_SIZE = 1 << 18  # multiplications of a product that NumPy runs on one thread


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Linearized problem: J^T J and J^T r by blocks.

    Attributes
    ----------
    unknown_block, start_blocks, coupling
        Blocks of J^T J, shapes (p, p), (W, s, s) and (W, s, p).
    window_gradients
        Contribution of each window to J^T r, shape (W, p).
    prior_gradient
        Contribution of the prior knowledge, shape (p,).
    start_gradient
        J^T r of the starts, shape (W, s).
    """

    unknown_block: Array
    start_blocks: Array
    coupling: Array
    window_gradients: Array
    prior_gradient: Array
    start_gradient: Array

    def eliminate_starts(self, damping: float = 0.0) -> tuple[Array, Array, list[Any]]:
        """Eliminate the starts; return S (p, p), g (p,) and the factors of the start blocks."""
        S, factors = self.unknown_block.copy(), list[Any]()
        g = self.window_gradients.sum(0) + self.prior_gradient
        if not self.start_gradient.shape[1]:
            return S, g, factors
        for block, c, b in zip(self.start_blocks, self.coupling, self.start_gradient, strict=True):
            factor = cho_factor(block + np.diag(damping * np.diag(block)))
            solved = cho_solve(factor, c)
            S, g = S - c.T @ solved, g - solved.T @ b
            factors.append(factor)
        return 0.5 * (S + S.T), g, factors

    def scores(self) -> Array:
        """Compute the gradient of each window by the unknowns, starts eliminated, (W, p)."""
        if not self.start_gradient.shape[1]:
            return self.window_gradients
        parts = zip(self.eliminate_starts()[2], self.coupling, self.start_gradient, strict=True)
        return self.window_gradients - np.stack(
            [c.T @ cho_solve(factor, b) for factor, c, b in parts]
        )

    def start_steps(self, step: Array, factors: list[Any]) -> Array:
        """Compute the steps of the starts for a step of the unknowns, shape (W, s)."""
        if not factors:
            return np.zeros_like(self.start_gradient)
        right = -self.start_gradient - self.coupling @ step
        return np.stack([cho_solve(f, r) for f, r in zip(factors, right, strict=True)])


def robust_weights(residuals: Array) -> Array:
    """Compute factors that make squared residuals grow linearly beyond `LINEAR_ABOVE`."""
    return (1 + (residuals / LINEAR_ABOVE) ** 2) ** -0.25


def window_costs(residuals: Array, starts: Array) -> Array:
    """Compute costs (c, W) of residuals (c, W, samples, n) and shifted starts (c, W, s)."""
    scaled = LINEAR_ABOVE**2 * (np.sqrt(1 + (residuals / LINEAR_ABOVE) ** 2) - 1)
    return scaled.sum((2, 3)) + 0.5 * (starts**2).sum(2)


def gram_matrices(columns: Array) -> Array:
    """Compute J^T J, shape (W, n, n), of columns, shape (W, rows, n).

    The products are split into blocks so small that NumPy uses one thread: on a busy machine its
    threads wait a thousand times longer than they work.
    """
    rows, n = columns.shape[1:]
    block, copy = max(1, SINGLE_THREAD_SIZE // n**2), columns.copy()
    result = np.zeros((len(columns), n, n))
    for k in range(0, rows, block):
        block_rows = slice(k, k + block)
        result += columns[:, block_rows].transpose(0, 2, 1) @ copy[:, block_rows]
    return result


def damped_step(
    normal: NormalEquations, z: Array, starts: Array, damping: float
) -> tuple[Array, Array]:
    """Compute shares and starts after a damped step that stays inside the ranges."""
    S, g, factors = normal.eliminate_starts(damping)
    scale = np.diag(S).copy()
    damped = S + np.diag(damping * scale + EPSILON * scale.max() + EPSILON)
    values, vectors = np.linalg.eigh(damped)
    values = np.maximum(values, EPSILON * values.max())
    root = np.sqrt(values)[:, None] * vectors.T
    right = -(vectors.T @ g) / np.sqrt(values)
    # a tiny margin keeps the lower bound below the upper one
    low, high = -z - EPSILON, 1 - z + EPSILON
    step = np.clip(z + lsq_linear(root, right, (low, high), method="bvls").x, 0, 1) - z
    return z + step, starts + normal.start_steps(step, factors)
