"""Mesh files for pictures: all triangles, in meters, with the color that the file gives them."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile
from tarsus.model.meshes import load_scene, meters
from tarsus.model.robot_files import RobotFiles
from tarsus.viewer.drawn import Color
from tarsus.viewer.solids import Mesh

CREASE = 0.6  # rad: an edge between faces that differ by more is drawn sharp


def files_of(robot: Robot, path: Path | None) -> RobotFiles:
    """The files that pictures of a robot may be read from: as it was loaded from `path`."""
    options = robot.origin.options
    return RobotFiles.of(path, options.get("packages"), options.get("asset_folders") or ())


def load(path: Path, files: RobotFiles) -> list[tuple[Mesh, Color | None]]:
    """The parts of a mesh file (.stl, .obj, .dae, ...) with their colors, 0 to 1, None without.

    TarsusError if it cannot be read.
    """
    return _load(path, path.stat().st_mtime_ns, files)


@lru_cache(maxsize=512)
def _load(path: Path, stamp: int, files: RobotFiles) -> list[tuple[Mesh, Color | None]]:
    """One version (modification time `stamp`) of a file."""
    scene = load_scene(path, files, "drawing a mesh")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # colors that overflow
            parts = scene.dump()
            colors = [_color(part) for part in parts]
    except Exception as error:  # trimesh lets its own exceptions through
        raise InvalidFile(f"cannot read the mesh {path.name}: {error}.", path.name) from error
    scale = meters(scene.units)
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
