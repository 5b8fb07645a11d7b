"""What pictures show of the links of URDF and SDF files."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tarsus.model.candidates import ShapeKind
from tarsus.model.links import Written
from tarsus.model.mechanism import WORLD, Body, Color, Visual
from tarsus.model.poses import Pose


@dataclass(frozen=True, eq=False)
class DrawnLink:
    """The shapes of one link that pictures show.

    host: number of the body that carries the link, WORLD if it stands still
    pose: the link's frame in that body
    """

    name: str
    host: int
    pose: Pose
    elements: Sequence[ET.Element]
    written: Written


def visuals_of(
    links: Iterable[DrawnLink],
    bodies: Sequence[Body],
    color: Callable[[ET.Element], Color | None],
) -> tuple[Visual, ...]:
    """Read the shapes of links that pictures show; shapes of unknown kinds are skipped.

    Parameters
    ----------
    links : iterable of DrawnLink
        Links with their <visual> elements, or <collision> elements in a file without any.
    bodies : sequence of Body
        Bodies that the links belong to.
    color : callable
        Reads the color of an element, None if it has none.

    Raises
    ------
    InvalidFile
        For a size, pose or color that is not made of the right numbers.
    """
    found: list[Visual] = []
    for link in links:
        body = "" if link.host == WORLD else bodies[link.host].name
        for element in link.elements:
            shape = _shape(element, link.written)
            if shape is not None:
                pose = link.pose @ link.written.pose(element)
                found.append(Visual(body, pose.position, pose.rotation, *shape, color(element)))
    return tuple(found)


def drawn_tag(element: ET.Element) -> Literal["visual", "collision"]:
    """Return the tag of the shapes to draw: collision shapes in a file without others."""
    return "collision" if element.find("link/visual") is None else "visual"


def _shape(
    element: ET.Element, written: Written
) -> tuple[ShapeKind, tuple[float, ...], str] | None:
    """Return a shape's kind, its size or a mesh's factors, and its file; None if unknown."""
    geometry = element.find("geometry")
    solid = geometry[0] if geometry is not None and len(geometry) else None
    if solid is None:
        return None
    if solid.tag == "mesh":
        return "mesh", tuple(map(float, written.scale(solid))), written.uri(solid)
    primitive = written.solid(solid)
    return None if primitive is None else (*primitive, "")


def moved_to_world(visuals: Sequence[Visual], body: str, base: Pose) -> tuple[Visual, ...]:
    """Return the visuals with those of one body fixed to the world, where it stands at `base`."""

    def moved(visual: Visual) -> Visual:
        if visual.body != body:
            return visual
        place = base @ Pose(visual.position, visual.rotation)
        return replace(visual, body="", position=place.position, rotation=place.rotation)

    return tuple(map(moved, visuals))
