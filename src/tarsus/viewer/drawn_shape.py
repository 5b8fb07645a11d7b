"""Shape to draw: a mesh on a body, in one color."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from tarsus.model.mechanism import Color as Color
from tarsus.viewer.solids import Mesh, merge_meshes

GRAY: Color = (0.72, 0.74, 0.77)  # default color


@dataclass(frozen=True, eq=False)
class DrawnShape:
    """Mesh in the frame of a body, with its color.

    Attributes
    ----------
    body
        Number of the body; WORLD for fixed shapes.
    mesh
        Mesh in the body's frame, in m.
    color
        Red, green and blue, 0 to 1.
    """

    body: int
    mesh: Mesh
    color: Color = GRAY


def merge_shapes(shapes: list[DrawnShape]) -> list[DrawnShape]:
    """Merge the shapes into one for each body and color; drop empty meshes."""

    def key(shape: DrawnShape) -> tuple[int, Color]:
        return shape.body, shape.color

    ordered = sorted((s for s in shapes if len(s.mesh.faces)), key=key)
    return [
        DrawnShape(body, merge_meshes([shape.mesh for shape in group]), color)
        for (body, color), group in groupby(ordered, key=key)
    ]
