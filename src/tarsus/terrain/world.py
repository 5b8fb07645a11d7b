"""Ground from the fixed geoms of an MJCF file: a floor, stairs, height fields, meshes."""

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
    """Ground made of the fixed geoms of an MJCF file; the file's path is also a terrain name.

    A plane, or a box that reaches 50 m from the origin to all sides, is a level floor. A few
    upright boxes on it become a `boxes` terrain. Otherwise the geoms are sampled from above every
    `cell` as a `heightfield`, in which edges are as steep as one cell allows, and geoms under a
    roof are missing. Friction is that of the robot and the law.
    """

    file: str | None = component(None, "path of an MJCF file")
    cell: float = parameter(0.02, "m", "distance between heights sampled from above", "(0, 10]")
    sha256: str | None = component(
        None, "SHA-256 that the shapes must have; none: shapes are not checked"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        digest = self._shapes.sha256
        if self.sha256 not in (None, digest):
            raise InvalidFile(
                f"world: {self.file} has changed: its shapes differ from the recorded ones.",
                self.file,
            )
        object.__setattr__(self, "sha256", digest)

    @cached_property
    def ground(self) -> Terrain:
        """Terrain that represents the shapes."""
        return self._shapes.ground(self.cell)

    @property
    def _shapes(self) -> FixedShapes:
        if not self.file:
            raise InvalidValue(
                "world needs a file: use --terrain FILE.xml or World('FILE.xml').", "file"
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

    @property
    def edge_rounding(self) -> float:
        return self.ground.edge_rounding

    def top_edges(self, p: Any) -> list[tuple[SX, SX]]:
        return self.ground.top_edges(p)

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        return self.ground.surface(point, p)

    def surfaces(self, points: list[SX], p: Any) -> list[tuple[SX, SX]]:
        return self.ground.surfaces(points, p)

    def elevations(self, points: list[SX], p: Any) -> list[SX]:
        return self.ground.elevations(points, p)
