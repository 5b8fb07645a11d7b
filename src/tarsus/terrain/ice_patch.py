"""Level ground with a round patch of ice on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casadi import SX
from numpy.typing import NDArray

from tarsus.terrain import _graph, _material
from tarsus.terrain._material import Patch
from tarsus.terrain.base import Terrain


@dataclass(frozen=True)
class IcePatch(Terrain):
    """The plane z = 0 with a disc of ice: a small example of ground whose friction changes from
    place to place.

    friction: on the ice, as a factor of the law's coefficients, -, () or (worlds,); x: of the
    disc's center, and its radius, m.
    """

    friction: float | NDArray = 0.1
    x: float = 1.0
    radius: float = 0.4

    def __post_init__(self) -> None:
        self._ice()

    def _ice(self) -> tuple[Patch]:
        return (Patch((self.x, 0.0), self.radius, friction=self.friction),)

    def parameters(self) -> dict[str, NDArray]:
        return _material.parameters(self._ice(), friction=1.0)

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        return point[2], _graph.LEVEL

    def material(self, point: SX, p: Any) -> tuple[SX, SX]:
        return _material.factor("friction", self._ice(), point, p), SX(1)
