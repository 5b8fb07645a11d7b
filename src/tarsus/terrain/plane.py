"""The horizontal plane z = 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casadi import SX

from tarsus.terrain import _graph
from tarsus.terrain.base import Terrain


@dataclass(frozen=True)
class Plane(Terrain):
    """Level ground at height zero; contact tangents point along x and y.

    Examples
    --------
    >>> from tarsus import Plane, Simulation
    >>> simulation = Simulation("mini_cheetah", terrain=Plane())
    >>> simulation.terrain.flat
    True
    """

    @property
    def flat(self) -> bool:
        return True

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        return point[2], _graph.LEVEL
