"""Fixed geoms of an MJCF file, as MuJoCo compiles them, and their conversion to a terrain."""

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
from tarsus.model.files import add_file_to_errors, check_file_exists, import_library
from tarsus.model.mjcf_compile import compile_model
from tarsus.model.mjcf_contacts import find_colliding_geoms
from tarsus.model.mjcf_source import Source
from tarsus.terrain.base import Terrain

PLANE, FIELD, BOX = 0, 1, 6  # mjtGeom
MAX_BOXES = 12  # more boxes are cheaper as a height field
MAX_HEIGHTS = 1_000_000  # of a height field
MIN_FLOOR_REACH = 50.0  # m from the origin: boxes that reach this far are unbounded floors
ROTATION_TOLERANCE = 1e-9  # elements of the rotation matrix of an upright geom
LEVEL_TOLERANCE = 1e-9  # m: boxes that rise less above the floor are ignored
EDGE_RADIUS, CORNER_RADIUS = 0.005, 0.02  # m, rounding of `boxes` if they are high enough
ROUNDING_FRACTION = 0.8  # of a box's height above the floor: limit of both radii together
RAY_CLEARANCE = 1.0  # m from the highest shape up to the start of the rays
VISIBLE, HIDDEN = 0, 1  # groups of geoms
MAX_LISTED = 5  # names listed in a message
LOG = logging.getLogger(__name__)

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FixedShapes:
    """Fixed geoms of one MJCF file."""

    model: Any
    """MuJoCo's `MjModel`."""
    data: Any
    """MuJoCo's `MjData`, with moving bodies where the file puts them."""
    geoms: list[int]
    """Indices of the geoms that are fixed and collide."""
    name: str
    """Name of the file."""

    @staticmethod
    def read(path: str) -> FixedShapes:
        """Read the shapes of a file; raise InvalidFile if it has none or cannot be read."""
        file = check_file_exists(path)
        return _read(file, file.stat().st_mtime_ns)

    @property
    def sha256(self) -> str:
        """SHA-256 of the types, sizes, positions and rotations of all shapes."""
        digest, m, geoms = hashlib.sha256(), self.model, self.geoms
        for values in (m.geom_type[geoms], m.geom_size[geoms], self.data.geom_xpos[geoms]):
            digest.update(np.ascontiguousarray(values).tobytes())
        for values in (self.data.geom_xmat[geoms], m.hfield_data, m.hfield_size, m.mesh_vert):
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def ground(self, cell: float) -> Terrain:
        """Convert the shapes to a level floor, upright boxes, or a height field.

        Parameters
        ----------
        cell
            Distance between two heights of a height field, m.
        """
        wide = list(filter(self._is_wide, self.geoms))
        if wide:
            names = join_names([self._geom_name(geom) for geom in wide], MAX_LISTED)
            LOG.warning("%s: treating %s as an unbounded floor.", self.name, names)
        level, shapes = self._floor_height(wide), self._other_shapes(wide)
        if not shapes:
            assert level is not None
            return _create_level_ground(level)
        few = len(shapes) <= MAX_BOXES
        if level is not None and few and all(map(self._is_upright_box, shapes)):
            return self._boxes(shapes, level)
        single_field = len(shapes) == 1 and self.model.geom_type[shapes[0]] == FIELD
        if single_field and self._is_unrotated(*shapes):
            return self._height_field(shapes[0], level)
        return self._sample_from_above(shapes, level, cell)

    def _floor_height(self, wide_boxes: list[int]) -> float | None:
        """Find the height of the highest plane or wide box in m; None without either.

        Raises
        ------
        Unsupported
            If a plane is inclined.
        """
        planes = [geom for geom in self.geoms if self.model.geom_type[geom] == PLANE]
        tilts = {g: abs(self._rotation(g)[2, 2] - 1) for g in planes}
        inclined = [self._geom_name(g) for g in planes if tilts[g] > ROTATION_TOLERANCE]
        if inclined:
            raise Unsupported(
                f"{self.name}: inclined planes are not supported"
                f" ({join_names(inclined, MAX_LISTED)}): use boxes, or choose the terrain 'slope'.",
                inclined[0],
            )
        tops = [float(self.data.geom_xpos[g][2]) for g in planes]
        tops += [float(self.data.geom_xpos[g][2] + self.model.geom_size[g][2]) for g in wide_boxes]
        return max(tops, default=None)

    def _other_shapes(self, wide_boxes: list[int]) -> list[int]:
        known = set(wide_boxes)
        return [g for g in self.geoms if self.model.geom_type[g] != PLANE and g not in known]

    def _is_wide(self, geom: int) -> bool:
        """Return whether a geom is a box whose top reaches MIN_FLOOR_REACH to all sides."""
        if not self._is_upright_box(geom):
            return False
        middle = self._rotation(geom)[:2, :2].T @ self.data.geom_xpos[geom][:2]
        return bool((self.model.geom_size[geom][:2] - np.abs(middle) >= MIN_FLOOR_REACH).all())

    def _geom_name(self, geom: int) -> str:
        return self.model.geom(geom).name or f"geom {geom}"

    def _rotation(self, geom: int) -> Array:
        return np.array(self.data.geom_xmat[geom]).reshape(3, 3)

    def _is_unrotated(self, geom: int) -> bool:
        return bool(np.abs(self._rotation(geom) - np.eye(3)).max() < ROTATION_TOLERANCE)

    def _is_upright_box(self, geom: int) -> bool:
        upright = abs(abs(self._rotation(geom)[2, 2]) - 1) < ROTATION_TOLERANCE
        return upright and self.model.geom_type[geom] == BOX

    def _boxes(self, shapes: list[int], level: float) -> Terrain:
        """Build boxes that extend down to a level floor; boxes below the floor are ignored."""
        half = np.array(self.model.geom_size[shapes])
        center = np.array(self.data.geom_xpos[shapes])
        top = center[:, 2] + half[:, 2]
        visible = top > level + LEVEL_TOLERANCE
        if not visible.any():
            return _create_level_ground(level)
        half, center, top = half[visible], center[visible], top[visible]
        rotations = [
            self._rotation(geom) for geom, above in zip(shapes, visible, strict=True) if above
        ]
        bottom = np.minimum(center[:, 2] - half[:, 2], level)
        half[:, 2], center[:, 2] = (top - bottom) / 2, (top + bottom) / 2
        available = ROUNDING_FRACTION * (top - level).min()
        edge = min(EDGE_RADIUS, available / 5, half[:, :2].min())
        return _create_terrain(
            "boxes",
            position=center,
            half_sizes=half,
            yaw=np.array([np.arctan2(R[1, 0], R[0, 0]) for R in rotations]),
            ground=level,
            edge_radius=edge,
            corner_radius=min(CORNER_RADIUS, available - edge),
        )

    def _height_field(self, geom: int, level: float | None) -> Terrain:
        """Copy a height field of the file, raised to the floor where that is higher."""
        m, number = self.model, int(self.model.geom_dataid[geom])
        rows, columns = int(m.hfield_nrow[number]), int(m.hfield_ncol[number])
        first, (x, y, scale, _) = int(m.hfield_adr[number]), m.hfield_size[number]
        center = self.data.geom_xpos[geom]
        values = np.array(m.hfield_data[first : first + rows * columns], dtype=float)
        heights = center[2] + scale * values.reshape(rows, columns)
        return _create_terrain(
            "heightfield",
            heights if level is None else np.maximum(heights, level),
            (2 * x / (columns - 1), 2 * y / (rows - 1)),
            origin=center[:2] - [x, y],
        )

    def _sample_from_above(self, shapes: list[int], level: float | None, cell: float) -> Terrain:
        """Sample heights at multiples of `cell`, up to one cell beyond all shapes."""
        mujoco = import_library("mujoco", "reading MJCF")
        low, high = self._bounds(shapes)
        first, last = np.floor(low[:2] / cell) - 1, np.ceil(high[:2] / cell) + 1
        columns, rows = (int(n) + 1 for n in last - first)
        if rows * columns > MAX_HEIGHTS:
            min_cell = cell * np.sqrt(rows * columns / MAX_HEIGHTS)
            raise InvalidValue(
                f"{self.name}: a cell of {cell:g} m gives {rows * columns} heights, more than"
                f" {MAX_HEIGHTS}: set cell to {1.01 * min_cell:.2g} m or more.",
                "cell",
            )
        # vertical rays, which hit only the shapes and the highest plane
        m, d, top = self.model, self.data, high[2] + RAY_CLEARANCE
        down, hit = np.array([0.0, 0.0, -1.0]), np.zeros(1, dtype=np.int32)
        groups = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
        x, y = (cell * (first[k] + np.arange(n)) for k, n in enumerate((columns, rows)))
        distances = [
            mujoco.mj_ray(m, d, np.array([a, b, top]), down, groups, True, -1, hit)
            for b in y
            for a in x
        ]
        distance = np.array(distances).reshape(rows, columns)
        missed = distance < 0
        floor = (top - distance[~missed]).min() if level is None else level
        heights = np.where(missed, floor, top - distance)
        if level is None and missed.any():
            LOG.warning(
                "%s has no level floor: the ground around its shapes is as high as their lowest"
                " point, %g m. Add a plane to the file to set its height.",
                self.name,
                floor,
            )
        return _create_terrain("heightfield", heights, cell, origin=cell * first)

    def _bounds(self, shapes: list[int]) -> tuple[Array, Array]:
        """Compute the lower and upper corner (3,) of the bounding box of shapes, m."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for geom in shapes:
            middle, half = np.split(np.array(self.model.geom_aabb[geom]), 2)
            R = self._rotation(geom)
            center, reach = self.data.geom_xpos[geom] + R @ middle, np.abs(R) @ half
            low, high = np.minimum(low, center - reach), np.maximum(high, center + reach)
        return low, high


@lru_cache(maxsize=8)
def _read(file: Path, stamp: int) -> FixedShapes:
    """Read the shapes of a file; `stamp`, its modification time, is part of the cache key."""
    mujoco = import_library("mujoco", "reading MJCF")
    with add_file_to_errors(file.name, file):
        model = compile_model(Source.of("", file))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    geoms = list(_find_fixed(model))
    if not geoms:
        raise InvalidFile(f"{file.name}: no geom that collides is fixed to the world.", file)
    # rays hit only these geoms, also transparent ones, and planes are unbounded
    model.geom_group[:] = HIDDEN
    model.geom_group[geoms] = VISIBLE
    model.geom_rgba[:, 3], model.geom_matid[:] = 1.0, -1
    model.geom_size[model.geom_type == PLANE, :2] = 0.0
    return FixedShapes(model, data, geoms, file.name)


def _find_fixed(model: Any) -> Iterator[int]:
    for geom in find_colliding_geoms(model):
        if model.body_weldid[model.geom_bodyid[geom]] == 0:
            yield geom


def _create_level_ground(level: float) -> Terrain:
    """Create level ground at a height, m."""
    return (
        _create_terrain("heightfield", np.full((2, 2), level))
        if level
        else _create_terrain("plane")
    )


def _create_terrain(name: str, *args: Any, **kwargs: Any) -> Terrain:
    """Create a terrain by name."""
    return registry.member_class("tarsus.terrain", "terrain", name, Terrain)(*args, **kwargs)
