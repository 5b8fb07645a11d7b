"""The terrain interface.

To add a terrain: one file in `terrain/` with one frozen dataclass that derives from `Terrain`; its
name on the command line is the file's name. `parameters` gives what may differ between worlds,
`tables` long arrays that all worlds share, `surface` the geometry, `material` what the ground is
made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from casadi import SX
from numpy.typing import NDArray

from tarsus.parameters import check
from tarsus.program.ir.trace import Builder
from tarsus.terrain._graph import columns as columns
from tarsus.terrain._graph import touch as touch

STEEP = 3.0  # [1]: 72 degrees, steeper than what is walked on


@dataclass(frozen=True)
class Terrain(ABC):
    """A surface the robot may touch."""

    def __post_init__(self) -> None:
        check(self)

    def parameters(self) -> dict[str, NDArray]:
        """Numbers that are the compiled code's parameters: (size,), or (worlds, size)."""
        return {}

    def tables(self) -> dict[str, NDArray]:
        """Arrays that the compiled code looks numbers up in, the same for all worlds; see `lookup`
        in `surface`.
        """
        return {}

    @abstractmethod
    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        """Signed distance (m) of a world point (3,) from the surface, and the contact frame (3, 3).

        The frame's rows are the outward normal and two tangents, right-handed. p has the
        parameters' symbols under their names, and p.lookup(table, index (k,)): the entries (k,) at
        floor(index) of the flattened table.
        """

    @property
    def flat(self) -> bool:
        """Whether it is one plane for certain: what lies between points that touch it cannot."""
        return False

    def steepest(self, p: Any) -> SX | None:
        """A slope, rise over run [1], that none exceeds, of ground that is a height over x and y;
        None of other ground, whose distance is that of a solid.
        """
        return SX(STEEP)

    def at_level(self, p: Any, level: SX) -> Any:
        """The parameters' symbols where the ground's heights are `level` times what they are; the
        same ground where a terrain does not say.
        """
        return p

    def material(self, point: SX, p: Any) -> tuple[SX, SX]:
        """Factors [1] at a point (3,) of the law's friction, and of its stiffness and damping."""
        return SX(1), SX(1)

    def surfaces(self, points: list[SX], p: Any) -> list[tuple[SX, SX]]:
        """The same for many points; a terrain with tables overrides it to look up all at once."""
        return [self.surface(point, p) for point in points]

    def elevations(self, points: list[SX], p: Any) -> list[SX]:
        """Height of the ground above z = 0, m, below or above points (3,): exact where it is a
        height over x and y; a terrain with overhanging or upright sides overrides it.
        """
        found = zip(points, self.surfaces(points, p), strict=True)
        return [point[2] - distance / frame[0, 2] for point, (distance, frame) in found]

    def symbols(self, builder: Builder) -> SimpleNamespace:
        """What `surface` takes as p: registers `terrain.NAME` of the program being built."""
        tables = self.tables()

        def lookup(table: str, index: SX) -> SX:
            return builder.lookup(f"terrain.{table}", tables[table], index)

        sizes = {name: value.shape[-1] for name, value in self.parameters().items()}
        parameters = {
            name: builder.parameter(f"terrain.{name}", size) for name, size in sizes.items()
        }
        return SimpleNamespace(**parameters, lookup=lookup)
