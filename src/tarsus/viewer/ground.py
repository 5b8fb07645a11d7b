"""Meshes of a run's terrain: a height grid or boxes, with other materials in color."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError, TarsusWarning, UntrustedFile
from tarsus.model.mechanism import WORLD
from tarsus.model.poses import Pose, rotation_about
from tarsus.simulation.ground_samples import sample_ground
from tarsus.simulation.recording.part_serialization import part_from_attributes
from tarsus.simulation.recording.provenance import parse_attributes
from tarsus.terrain.base import Terrain
from tarsus.terrain.boxes import NUMBERS, Boxes
from tarsus.terrain.plane import Plane
from tarsus.viewer import solids
from tarsus.viewer.drawn_shape import Color, DrawnShape
from tarsus.viewer.solids import Mesh

Array = NDArray[np.float64]
SOIL: Color = (0.80, 0.79, 0.76)
BLOCK: Color = (0.64, 0.60, 0.54)
SLIPPERY: Color = (0.62, 0.82, 0.93)
ROUGH: Color = (0.70, 0.58, 0.45)
MARGIN = 2.5  # m of ground drawn around the robot's path
CELL_SIZE, MAX_CELLS = 0.025, 320  # m; number of grid points along a side
BOX_DEPTH = 1.0  # m, drawn below the top of a box
MATERIAL_OFFSET = 1e-3  # m, by which another material is drawn above the ground


def level_height(terrain: Terrain) -> float | None:
    """Find the height in m of ground that is an infinite level plane; None for other ground."""
    if isinstance(terrain, Boxes):
        return float(np.ravel(terrain.ground)[0])
    sides = [np.array([[x, y]]) for x in (-7.3, 0.1, 9.7) for y in (-8.1, 0.3, 6.9)]
    heights, _ = sample_ground(terrain, np.concatenate(sides))
    if isinstance(terrain, Plane) or "Patch" in type(terrain).__name__:
        return float(heights[0]) if np.ptp(heights) < 1e-9 else None
    return None


def ground_shapes(terrain: Terrain, path: Array) -> list[DrawnShape]:
    """Create the shapes of the ground beyond a level plane, around a path (n, 2) in m."""
    if isinstance(terrain, Plane):
        return []
    if isinstance(terrain, Boxes):
        return [DrawnShape(WORLD, mesh, BLOCK) for mesh in _collect_boxes(terrain)]
    # a grid around the path
    low, high = path.min(0) - MARGIN, path.max(0) + MARGIN
    count = np.clip(np.ceil((high - low) / CELL_SIZE).astype(int) + 1, 2, MAX_CELLS)
    x, y = (np.linspace(low[k], high[k], count[k]) for k in range(2))
    across, ahead = np.meshgrid(y, x)
    heights, friction = sample_ground(terrain, np.column_stack([ahead.ravel(), across.ravel()]))
    vertices = np.column_stack([ahead.ravel(), across.ravel(), heights])
    # two triangles for each cell; cells of other materials are drawn again, in color
    corner = (np.arange(count[0] - 1)[:, None] * count[1] + np.arange(count[1] - 1)).ravel()
    right = corner + count[1]
    quads = np.stack([corner, right, right + 1, corner, right + 1, corner + 1], axis=1)
    shapes = [] if level_height(terrain) is not None else [_create_cells(vertices, quads, SOIL)]
    factor = friction[corner]
    for selected, color in ((factor < 0.95, SLIPPERY), (factor > 1.05, ROUGH)):
        if selected.any():
            raised = vertices + np.array([0.0, 0.0, MATERIAL_OFFSET])
            shapes.append(_create_cells(raised, quads[selected], color))
    return shapes


def _create_cells(vertices: Array, quads: NDArray[np.int64], color: Color) -> DrawnShape:
    """Create the shape of some cells of a grid, without unused vertices."""
    used, faces = np.unique(quads.reshape(-1, 3), return_inverse=True)
    return DrawnShape(WORLD, Mesh(vertices[used], faces.reshape(-1, 3)), color)


def _collect_boxes(terrain: Boxes) -> list[Mesh]:
    """Collect the boxes of the first world."""
    meshes = []
    for box in terrain.parameters()["boxes"].reshape(-1, NUMBERS)[: _count(terrain)]:
        cosine, sine, x, y, length, width, top = box
        rotation = rotation_about([0.0, 0.0, 1.0], float(np.arctan2(sine, cosine)))
        pose = Pose(np.array([x, y, top - BOX_DEPTH / 2]), rotation)
        meshes.append(solids.box((length, width, BOX_DEPTH / 2)).at(pose))
    return meshes


def _count(terrain: Boxes) -> int:
    return int(np.shape(terrain.position)[-2])


def terrain_of(attributes: Mapping[str, Any]) -> Terrain:
    """Restore the terrain of a log; on failure, warn and return level ground."""
    name = attributes.get("terrain", "")
    if name in ("", "plane"):
        return Plane()
    try:
        return part_from_attributes("terrain", parse_attributes(attributes))
    except UntrustedFile as error:
        reason = str(error)
    except TarsusError:
        reason = f"the log lacks part of its terrain {name!r}."
    text = f"{reason.rstrip('.')}; level ground is drawn instead."
    warnings.warn(TarsusWarning(text, "terrain-not-drawn", name), stacklevel=2)
    return Plane()
