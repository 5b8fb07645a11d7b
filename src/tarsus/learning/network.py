"""Layers of tanh in float32: values, slopes by hand, and Adam, all weights in one vector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.mirror import Mirror

Array = NDArray[np.float32]
FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8  # Kingma 2015's beta_1, beta_2, epsilon


@dataclass(frozen=True)
class Network:
    """Layers of tanh, and a linear one at the end; its weights are one vector (count,).

    sizes: how many numbers go in, come out of each layer, and out
    own: how many of the weights, the last ones, belong to no layer
    """

    sizes: tuple[int, ...]
    own: int = 0

    @property
    def count(self) -> int:
        """Of the weights."""
        return sum((a + 1) * b for a, b in self._pairs) + self.own

    def initial(self, random: np.random.Generator, last: float = 1.0) -> Array:
        """Weights (count,) to begin with; those of the last layer are times `last`."""
        w = np.zeros(self.count, np.float32)
        layers = list(self.layers(w))
        for k, (matrix, _) in enumerate(layers):
            scale = (last if k + 1 == len(layers) else 1.0) / np.sqrt(len(matrix))
            matrix[...] = scale * random.standard_normal(matrix.shape)
        return w

    def layers(self, w: Array) -> Iterator[tuple[Array, Array]]:
        """Matrix (a, b) and offset (b,) of each layer, in place."""
        at = 0
        for a, b in self._pairs:
            yield w[at : at + a * b].reshape(a, b), w[at + a * b : at + (a + 1) * b]
            at += (a + 1) * b

    def __call__(self, w: Array, x: Array) -> Array:
        """What comes out (..., out) for x (..., in)."""
        return self.kept(w, x)[-1]

    def kept(self, w: Array, x: Array) -> list[Array]:
        """What goes into each layer, and at last what comes out."""
        found, last = [x], len(self.sizes) - 2
        for k, (matrix, offset) in enumerate(self.layers(w)):
            x = x @ matrix
            x += offset
            found.append(np.tanh(x, out=x) if k < last else x)
        return found

    def slopes(self, w: Array, kept: list[Array], slope: Array) -> Array:
        """The slope (count,) of a loss by the weights, from its slope (n, out) by what comes out.

        Zero for the weights that belong to no layer.
        """
        found = np.zeros(self.count, np.float32)
        both = list(zip(self.layers(w), self.layers(found), kept, strict=False))
        for k, ((matrix, _), (by_matrix, by_offset), x) in reversed(list(enumerate(both))):
            np.matmul(x.T, slope, out=by_matrix)
            by_offset[...] = slope.sum(0)
            if k:
                slope = slope @ matrix.T
                slope *= 1 - x * x
        return found

    def mirror(self, seen: Mirror, out: Mirror) -> Mirror:
        """That of the weights: its own image, a network answers the image of `seen` with that of
        what it answers `seen` with. Hidden numbers are images of each other, first half and second.
        """
        at, order, sign = 0, np.arange(self.count), np.ones(self.count, np.float32)
        sides = [seen, *(_halves(size) for size in self.sizes[1:-1]), out]
        for (a, b), before, after in zip(self._pairs, sides, sides[1:], strict=False):
            place = np.arange(at, at + a * b).reshape(a, b)
            order[at : at + a * b] = place[np.ix_(before.order, after.order)].ravel()
            sign[at : at + a * b] = np.outer(before.sign, after.sign).ravel()
            order[at + a * b : at + (a + 1) * b] = at + a * b + after.order
            sign[at + a * b : at + (a + 1) * b] = after.sign
            at += (a + 1) * b
        if self.own == len(out.order):
            order[at:] = at + out.order
        return Mirror(order, sign)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.sizes, self.sizes[1:], strict=False))


def _halves(size: int) -> Mirror:
    half = size // 2
    order = np.arange(size)
    order[: 2 * half] = np.roll(order[: 2 * half], half)
    return Mirror(order, np.ones(size, np.float32))


class Adam:
    """Steps against slopes, each weight's in its own scale (Kingma 2015, Algorithm 1).

    mirror: of the weights, where they shall stay their own image
    """

    def __init__(self, weights: Array, mirror: Mirror | None = None) -> None:
        self.weights, self.mirror = weights, mirror
        self.mean, self.square = np.zeros_like(weights), np.zeros_like(weights)
        self.count = np.zeros(1, int)
        if mirror is not None:
            weights[...] = mirror.even(weights)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Of which it is made, in place."""
        return {
            "weights": self.weights,
            "mean": self.mean,
            "square": self.square,
            "count": self.count,
        }

    def step(self, slope: Array, rate: float) -> None:
        """One."""
        if self.mirror is not None:
            slope = self.mirror.even(slope)
        self.count += 1
        self.mean += (1 - FIRST) * (slope - self.mean)
        self.square += (1 - SECOND) * (slope * slope - self.square)
        count = int(self.count[0])
        scale = np.sqrt(self.square / (1 - SECOND**count))
        self.weights -= (rate / (1 - FIRST**count)) * self.mean / (scale + SMALL)
