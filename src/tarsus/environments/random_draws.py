"""Random numbers within a program, by world, period and purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.random_numbers import WORD, draw_words, to_uniform
from tarsus.program.ir.trace import Builder

FromWords = Callable[[list[SX]], SX]
MAX_STREAMS = 4096


@dataclass(frozen=True, eq=False)
class RandomDraws:
    """Random numbers of one period.

    Attributes
    ----------
    seed, world, count
        Seed, shape (4,), world and period, as `random_numbers.scrambled` takes them.
    """

    seed: SX
    world: SX
    count: SX

    def draw_fine(self, b: Builder, name: str, size: int, stream: int) -> SX:
        """Draw numbers in [0, 1), shape (size,), with a resolution of 2^-24.

        They take size / 2 streams, starting at `stream`.
        """
        return self._draw(b, name, -(-size // 2), stream, lambda w: ca.vertcat(*to_uniform(w)))[
            :size
        ]

    def draw_coarse(self, b: Builder, name: str, size: int, stream: int) -> SX:
        """Draw numbers in (-1, 1), shape (size,), with a resolution of 2^-11.

        They take size / 4 streams, starting at `stream`.
        """
        return self._draw(
            b, name, -(-size // 4), stream, lambda w: (ca.vertcat(*w) + 0.5) * (2 / WORD) - 1
        )[:size]

    def _draw(self, b: Builder, name: str, count: int, stream: int, from_words: FromWords) -> SX:
        assert stream + count <= MAX_STREAMS
        words = b.map_range(
            name,
            count,
            lambda k: from_words(draw_words(self.seed, self.world, self.count, stream + k)),
        )
        return ca.vertcat(*words)
