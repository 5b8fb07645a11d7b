"""Ground from an array of heights, or from an image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidFile, InvalidValue
from tarsus.parameters import array, parameter
from tarsus.program.ir.symbolic import entries
from tarsus.terrain import _graph
from tarsus.terrain.base import Terrain

MAX_HEIGHTS = 2**24  # whole numbers that float32 can count
WHITE = {"L": 255.0, "I;16": 65535.0, "I;16B": 65535.0, "I": 65535.0, "F": 1.0}  # by Pillow's mode


@dataclass(frozen=True, eq=False)
class HeightField(Terrain):
    """Ground from a grid of heights.

    The ground is bilinear between heights, averaged over `rounding` cells in x and y, so that its
    slope never jumps. A plane stays a plane, and no point lies outside the heights around it; at a
    sample the ground differs from it by rounding / 8 of its second difference, in x and in y.
    Outside the grid the height is that of its border.

    Parameters
    ----------
    heights : array_like
        Heights, shape (rows, cols), rows along y, m.
    cell : float or tuple of float
        Distance between heights, one number or (along x, along y), m.
    origin : array_like, optional
        x and y of heights[0, 0], shape (2,) or (worlds, 2), m; by default the grid is centered at
        the origin of the world.
    rounding : float
        Number of cells over which heights are averaged, above 0 and at most 1.

    Raises
    ------
    InvalidValue
        If `heights` is missing or has another shape.

    Examples
    --------
    >>> import numpy as np
    >>> from tarsus import HeightField, Simulation
    >>> heights = 0.02 * np.random.default_rng(0).random((40, 40))
    >>> simulation = Simulation("mini_cheetah", terrain=HeightField(heights, cell=0.1))
    >>> simulation.terrain.flat
    False
    """

    heights: ArrayLike | None = array(None, "m", "heights, (rows, cols), rows along y")
    cell: float | tuple[float, float] = array(
        0.05, "m", "distance between heights: one number, or (along x, along y)", "(0, inf)"
    )
    origin: ArrayLike | None = array(
        None, "m", "x and y of heights[0, 0], (2,) or (worlds, 2); none: centered at 0"
    )
    rounding: float = parameter(
        1.0, "[1]", "width of the averaging of heights, in cells; 1: smoothest slopes", "(0, 1]"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heights is None:
            raise InvalidValue(
                "HeightField needs heights: HeightField(array) or HeightField.from_image(path).",
                "heights",
            )
        shape = np.shape(self.heights)
        if len(shape) != 2 or min(shape) < 2 or shape[0] * shape[1] > MAX_HEIGHTS:
            raise InvalidValue(
                f"HeightField: heights must be an array of at least 2 x 2 and at most {MAX_HEIGHTS}"
                f" numbers, not of shape {shape}.",
                "heights",
            )
        if np.shape(self.cell) not in ((), (2,)):
            raise InvalidValue(
                "HeightField: cell must be one number or two, not an array of shape"
                f" {np.shape(self.cell)}.",
                "cell",
            )
        origin = self.parameters()["origin"]
        if origin.ndim not in (1, 2) or origin.shape[-1] != 2:
            raise InvalidValue(
                f"HeightField: origin must have shape (2,) or (worlds, 2), not {origin.shape}.",
                "origin",
            )

    @classmethod
    def from_image(
        cls,
        path: str | Path,
        height: float = 0.1,
        cell: float | tuple[float, float] = 0.05,
        **more: Any,
    ) -> HeightField:
        """Read the ground from a gray image: black is 0, white is `height`.

        Parameters
        ----------
        path : str or Path
            Image file; every pixel is one height, and y is greatest at the top.
        height : float
            Height of white, m.
        cell : float or tuple of float
            Distance between pixels, m.
        **more
            Other parameters of the height field.

        Raises
        ------
        InvalidFile
            If the file cannot be read as an image.
        """
        from PIL import Image

        try:
            with Image.open(path) as picture:
                gray = picture if picture.mode in WHITE else picture.convert("L")
                shares = np.asarray(gray, dtype=float) / WHITE[gray.mode]
        except OSError as error:
            why = error.strerror or "it is not an image in a known format"
            raise InvalidFile(f"cannot read the heights from {path}: {why}.", path) from None
        return cls(height * shares[::-1], cell, **more)

    def parameters(self) -> dict[str, NDArray]:
        if self.origin is not None:
            return {"origin": np.asarray(self.origin, float)}
        rows, cols = np.shape(self.heights)  # type: ignore[arg-type]
        return {"origin": -0.5 * self._cell * [cols - 1, rows - 1]}

    def tables(self) -> dict[str, NDArray]:
        return {"heights": np.asarray(self.heights, float)}

    @property
    def _cell(self) -> NDArray[np.float64]:
        return np.broadcast_to(np.asarray(self.cell, float), 2)

    @property
    def flat(self) -> bool:
        return not np.ptp(np.asarray(self.heights, float))

    def steepest(self, p: Any) -> SX | None:
        heights = np.asarray(self.heights, float)
        along = [np.abs(np.diff(heights, axis=k)).max() for k in (1, 0)]
        return SX(float(np.hypot(*(along / self._cell))))

    def surface(self, point: SX, p: Any) -> tuple[SX, SX]:
        return self.surfaces([point], p)[0]

    def surfaces(self, points: list[SX], p: Any) -> list[tuple[SX, SX]]:
        if not points:
            return []
        if self.flat:
            height = p.lookup("heights", SX(0))
            return [(point[2] - height, _graph.LEVEL) for point in points]
        places = [(point[:2] - p.origin) / SX(self._cell) for point in points]
        nearest = [ca.floor(position + 0.5) for position in places]
        heights = entries(
            p.lookup("heights", ca.vertcat(*(self._neighbors(node) for node in nearest)))
        )
        return [
            self._distance_and_frame_at(point, position - node, heights[9 * k : 9 * k + 9])
            for k, (point, position, node) in enumerate(zip(points, places, nearest, strict=True))
        ]

    def _neighbors(self, node: SX) -> SX:
        """Find the indices (9,) of a node (column, row) and its neighbors, row by row.

        Nodes beyond the border take the index of the border.
        """
        rows, cols = np.shape(self.heights)  # type: ignore[arg-type]
        column = [ca.fmin(ca.fmax(node[0] + k, 0), cols - 1) for k in (-1, 0, 1)]
        row = [ca.fmin(ca.fmax(node[1] + k, 0), rows - 1) for k in (-1, 0, 1)]
        return ca.vertcat(*(i * cols + j for i in row for j in column))

    def _distance_and_frame_at(self, point: SX, offset: SX, neighbors: list[SX]) -> tuple[SX, SX]:
        """Compute distance and frame at an offset (2,), in cells, from the middle height."""
        heights, slopes = zip(
            *(self._interpolate(neighbors[k : k + 3], offset[0]) for k in (0, 3, 6)), strict=True
        )
        height, along_y = self._interpolate(list(heights), offset[1])
        along_x, _ = self._interpolate(list(slopes), offset[1])
        return _graph.distance_and_frame(
            point, height, along_x / self._cell[0], along_y / self._cell[1]
        )

    def _interpolate(self, values: list[SX], t: SX) -> tuple[SX, SX]:
        """Interpolate three values at -1, 0 and 1 linearly; return value and slope at t.

        Both are averages over an interval of length `rounding` around t.
        """
        reach = self.rounding / 2
        after, before = values[2] - values[1], values[0] - values[1]
        # the mean of max(s, 0), and of the step at 0, over s from t - reach to t + reach
        inside = [ca.fmin(ca.fmax(side + reach, 0), 2 * reach) for side in (t, -t)]
        mean = [
            i * i / (4 * reach) + ca.fmax(side - reach, 0)
            for i, side in zip(inside, (t, -t), strict=True)
        ]
        slope = (after * inside[0] - before * inside[1]) / (2 * reach)
        return values[1] + after * mean[0] + before * mean[1], slope
