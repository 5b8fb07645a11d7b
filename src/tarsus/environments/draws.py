"""Numbers drawn within a program: of a world, at a count of its periods, for a purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.random_numbers import WORD, scrambled, uniform
from tarsus.program.ir.trace import Builder

Of = Callable[[list[SX]], SX]
STREAMS = 4096  # purposes at most


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of one period.

    seed (4,), world, count: as `random_numbers.scrambled` takes them
    """

    seed: SX
    world: SX
    count: SX

    def fine(self, b: Builder, name: str, size: int, stream: int) -> SX:
        """Numbers (size,) of [0, 1), to 2^-24; takes size / 2 streams from this one on."""
        return self._rows(b, name, -(-size // 2), stream, lambda w: ca.vertcat(*uniform(w)))[:size]

    def coarse(self, b: Builder, name: str, size: int, stream: int) -> SX:
        """Numbers (size,) between -1 and 1, to 2^-11; takes size / 4 streams."""
        return self._rows(
            b, name, -(-size // 4), stream, lambda w: (ca.vertcat(*w) + 0.5) * (2 / WORD) - 1
        )[:size]

    def _rows(self, b: Builder, name: str, count: int, stream: int, of: Of) -> SX:
        assert stream + count <= STREAMS
        words = b.map_range(
            name, count, lambda k: of(scrambled(self.seed, self.world, self.count, stream + k))
        )
        return ca.vertcat(*words)
