"""The shapes that an MJCF file fixes to the world, as MuJoCo compiles them, and what ground they
make.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.errors import InvalidFile, InvalidValue, Unsupported, join_names
from tarsus.model.files import existing_file, naming, needed_library
from tarsus.model.mjcf_compile import compile_model
from tarsus.model.mjcf_contacts import colliding
from tarsus.model.mjcf_source import Source
from tarsus.terrain.base import Terrain

PLANE, FIELD, BOX = 0, 1, 6  # mjtGeom
FEW = 12  # boxes: more are cheaper as heights
MOST = 1_000_000  # heights that are looked for
FAR = 50.0  # m: whose edges are no nearer to the origin is level ground without an end
LEVEL = 1e-9  # of a rotation matrix: what is upright
EDGE, CORNER = 0.005, 0.02  # m: as `boxes` rounds them where there is room
ROOM = 0.8  # of a box's height above the ground: for both
ABOVE = 1.0  # m: how far above all shapes rays begin
SHOWN, HIDDEN = 0, 1  # groups of geoms
SOME = 5  # names that a sentence shows
LOG = logging.getLogger(__name__)

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FixedShapes:
    """Those of one file.

    model, data: MuJoCo's, with what moves where the file draws it
    geoms: those that are fixed and collide
    name: the file's
    """

    model: Any
    data: Any
    geoms: list[int]
    name: str

    @staticmethod
    def read(path: str) -> FixedShapes:
        """Read the shapes of a file; InvalidFile if it has none, or cannot be read."""
        file = existing_file(path)
        return _read(file, file.stat().st_mtime_ns)

    @property
    def sha256(self) -> str:
        """Of all numbers that say where they are."""
        digest, m, own = hashlib.sha256(), self.model, self.geoms
        for part in (m.geom_type[own], m.geom_size[own], self.data.geom_xpos[own]):
            digest.update(np.ascontiguousarray(part).tobytes())
        for part in (self.data.geom_xmat[own], m.hfield_data, m.hfield_size, m.mesh_vert):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def ground(self, cell: float) -> Terrain:
        """A level floor, upright boxes on it, or heights every `cell`, m."""
        wide = list(filter(self._is_wide, self.geoms))
        if wide:
            names = join_names([self._called(geom) for geom in wide], SOME)
            LOG.warning("%s: %s has its edges so far off that it has none here.", self.name, names)
        level, shapes = self._level(wide), self._others(wide)
        if not shapes:
            assert level is not None
            return _floor(level)
        if level is not None and len(shapes) <= FEW and all(map(self._is_upright_box, shapes)):
            return self._boxes(shapes, level)
        if len(shapes) == 1 and self.model.geom_type[shapes[0]] == FIELD and self._stands(*shapes):
            return self._field(shapes[0], level)
        return self._seen_from_above(shapes, level, cell)

    def _level(self, wide: list[int]) -> float | None:
        """Return the height of the highest level plane or wide box, m; Unsupported if one is
        inclined.
        """
        planes = [geom for geom in self.geoms if self.model.geom_type[geom] == PLANE]
        inclined = [self._called(g) for g in planes if abs(self._turned(g)[2, 2] - 1) > LEVEL]
        if inclined:
            raise Unsupported(
                f"{self.name}: inclined planes are not supported ({join_names(inclined, SOME)}):"
                " use boxes, or choose the terrain 'slope'.",
                inclined[0],
            )
        tops = [float(self.data.geom_xpos[g][2]) for g in planes]
        tops += [float(self.data.geom_xpos[g][2] + self.model.geom_size[g][2]) for g in wide]
        return max(tops, default=None)

    def _others(self, wide: list[int]) -> list[int]:
        known = set(wide)
        return [g for g in self.geoms if self.model.geom_type[g] != PLANE and g not in known]

    def _is_wide(self, geom: int) -> bool:
        """Whether it is a box whose level top reaches FAR from the origin to all sides."""
        if not self._is_upright_box(geom):
            return False
        middle = self._turned(geom)[:2, :2].T @ self.data.geom_xpos[geom][:2]
        return bool((self.model.geom_size[geom][:2] - np.abs(middle) >= FAR).all())

    def _called(self, geom: int) -> str:
        return self.model.geom(geom).name or f"geom {geom}"

    def _turned(self, geom: int) -> Array:
        return np.array(self.data.geom_xmat[geom]).reshape(3, 3)

    def _stands(self, geom: int) -> bool:
        """Whether it is not turned."""
        return bool(np.abs(self._turned(geom) - np.eye(3)).max() < LEVEL)

    def _is_upright_box(self, geom: int) -> bool:
        upright = abs(abs(self._turned(geom)[2, 2]) - 1) < LEVEL
        return upright and self.model.geom_type[geom] == BOX

    def _boxes(self, shapes: list[int], level: float) -> Terrain:
        """Boxes on level ground, down to it; what ends below it is not seen."""
        half = np.array(self.model.geom_size[shapes])
        place = np.array(self.data.geom_xpos[shapes])
        top = place[:, 2] + half[:, 2]
        seen = top > level + LEVEL
        if not seen.any():
            return _floor(level)
        half, place, top = half[seen], place[seen], top[seen]
        turned = [self._turned(geom) for geom, above in zip(shapes, seen, strict=True) if above]
        bottom = np.minimum(place[:, 2] - half[:, 2], level)
        half[:, 2], place[:, 2] = (top - bottom) / 2, (top + bottom) / 2
        room = ROOM * (top - level).min()
        edge = min(EDGE, room / 5, half[:, :2].min())
        return _terrain(
            "boxes",
            position=place,
            half_sizes=half,
            yaw=np.array([np.arctan2(R[1, 0], R[0, 0]) for R in turned]),
            ground=level,
            edge_radius=edge,
            corner_radius=min(CORNER, room - edge),
        )

    def _field(self, geom: int, level: float | None) -> Terrain:
        """A height field as the file has it, where no plane is higher."""
        m, number = self.model, int(self.model.geom_dataid[geom])
        rows, columns = int(m.hfield_nrow[number]), int(m.hfield_ncol[number])
        first, (x, y, high, _) = int(m.hfield_adr[number]), m.hfield_size[number]
        place = self.data.geom_xpos[geom]
        values = np.array(m.hfield_data[first : first + rows * columns], dtype=float)
        heights = place[2] + high * values.reshape(rows, columns)
        return _terrain(
            "heightfield",
            heights if level is None else np.maximum(heights, level),
            (2 * x / (columns - 1), 2 * y / (rows - 1)),
            origin=place[:2] - [x, y],
        )

    def _seen_from_above(self, shapes: list[int], level: float | None, cell: float) -> Terrain:
        """Heights on a grid of multiples of `cell` that reaches one beyond all shapes."""
        mujoco = needed_library("mujoco", "reading MJCF")
        low, high = self._around(shapes)
        first, last = np.floor(low[:2] / cell) - 1, np.ceil(high[:2] / cell) + 1
        columns, rows = (int(n) + 1 for n in last - first)
        if rows * columns > MOST:
            enough = cell * np.sqrt(rows * columns / MOST)
            raise InvalidValue(
                f"{self.name}: a cell of {cell:g} m gives {rows * columns} heights, more than"
                f" {MOST}: set cell to {1.01 * enough:.2g} m or more.",
                "cell",
            )
        # rays straight down, to the shapes and the highest plane alone
        m, d, top = self.model, self.data, high[2] + ABOVE
        down, hit = np.array([0.0, 0.0, -1.0]), np.zeros(1, dtype=np.int32)
        groups = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
        x, y = (cell * (first[k] + np.arange(n)) for k, n in enumerate((columns, rows)))
        found = [
            mujoco.mj_ray(m, d, np.array([a, b, top]), down, groups, True, -1, hit)
            for b in y
            for a in x
        ]
        away = np.array(found).reshape(rows, columns)
        nothing = away < 0
        floor = (top - away[~nothing]).min() if level is None else level
        heights = np.where(nothing, floor, top - away)
        if level is None and nothing.any():
            LOG.warning(
                "%s has no level floor: beside its shapes the ground is as high as their lowest"
                " point, %g m.",
                self.name,
                floor,
            )
        return _terrain("heightfield", heights, cell, origin=cell * first)

    def _around(self, shapes: list[int]) -> tuple[Array, Array]:
        """Corners (3,) of the upright box around shapes, m."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for geom in shapes:
            middle, half = np.split(np.array(self.model.geom_aabb[geom]), 2)
            R = self._turned(geom)
            center, reach = self.data.geom_xpos[geom] + R @ middle, np.abs(R) @ half
            low, high = np.minimum(low, center - reach), np.maximum(high, center + reach)
        return low, high


