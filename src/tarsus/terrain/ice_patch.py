"""Level ground with a round patch of ice in front of the robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casadi import SX
from numpy.typing import NDArray

from tarsus.parameters import parameter
from tarsus.terrain import _graph, _material
from tarsus.terrain._material import Patch
from tarsus.terrain.base import Terrain


@dataclass(frozen=True)
class IcePatch(Terrain):
    """The plane z = 0 with a disc of ice: an example of ground whose friction changes."""

    friction: float | NDArray = parameter(
        0.1, "[1]", "factor on the law's friction coefficients on the ice", "[0, inf)"
    )
    x: float = parameter(1.0, "m", "x of the center of the disc")
    radius: float = parameter(0.4, "m", "radius of the disc", "(0, inf)")

    def _ice(self) -> tuple[Patch]:
        return (Patch((self.x, 0.0), self.radius, friction=self.friction),)

    def parameters(self) -> dict[str, NDArray]:
        return _material.parameters(self._ice(), friction=1.0)

    @property
    def flat(self) -> bool:
        return True

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        return point[2], _graph.LEVEL

    def material(self, point: SX, p: Any) -> tuple[SX, SX]:
        return _material.factor("friction", self._ice(), point, p), SX(1)
