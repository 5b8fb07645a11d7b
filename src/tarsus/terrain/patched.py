"""Any ground with patches that differ in friction or stiffness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casadi import SX
from numpy.typing import NDArray

from tarsus.errors import InvalidValue
from tarsus.parameters import component, parameter
from tarsus.terrain import _graph, _material
from tarsus.terrain._material import Patch as Patch  # the public name
from tarsus.terrain.base import Terrain


@dataclass(frozen=True)
class Patched(Terrain):
    """Shape of another terrain, with a material given by patches.

    The ground is level at height zero by default. The last patch that contains a point determines
    its material.
    """

    ground: Terrain | None = component(None, "terrain that gives the shape")
    patches: tuple[Patch, ...] = component((), "patches of a different material")
    friction: float | NDArray = parameter(
        1.0, "[1]", "factor on the law's friction coefficients between the patches", "[0, inf)"
    )
    stiffness: float | NDArray = parameter(
        1.0,
        "[1]",
        "factor on the law's stiffness and damping between the patches",
        "(0, inf)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.ground, Patched):
            raise InvalidValue(
                "Patched: the ground is already patched; give all patches to one Patched.", "ground"
            )
        if self.ground is not None and not isinstance(self.ground, Terrain):
            raise InvalidValue(
                f"Patched: the ground must be a terrain, not {self.ground!r}.", "ground"
            )
        if not all(isinstance(patch, Patch) for patch in self.patches):
            raise InvalidValue("Patched: patches must be a tuple of Patch.", "patches")

    def parameters(self) -> dict[str, NDArray]:
        parameters = _material.parameters(
            self.patches, friction=self.friction, stiffness=self.stiffness
        )
        return parameters | (self.ground.parameters() if self.ground else {})

    @property
    def flat(self) -> bool:
        return self.ground is None or self.ground.flat

    def steepest(self, p: Any) -> SX | None:
        return self.ground.steepest(p) if self.ground else SX(0)

    @property
    def edge_rounding(self) -> float:
        return self.ground.edge_rounding if self.ground else 0.0

    def top_edges(self, p: Any) -> list[tuple[SX, SX]]:
        return self.ground.top_edges(p) if self.ground else []

    def at_level(self, p: Any, level: SX) -> Any:
        return self.ground.at_level(p, level) if self.ground else p

    def tables(self) -> dict[str, NDArray]:
        return self.ground.tables() if self.ground else {}

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        return self.ground.surface(point, p) if self.ground else (point[2], _graph.LEVEL)

    def surfaces(self, points: list[SX], p: Any) -> list[tuple[SX, SX]]:
        return self.ground.surfaces(points, p) if self.ground else super().surfaces(points, p)

    def elevations(self, points: list[SX], p: Any) -> list[SX]:
        """Compute the heights of the ground, with sharp edges."""
        return self.ground.elevations(points, p) if self.ground else super().elevations(points, p)

    def material(self, point: SX, p: Any) -> tuple[SX, SX]:
        return (
            _material.factor("friction", self.patches, point, p),
            _material.factor("stiffness", self.patches, point, p),
        )