@lru_cache(maxsize=8)
def _read(file: Path, stamp: int) -> FixedShapes:
    """Those of one version (modification time `stamp`) of a file."""
    mujoco = needed_library("mujoco", "reading MJCF")
    with naming(file.name, file):
        model = compile_model(Source.of("", file))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    geoms = list(_fixed(model))
    if not geoms:
        raise InvalidFile(f"{file.name}: no geom that collides is fixed to the world.", file)
    # rays see these alone, planes without an end, and whatever its color
    model.geom_group[:] = HIDDEN
    model.geom_group[geoms] = SHOWN
    model.geom_rgba[:, 3], model.geom_matid[:] = 1.0, -1
    model.geom_size[model.geom_type == PLANE, :2] = 0.0
    return FixedShapes(model, data, geoms, file.name)


def _fixed(model: Any) -> Iterator[int]:
    for geom in colliding(model):
        if model.body_weldid[model.geom_bodyid[geom]] == 0:
            yield geom


def _floor(level: float) -> Terrain:
    """Level ground at a height, m."""
    return _terrain("heightfield", np.full((2, 2), level)) if level else _terrain("plane")


def _terrain(name: str, *given: Any, **more: Any) -> Terrain:
    """A terrain by its name."""
    return registry.member_class("tarsus.terrain", "terrain", name, Terrain)(*given, **more)
