"""Visual shapes of the links of URDF and SDF files, for pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tarsus.model.candidates import ShapeKind
from tarsus.model.links import ShapeReader
from tarsus.model.mechanism import WORLD, Body, Color, Visual
from tarsus.model.poses import Pose


@dataclass(frozen=True, eq=False)
class DrawnLink:
    """Link with the elements of its visual shapes.

    Attributes
    ----------
    name
        Name of the link.
    host
        Number of the body that the link belongs to, WORLD if it is fixed.
    pose
        Frame of the link in that body.
    elements
        Elements of the shapes.
    reader
        Reader of the shapes.
    """

    name: str
    host: int
    pose: Pose
    elements: Sequence[ET.Element]
    reader: ShapeReader


def create_visuals(
    links: Iterable[DrawnLink],
    bodies: Sequence[Body],
    color: Callable[[ET.Element], Color | None],
) -> tuple[Visual, ...]:
    """Read the visual shapes of links; shapes of unknown kinds are skipped.

    Parameters
    ----------
    links
        Links with their <visual> elements, or <collision> elements in a file without any.
    bodies
        Bodies that the links belong to.
    color
        Function that reads the color of an element, None if it has none.

    Raises
    ------
    InvalidFile
        For a size, pose or color that is not made of the right numbers.
    """
    visuals: list[Visual] = []
    for link in links:
        body = "" if link.host == WORLD else bodies[link.host].name
        for element in link.elements:
            shape = _read_shape(element, link.reader)
            if shape is not None:
                pose = link.pose @ link.reader.pose(element)
                visuals.append(Visual(body, pose.position, pose.rotation, *shape, color(element)))
    return tuple(visuals)


def drawn_tag(element: ET.Element) -> Literal["visual", "collision"]:
    """Choose the tag of the shapes to draw: collision shapes in a file without visuals."""
    return "collision" if element.find("link/visual") is None else "visual"


def _read_shape(
    element: ET.Element, reader: ShapeReader
) -> tuple[ShapeKind, tuple[float, ...], str] | None:
    """Read a shape's kind, its size or a mesh's scale, and the mesh's URI; None if unknown."""
    geometry = element.find("geometry")
    solid = geometry[0] if geometry is not None and len(geometry) else None
    if solid is None:
        return None
    if solid.tag == "mesh":
        return "mesh", tuple(map(float, reader.scale(solid))), reader.uri(solid)
    primitive = reader.solid(solid)
    return None if primitive is None else (*primitive, "")


def move_to_world(visuals: Sequence[Visual], body: str, base: Pose) -> tuple[Visual, ...]:
    """Move the visuals of one body to the world, where it stands at `base`."""

    def move_to_base(visual: Visual) -> Visual:
        if visual.body != body:
            return visual
        pose = base @ Pose(visual.position, visual.rotation)
        return replace(visual, body="", position=pose.position, rotation=pose.rotation)

    return tuple(map(move_to_base, visuals))
