"""The terrain interface.

To add a terrain, write one file in `terrain/` with one frozen dataclass that derives from
`Terrain`; its name on the command line is the file's name. `parameters` returns what may differ
between worlds, `tables` long arrays that all worlds share, `surface` the geometry, and `material`
the friction and stiffness of the ground.
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
from tarsus.terrain._graph import distance_and_frame as distance_and_frame

MAX_SLOPE = 3.0  # 72 degrees, steeper than any ground that a robot walks on


@dataclass(frozen=True)
class Terrain(ABC):
    """Ground that a robot may touch."""

    def __post_init__(self) -> None:
        check(self)

    def parameters(self) -> dict[str, NDArray]:
        """Return the parameters of the compiled code, of shape (size,) or (worlds, size)."""
        return {}

    def tables(self) -> dict[str, NDArray]:
        """Return arrays from which the compiled code looks up values, the same for all worlds.

        See `lookup` in `surface`.
        """
        return {}

    @abstractmethod
    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        """Compute the signed distance of a point from the surface, and the contact frame.

        Parameters
        ----------
        point : SX
            World point (3,), m.
        p : namespace
            Symbols of the parameters, by name, and `p.lookup(table, index)`: the entries (k,) of a
            flattened table at floor(index), index (k,).

        Returns
        -------
        distance : SX
            Positive above the ground, m.
        frame : SX
            Shape (3, 3), right-handed: rows outward normal, tangent 1, tangent 2.
        """

    @property
    def flat(self) -> bool:
        """Whether the ground is certainly one plane."""
        return False

    def steepest(self, p: Any) -> SX | None:
        """Compute an upper bound on the slope of a height field; None for other ground.

        The distance of other ground is that of a solid.
        """
        return SX(MAX_SLOPE)

    def at_level(self, p: Any, level: SX) -> Any:
        """Scale the parameters' symbols to ground whose heights are multiplied by `level`.

        A terrain that does not support this returns them unchanged.
        """
        return p

    def material(self, point: SX, p: Any) -> tuple[SX, SX]:
        """Compute the factors at a point (3,) on friction, and on stiffness and damping."""
        return SX(1), SX(1)

    def surfaces(self, points: list[SX], p: Any) -> list[tuple[SX, SX]]:
        """Evaluate `surface` for many points; override it to look up all at once."""
        return [self.surface(point, p) for point in points]

    def elevations(self, points: list[SX], p: Any) -> list[SX]:
        """Compute the height of the ground above z = 0, m, below or above points (3,).

        It is exact for a height field; a terrain with overhanging or vertical sides overrides it.
        """
        surfaces = zip(points, self.surfaces(points, p), strict=True)
        return [point[2] - distance / frame[0, 2] for point, (distance, frame) in surfaces]

    def top_edges(self, p: Any) -> list[tuple[SX, SX]]:
        """Return the edges around level tops, where a wider flat face of a robot may rest.

        Each is the line in the middle of the edge's rounding: its start (3,) and the vector (3,)
        from there to its end, m. The top lies to the left of this vector, and at right angles to
        the edge before if it starts at a corner of the top. Only ground with sharp steps needs
        them: on smooth ground a search finds the closest point.
        """
        return []

    @property
    def edge_rounding(self) -> float:
        """Radius of the rounding of the `top_edges`, m."""
        return 0.0

    @property
    def top_edge_count(self) -> int:
        """Number of `top_edges`."""
        return len(self.top_edges(self.symbols(Builder("top edges"))))

    def symbols(self, builder: Builder) -> SimpleNamespace:
        """Create the namespace p of `surface`, made of registers `terrain.NAME`."""
        tables = self.tables()

        def lookup(table: str, index: SX) -> SX:
            return builder.lookup(f"terrain.{table}", tables[table], index)

        sizes = {name: value.shape[-1] for name, value in self.parameters().items()}
        parameters = {
            name: builder.parameter(f"terrain.{name}", size) for name, size in sizes.items()
        }
        return SimpleNamespace(**parameters, lookup=lookup)
