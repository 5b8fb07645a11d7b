"""Links of URDF and SDF files: their shapes, the checks of their names, and reports."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, InvalidModel, join_names
from tarsus.model.candidates import Shape, ShapeKind
from tarsus.model.mechanism import Inertia
from tarsus.model.meshes import mesh_vertices
from tarsus.model.parts import MAX_LISTED, Report
from tarsus.model.poses import Pose
from tarsus.model.robot_files import RobotFiles

Array = NDArray[np.float64]
Solid = tuple[ShapeKind, tuple[float, ...]]
MAX_LINKS = 2000  # ten times those of the largest robots
SHAPES = ("collision", "visual")
BASE_JOINTS = ("root", "floating_base", "tarsus_floating_base")  # the first free name is used
PACKAGE_HINT = (  # for meshes of packages that are not found
    "name the folder that holds their packages, --asset-folder FOLDER (in Python"
    " asset_folders=['FOLDER'] or packages={'NAME': 'FOLDER'}), or put it on ROS_PACKAGE_PATH"
)
RELATIVE_HINT = "such paths are relative to the file's folder, or to the one above"


@dataclass(frozen=True, eq=False)
class Link:
    """Link of a file.

    Attributes
    ----------
    name
        Name of the link.
    inertia, shapes
        In the link's own frame.
    missing_meshes
        URIs of meshes that do not exist.
    unknown_shapes
        Tags of shapes of unknown kinds.
    """

    name: str
    inertia: Inertia
    shapes: tuple[Shape, ...] = ()
    missing_meshes: tuple[str, ...] = ()
    unknown_shapes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShapeReader:
    """Functions that read the elements of a link's shape in one format.

    Attributes
    ----------
    pose
        Reads the pose of a <collision> or <visual> in the link's frame.
    uri, scale
        Read the URI of a <mesh>, and its scale, shape (3,).
    solid
        Reads the kind and size of a primitive, as in `Shape`; None for another element.
    """

    pose: Callable[[ET.Element], Pose]
    uri: Callable[[ET.Element], str]
    scale: Callable[[ET.Element], Array]
    solid: Callable[[ET.Element], Solid | None]


def with_shapes(
    link: Link, elements: Sequence[ET.Element], reader: ShapeReader, files: RobotFiles
) -> Link:
    """Add the shapes of <collision> or <visual> elements to the link."""
    shapes: list[Shape] = []
    missing: list[str] = []
    unknown: list[str] = []
    for element in elements:
        geometry = element.find("geometry")
        solid = geometry[0] if geometry is not None and len(geometry) else None
        label, pose = element.get("name") or "", reader.pose(element)
        if solid is None:
            unknown.append(f"an empty <{element.tag}>")
        elif solid.tag == "mesh":
            uri = reader.uri(solid)
            path = files.find(uri)
            if path is None:
                missing.append(uri)
            else:
                vertices = mesh_vertices(path, files) * reader.scale(solid)
                shapes.append(Shape("mesh", (), pose, label, vertices))
        elif (primitive := reader.solid(solid)) is not None:
            shapes.append(Shape(*primitive, pose, label))
        else:
            unknown.append(f"<{solid.tag}>")
    return Link(link.name, link.inertia, tuple(shapes), tuple(missing), tuple(unknown))


def check_names(links: Sequence[str], joints: Sequence[str]) -> None:
    """Check that the names of links, and those of joints, are unique.

    Raises
    ------
    InvalidModel
        If two links or two joints have the same name.
    """
    for kind, given in (("links", links), ("joints", joints)):
        repeated = sorted({name for name in given if given.count(name) > 1})
        if repeated:
            names = " and two ".join(map(repr, repeated))
            raise InvalidModel(f"two {kind} are named {names}: rename one of them.", repeated[0])


def report_shapes(
    links: Sequence[Link],
    touching: str,
    visuals: Sequence[str],
    files: RobotFiles,
    report: Report,
) -> None:
    """Report the shapes and visuals of links that are unsupported.

    Parameters
    ----------
    links
        The links.
    touching
        Elements whose shapes collide, "collision" or "visual".
    visuals
        Missing meshes that only pictures need.
    files
        Files of the robot.
    report
        Takes the warnings.

    Raises
    ------
    InvalidFile
        If a mesh of a colliding shape is missing.
    """
    missing = [uri for link in links for uri in link.missing_meshes]
    if missing:
        names = list(dict.fromkeys(missing))
        hint = PACKAGE_HINT if any(_in_a_package(uri) for uri in names) else RELATIVE_HINT
        suggestions = [name for uri in names[:MAX_LISTED] if (name := files.suggestion(uri))]
        hint = f"did you mean {', '.join(suggestions)}?" if suggestions else f"{hint}."
        raise InvalidFile(
            f"{touching} meshes are not found: {join_names(names, MAX_LISTED)}; {hint}", names[0]
        )
    ignored = [f"{shape} of {link.name}" for link in links for shape in link.unknown_shapes]
    if ignored:
        report.warn(
            f"{touching} shapes of an unknown kind are ignored: {', '.join(ignored)}.",
            "unknown-shapes-ignored",
            next(link.name for link in links if link.unknown_shapes),
        )
    if visuals:
        report.warn(
            f"{len(visuals)} visual meshes are not found and are ignored:"
            f" {join_names(visuals, MAX_LISTED)}.",
            "visual-meshes-missing",
            visuals[0],
        )


def _in_a_package(uri: str) -> bool:
    """Return whether a URI names a package, and not only a file."""
    scheme, mark, rest = uri.partition("://")
    return bool(mark) and scheme != "file" and "/" in rest.strip("/")
