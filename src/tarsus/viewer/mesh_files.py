"""Mesh files for pictures: all triangles, in meters, with the color that the file gives them."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError
from tarsus.model.files import needed_library
from tarsus.viewer.drawn import Color
from tarsus.viewer.solids import Mesh

CREASE = 0.6  # rad: an edge between faces that differ by more is drawn sharp


def load(path: Path) -> list[tuple[Mesh, Color | None]]:
    """The parts of a mesh file (.stl, .obj, .dae, ...) with their colors, 0 to 1, None without.

    TarsusError if it cannot be read.
    """
    return _load(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=512)
def _load(path: str, stamp: int) -> list[tuple[Mesh, Color | None]]:
    """One version (modification time `stamp`) of a file."""
    trimesh = needed_library("trimesh", "drawing a mesh", "view")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # textures that are not there, colors that overflow
            scene = trimesh.load_scene(path)
            parts = scene.dump()
            colors = [_color(part) for part in parts]
    except Exception as error:  # trimesh lets every decoder's own exceptions through
        raise TarsusError(f"the mesh {path} cannot be read: {error}.") from error
    unit = re.fullmatch(r"([\d.eE+-]+) \* meters", str(scene.units))  # COLLADA states its unit
    scale = float(unit[1]) if unit else 1.0
    return [
        (creased(scale * np.asarray(part.vertices, float), np.asarray(part.faces)), color)
        for part, color in zip(parts, colors, strict=True)
        if len(getattr(part, "faces", ()))
    ]


def _color(part: Any) -> Color | None:
    """A part's main color; None where the file gives none."""
    visual = getattr(part, "visual", None)
    if visual is None or not visual.defined:
        return None
    material = getattr(visual, "material", None)
    given = visual.main_color if material is None else material.main_color
    return color(np.asarray(given, float) / 255.0)


def color(rgba: NDArray[Any]) -> Color:
    """Red, green and blue, 0 to 1, of a color with or without opacity."""
    red, green, blue = (float(np.clip(part, 0.0, 1.0)) for part in rgba[:3])
    return red, green, blue


def creased(vertices: NDArray[Any], faces: NDArray[Any]) -> Mesh:
    """A mesh whose vertices are doubled along sharp edges: corners of faces stay one vertex where
    these lie in one patch of similar normals.
    """
    if not len(faces):
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    # corners that stand in one place, and how their faces are turned
    _, place = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)
    place = place.ravel()
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    faces, normal = faces[length > 0], normal[length > 0] / length[length > 0, None]
    if not len(faces):
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    # a corner joins those in its place whose faces are turned into the same coarse direction
    coarse = np.round(normal / CREASE).astype(int)
    key = np.column_stack([place[faces.ravel()], np.repeat(coarse, 3, axis=0)])
    _, first, index = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return Mesh(vertices[faces.ravel()[first]], index.reshape(-1, 3))
