"""Simplified shapes with few triangles, for pages that show hundreds of robots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.viewer.drawn_shape import DrawnShape
from tarsus.viewer.mesh_files import split_creases
from tarsus.viewer.solids import Mesh

Array = NDArray[Any]
MAX_FACES = 2_000_000  # in all worlds; a small GPU draws so many 60 times per second
MIN_SHAPE_FACES, MAX_SHAPE_FACES = (
    24,
    400,
)  # of a simplified shape: still round; more is not visible
GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))  # rad


def simplify_shapes(shapes: Sequence[DrawnShape], worlds: int) -> Sequence[DrawnShape]:
    """Replace shapes by coarse hulls if `worlds` copies have too many faces to draw.

    A shape that has fewer faces than its hull would have is kept.
    """
    total = sum(len(shape.mesh.faces) for shape in shapes)
    if total * worlds <= MAX_FACES:
        return shapes
    limit = int(np.clip(MAX_FACES / worlds / len(shapes), MIN_SHAPE_FACES, MAX_SHAPE_FACES))
    return [
        shape if len(shape.mesh.faces) <= limit else replace(shape, mesh=hull(shape.mesh, limit))
        for shape in shapes
    ]


def hull(mesh: Mesh, faces: int) -> Mesh:
    """Compute a convex mesh of at most `faces` faces whose corners are vertices of `mesh`.

    A flat mesh is returned unchanged.
    """
    from scipy.spatial import ConvexHull, QhullError

    # the vertices farthest out in directions that are spread over a sphere
    directions = _directions(faces // 2 + 2)
    corners = mesh.vertices[np.unique(np.argmax(mesh.vertices @ directions.T, axis=0))]
    try:
        convex = ConvexHull(corners)
    except QhullError:
        return mesh
    # orient the triangles outward, which SciPy does not do
    triangles = convex.simplices
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), convex.equations[:, :3]) < 0
    return split_creases(corners, np.where(inward[:, None], triangles[:, ::-1], triangles))


def _directions(count: int) -> Array:
    """Compute evenly spread unit vectors (count, 3), along a spiral from pole to pole."""
    k = np.arange(count)
    height = 1.0 - 2.0 * (k + 0.5) / count
    radius, angle = np.sqrt(1.0 - height**2), GOLDEN_ANGLE * k
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
