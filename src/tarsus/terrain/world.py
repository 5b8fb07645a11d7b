"""What an MJCF file fixes to its world, as ground: a floor, stairs, height fields, meshes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from casadi import SX
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, InvalidValue
from tarsus.parameters import component, parameter
from tarsus.terrain._fixed_shapes import FixedShapes
from tarsus.terrain.base import Terrain


@dataclass(frozen=True, eq=False)
class World(Terrain):
    """The ground of an MJCF file, on the command line also by the file's path alone.

    A level floor, a plane or a box that reaches 50 m from the origin to all sides, and upright
    boxes on it as `boxes`, if there are few; else heights as seen from above, every `cell`, as
    `heightfield`: there an edge is as steep as one cell allows, and what stands under a roof is
    not seen. Friction is the robot's and the law's.
    """

    file: str | None = component(None, "path of an MJCF file")
    cell: float = parameter(0.02, "m", "between heights seen from above", "(0, 10]")
    sha256: str | None = component(
        None, "of the shapes, which a later reading must find; none: any"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        found = self._shapes.sha256
        if self.sha256 not in (None, found):
            raise InvalidFile(
                f"world: {self.file} has changed: its shapes are not the recorded ones.", self.file
            )
        object.__setattr__(self, "sha256", found)

    @cached_property
    def ground(self) -> Terrain:
        """The terrain that it is made of."""
        return self._shapes.ground(self.cell)

    @property
    def _shapes(self) -> FixedShapes:
        if not self.file:
            raise InvalidValue(
                "world needs a file: --terrain FILE.xml, or World('FILE.xml').", "file"
            )
        return FixedShapes.read(self.file)

    def parameters(self) -> dict[str, NDArray]:
        return self.ground.parameters()

    def tables(self) -> dict[str, NDArray]:
        return self.ground.tables()

    @property
    def flat(self) -> bool:
        return self.ground.flat

    def steepest(self, p: Any) -> SX | None:
        return self.ground.steepest(p)

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        return self.ground.surface(point, p)

    def surfaces(self, points: list[SX], p: Any) -> list[tuple[SX, SX]]:
        return self.ground.surfaces(points, p)

    def elevations(self, points: list[SX], p: Any) -> list[SX]:
        return self.ground.elevations(points, p)
