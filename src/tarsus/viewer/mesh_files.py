"""Mesh files for rendering: all triangles in meters, with the colors of the file."""

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
from tarsus.viewer.drawn_shape import Color
from tarsus.viewer.solids import Mesh

CREASE_ANGLE = 0.6  # rad between the normals of two faces, above which their edge looks sharp


def files_of(robot: Robot, path: Path | None) -> RobotFiles:
    """Find the files from which the robot's visual meshes may be read, as when it was loaded."""
    options = robot.origin.options
    return RobotFiles.of(path, options.get("packages"), options.get("asset_folders") or ())


def load(path: Path, files: RobotFiles) -> list[tuple[Mesh, Color | None]]:
    """Load the parts of a mesh file (.stl, .obj, .dae, ...) with their colors, 0 to 1, or None.

    Raises
    ------
    InvalidFile
        If the file cannot be read.
    """
    return _load(path, path.stat().st_mtime_ns, files)


@lru_cache(maxsize=512)
def _load(path: Path, modified: int, files: RobotFiles) -> list[tuple[Mesh, Color | None]]:
    """Load one version of a file, identified by its modification time."""
    scene = load_scene(path, files, "drawing a mesh")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # overflow of colors
            parts = scene.dump()
            colors = [_find_color(part) for part in parts]
    except Exception as error:  # trimesh raises exceptions of many kinds
        raise InvalidFile(f"cannot read the mesh {path.name}: {error}.", path.name) from error
    scale = meters(scene.units)
    return [
        (split_creases(scale * np.asarray(part.vertices, float), np.asarray(part.faces)), color)
        for part, color in zip(parts, colors, strict=True)
        if len(getattr(part, "faces", ()))
    ]


def _find_color(part: Any) -> Color | None:
    """Find the main color of a part; None if the file has none."""
    visual = getattr(part, "visual", None)
    if visual is None or not visual.defined:
        return None
    material = getattr(visual, "material", None)
    rgba = visual.main_color if material is None else material.main_color
    return color(np.asarray(rgba, float) / 255.0)


def color(rgba: NDArray[Any]) -> Color:
    """Clip red, green and blue to 0 to 1, and drop the opacity."""
    red, green, blue = (float(np.clip(part, 0.0, 1.0)) for part in rgba[:3])
    return red, green, blue


def split_creases(vertices: NDArray[Any], faces: NDArray[Any]) -> Mesh:
    """Duplicate the vertices of a mesh along sharp edges, so that these are shaded sharp.

    Face corners at the same position share a vertex only if their face normals are similar.
    """
    if not len(faces):
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    # positions of the corners, and normals of the faces
    _, position = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)
    position = position.ravel()
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    faces, normal = faces[length > 0], normal[length > 0] / length[length > 0, None]
    if not len(faces):
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    # merge corners at the same position whose normals round to the same coarse direction
    coarse = np.round(normal / CREASE_ANGLE).astype(int)
    key = np.column_stack([position[faces.ravel()], np.repeat(coarse, 3, axis=0)])
    _, first, index = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return Mesh(vertices[faces.ravel()[first]], index.reshape(-1, 3))
