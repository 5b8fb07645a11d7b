"""Float32 tanh networks with hand-written gradients, and Adam; all weights form one vector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.mirror import Mirror

Array = NDArray[np.float32]
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Kingma 2015


@dataclass(frozen=True)
class Network:
    """Tanh layers and a linear output layer; the weights are one vector, shape (count,).

    Attributes
    ----------
    sizes
        Sizes of the input, of each hidden layer and of the output.
    free_weights
        Number of weights, the last ones, that belong to no layer.
    """

    sizes: tuple[int, ...]
    free_weights: int = 0

    @property
    def count(self) -> int:
        """Number of weights."""
        return sum((a + 1) * b for a, b in self._pairs) + self.free_weights

    def initial_weights(self, random: np.random.Generator, last: float = 1.0) -> Array:
        """Draw random initial weights, shape (count,); the last layer is scaled by `last`."""
        w = np.zeros(self.count, np.float32)
        layers = list(self.layers(w))
        for k, (matrix, _) in enumerate(layers):
            scale = (last if k + 1 == len(layers) else 1.0) / np.sqrt(len(matrix))
            matrix[...] = scale * random.standard_normal(matrix.shape)
        return w

    def layers(self, w: Array) -> Iterator[tuple[Array, Array]]:
        """Iterate over the matrix (a, b) and the offset (b,) of each layer, as views."""
        start = 0
        for a, b in self._pairs:
            yield w[start : start + a * b].reshape(a, b), w[start + a * b : start + (a + 1) * b]
            start += (a + 1) * b

    def __call__(self, w: Array, x: Array) -> Array:
        """Compute the output, shape (..., out), for inputs x, shape (..., in)."""
        return self.activations(w, x)[-1]

    def activations(self, w: Array, x: Array) -> list[Array]:
        """Compute the input of each layer, and the output."""
        values, last = [x], len(self.sizes) - 2
        for k, (matrix, offset) in enumerate(self.layers(w)):
            x = x @ matrix
            x += offset
            values.append(np.tanh(x, out=x) if k < last else x)
        return values

    def gradient(self, w: Array, activations: list[Array], output_gradient: Array) -> Array:
        """Compute the gradient of a loss with respect to the weights, shape (count,).

        It is zero for weights that belong to no layer.

        Parameters
        ----------
        w
            Weights, shape (count,).
        activations
            Result of `activations`.
        output_gradient
            Gradient of the loss with respect to the output, shape (n, out).
        """
        result = np.zeros(self.count, np.float32)
        layers = list(zip(self.layers(w), self.layers(result), activations, strict=False))
        for k, ((matrix, _), (by_matrix, by_offset), x) in reversed(list(enumerate(layers))):
            np.matmul(x.T, output_gradient, out=by_matrix)
            by_offset[...] = output_gradient.sum(0)
            if k:
                output_gradient = output_gradient @ matrix.T
                output_gradient *= 1 - x * x
        return result

    def mirror(self, inputs: Mirror, out: Mirror) -> Mirror:
        """Compute the mirror image of the weights.

        A network whose weights equal their mirror image maps the mirror image of an input
        (`inputs`) to the mirror image of the output (`out`). The two halves of a hidden layer are
        mirror images of each other.
        """
        start, order, sign = 0, np.arange(self.count), np.ones(self.count, np.float32)
        sides = [inputs, *(_mirror_halves(size) for size in self.sizes[1:-1]), out]
        for (a, b), before, after in zip(self._pairs, sides, sides[1:], strict=False):
            indices = np.arange(start, start + a * b).reshape(a, b)
            order[start : start + a * b] = indices[np.ix_(before.order, after.order)].ravel()
            sign[start : start + a * b] = np.outer(before.sign, after.sign).ravel()
            order[start + a * b : start + (a + 1) * b] = start + a * b + after.order
            sign[start + a * b : start + (a + 1) * b] = after.sign
            start += (a + 1) * b
        if self.free_weights == len(out.order):
            order[start:] = start + out.order
        return Mirror(order, sign)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.sizes, self.sizes[1:], strict=False))


def _mirror_halves(size: int) -> Mirror:
    half = size // 2
    order = np.arange(size)
    order[: 2 * half] = np.roll(order[: 2 * half], half)
    return Mirror(order, np.ones(size, np.float32))


class Adam:
    """Adam optimizer (Kingma 2015, Algorithm 1).

    Parameters
    ----------
    weights
        Weights, updated in place.
    mirror
        Mirror image under which the weights stay symmetric, if any.
    """

    def __init__(self, weights: Array, mirror: Mirror | None = None) -> None:
        self.weights, self.mirror = weights, mirror
        self.mean, self.square = np.zeros_like(weights), np.zeros_like(weights)
        self.count = np.zeros(1, int)
        if mirror is not None:
            weights[...] = mirror.symmetrize(weights)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state of the optimizer, as views."""
        return {
            "weights": self.weights,
            "mean": self.mean,
            "square": self.square,
            "count": self.count,
        }

    def step(self, gradient: Array, rate: float) -> None:
        """Update the weights by one step against a gradient."""
        if self.mirror is not None:
            gradient = self.mirror.symmetrize(gradient)
        self.count += 1
        self.mean += (1 - BETA_1) * (gradient - self.mean)
        self.square += (1 - BETA_2) * (gradient * gradient - self.square)
        count = int(self.count[0])
        scale = np.sqrt(self.square / (1 - BETA_2**count))
        self.weights -= (rate / (1 - BETA_1**count)) * self.mean / (scale + EPSILON)
