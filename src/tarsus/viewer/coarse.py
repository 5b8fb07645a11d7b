"""Shapes of few triangles, for robots of which a page shows hundreds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.viewer.drawn import DrawnShape
from tarsus.viewer.mesh_files import creased
from tarsus.viewer.solids import Mesh

Array = NDArray[Any]
MOST_FACES = 2_000_000  # of all worlds: a small graphics processor draws them 60 times a second
FEWEST, FINEST = 24, 400  # faces of one shape: a bead still looks like one; nobody sees more
GOLDEN = np.pi * (3.0 - np.sqrt(5.0))  # rad


def affordable(shapes: Sequence[DrawnShape], worlds: int) -> Sequence[DrawnShape]:
    """The shapes, if so many worlds of them are drawn quickly; else hulls of each of them.

    A shape of fewer faces than its hull would have stays.
    """
    total = sum(len(shape.mesh.faces) for shape in shapes)
    if total * worlds <= MOST_FACES:
        return shapes
    each = int(np.clip(MOST_FACES / worlds / len(shapes), FEWEST, FINEST))
    return [
        shape if len(shape.mesh.faces) <= each else replace(shape, mesh=hull(shape.mesh, each))
        for shape in shapes
    ]


def hull(mesh: Mesh, faces: int) -> Mesh:
    """A convex mesh of at most so many faces whose corners are vertices of the mesh; the mesh
    itself if it is flat.
    """
    from scipy.spatial import ConvexHull, QhullError

    # the vertices that lie farthest out in directions spread over a sphere
    ways = _directions(faces // 2 + 2)
    corners = mesh.vertices[np.unique(np.argmax(mesh.vertices @ ways.T, axis=0))]
    try:
        found = ConvexHull(corners)
    except QhullError:
        return mesh
    # SciPy does not turn its triangles outwards
    triangles = found.simplices
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    inside = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    return creased(corners, np.where(inside[:, None], triangles[:, ::-1], triangles))


def _directions(count: int) -> Array:
    """Unit vectors (count, 3) spread evenly, along a spiral from pole to pole."""
    k = np.arange(count)
    height = 1.0 - 2.0 * (k + 0.5) / count
    radius, angle = np.sqrt(1.0 - height**2), GOLDEN * k
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
