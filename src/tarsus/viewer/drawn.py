"""One shape of a picture: a mesh on a body, in one color."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from tarsus.model.mechanism import Color as Color
from tarsus.viewer.solids import Mesh, joined

GRAY: Color = (0.72, 0.74, 0.77)  # of what has no color


@dataclass(frozen=True, eq=False)
class DrawnShape:
    """A mesh in the frame of a body (its number, WORLD for what stands still), with its color."""

    body: int
    mesh: Mesh
    color: Color = GRAY


def merged(shapes: list[DrawnShape]) -> list[DrawnShape]:
    """One shape for each body and color; empty meshes are left out."""

    def key(shape: DrawnShape) -> tuple[int, Color]:
        return shape.body, shape.color

    kept = sorted((s for s in shapes if len(s.mesh.faces)), key=key)
    return [
        DrawnShape(body, joined([shape.mesh for shape in group]), color)
        for (body, color), group in groupby(kept, key=key)
    ]
