"""Square tiles without end: level ground, hills, stairs, waves and stones, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.parameters import parameter
from tarsus.terrain import _graph
from tarsus.terrain.base import Terrain

KINDS = 5  # of tiles: level ones, and the four below
ACROSS = 3  # kinds from a tile to the next along y
SPREAD = 0.7548776662466927, 0.5698402909980532  # of stones: no neighbors are alike, few repeat


@dataclass(frozen=True)
class Tiles(Terrain):
    """Square tiles of edge length `side`, each at height 0 along its border.

    The tile at the origin is level.

    Along x come level ground, a hill with a flat top, stairs up to the middle and down again, an
    egg box, and stones with grooves between them; along y every third of these. Risers and the
    sides of stones are ramps of the width `edge`, so that the ground is a height over x and y.
    """

    side: float = parameter(4.0, "m", "edge length of a tile", "[1, inf)")
    incline: float | NDArray = parameter(0.1, "[1]", "slope of hills, rise over run")
    rise: float | NDArray = parameter(0.02, "m", "height of a step of the stairs")
    wave: float | NDArray = parameter(0.02, "m", "amplitude of the waves")
    stone: float | NDArray = parameter(
        0.02, "m", "largest height of stones above and below the ground"
    )
    run: float = parameter(
        0.3, "m", "depth of a tread, and half the width of the tops of hills", "(0, inf)"
    )
    length: float = parameter(0.8, "m", "approximate wavelength", "(0, inf)")
    size: float = parameter(0.4, "m", "approximate size of a stone", "(0, inf)")
    edge: float = parameter(0.06, "m", "width of risers and of the sides of stones", "(0, inf)")

    def parameters(self) -> dict[str, NDArray]:
        given = (self.incline, self.rise, self.wave, self.stone)
        return {
            "heights": np.stack(np.broadcast_arrays(*(np.asarray(v, float) for v in given)), -1)
        }

    def at_level(self, p: Any, level: SX) -> Any:
        return SimpleNamespace(**vars(p) | {"heights": level * p.heights})

    def steepest(self, p: Any) -> SX | None:
        """Compute the largest slope of hills, ramps, waves and stones.

        A ramp is at most 1.5 times as steep as on average; a stone is steepest across a corner.
        """
        waves = 2 * np.pi * max(1, round(self.side / self.length)) / self.side
        ramp = 1.5 / min(self.edge, self.run), 1.5 * np.sqrt(2) / min(self.edge, self._stone / 2)
        slopes = ca.fabs(p.heights) * SX([1.0, ramp[0], waves, ramp[1]])
        return ca.mmax(slopes)

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        position = SX.sym("at", 2)
        height = self._height(position, p)
        surface = ca.vertcat(height, ca.gradient(height, position))
        height, *slopes = ca.vertsplit(ca.substitute(surface, position, point[:2]))
        return _graph.distance_and_frame(point, height, *slopes)

    def _height(self, position: SX, p: Any) -> SX:
        """Compute the height of the ground at a position (2,), m."""
        tile = ca.floor(position / self.side + 0.5)
        here = position - self.side * tile
        inward = self.side / 2 - ca.fmax(ca.fabs(here[0]), ca.fabs(here[1]))  # from the border
        hill = ca.fmin(inward, self.side / 2 - self.run)
        waves = 2 * np.pi * max(1, round(self.side / self.length)) / self.side
        egg_box = ca.sin(waves * here[0]) * ca.sin(waves * here[1])
        shapes = ca.vertcat(hill, self._stairs(inward), egg_box, self._stones(tile, here))
        result, tile_kind = SX(0), tile[0] + ACROSS * tile[1]
        # the remainder; 0.5 keeps round-off from changing the quotient
        tile_kind = tile_kind - KINDS * ca.floor((tile_kind + 0.5) / KINDS)
        for kind in range(1, KINDS):
            height = p.heights[kind - 1] * shapes[kind - 1]
            result = ca.if_else(ca.fabs(tile_kind - kind) < 0.5, height, result)
        return result

    def _stairs(self, inward: SX) -> SX:
        """Count the steps up to a distance `inward` from the border, m.

        The first riser is one run from the border.
        """
        done = ca.floor(inward / self.run)
        up = done - 1 + _ramp((inward - self.run * done) / min(self.edge, self.run))
        return ca.if_else(done < 1, 0, up)

    @property
    def _stone(self) -> float:
        """The width of a stone and its groove, m."""
        return self.side / max(1, round(self.side / self.size))

    def _stones(self, tile: SX, here: SX) -> SX:
        """Compute the stone's height at a position (2,) of a tile (2,), -1 to 1; 0 in grooves."""
        size = self._stone
        count = round(self.side / size)
        cell = here / size + count / 2
        stone = ca.floor(cell)
        inward = size * ca.fmin(cell - stone, 1 - cell + stone) / min(self.edge, size / 2)
        number = ca.dot(SX(SPREAD), stone + count * tile)
        drawn = 2 * (number - ca.floor(number)) - 1
        return drawn * _ramp(inward[0]) * _ramp(inward[1])


def _ramp(along: SX) -> SX:
    """Evaluate a transition from 0 to 1 while `along` goes from 0 to 1, with level ends."""
    part = ca.fmin(ca.fmax(along, 0), 1)
    return part * part * (3 - 2 * part)
