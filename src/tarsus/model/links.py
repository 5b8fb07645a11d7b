"""What the links of URDF and SDF files have in common: shapes, names, and what is told of them."""

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
from tarsus.model.parts import Report
from tarsus.model.poses import Pose
from tarsus.model.robot_files import RobotFiles

Array = NDArray[np.float64]
Solid = tuple[ShapeKind, tuple[float, ...]]
LINKS = 2000  # the largest robots have a tenth of them
SHAPES = ("collision", "visual")
BASE_JOINTS = ("root", "floating_base", "tarsus_floating_base")
WHERE = (  # what to do about meshes that are not found
    "name the folder that holds their packages, --asset-folder FOLDER (in Python"
    " asset_folders=['FOLDER'] or packages={'NAME': 'FOLDER'}), or put it on ROS_PACKAGE_PATH"
)
BESIDE = "such paths count from the file's folder, or from the one above"
MANY = 5  # meshes that a sentence names


@dataclass(frozen=True, eq=False)
class Link:
    """A <link>: inertia and shapes in its own frame; missing meshes and unknown shapes."""

    name: str
    inertia: Inertia
    shapes: tuple[Shape, ...] = ()
    missing_meshes: tuple[str, ...] = ()
    unknown_shapes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    """How a format writes a shape of a link: each reads an element.

    pose: of a <collision> or <visual>, in the link's frame
    uri, scale: of a <mesh>, what names its file and its factors (3,)
    solid: of a primitive, kind and size as of `Shape`; None of anything else
    """

    pose: Callable[[ET.Element], Pose]
    uri: Callable[[ET.Element], str]
    scale: Callable[[ET.Element], Array]
    solid: Callable[[ET.Element], Solid | None]


def with_shapes(
    link: Link, elements: Sequence[ET.Element], written: Written, files: RobotFiles
) -> Link:
    """The link with the shapes of its <collision> or <visual> elements."""
    shapes: list[Shape] = []
    missing: list[str] = []
    strange: list[str] = []
    for element in elements:
        geometry = element.find("geometry")
        solid = geometry[0] if geometry is not None and len(geometry) else None
        label, pose = element.get("name") or "", written.pose(element)
        if solid is None:
            strange.append(f"an empty <{element.tag}>")
        # a mesh, if its file is found
        elif solid.tag == "mesh":
            uri = written.uri(solid)
            path = files.find(uri)
            if path is None:
                missing.append(uri)
            else:
                vertices = mesh_vertices(path, files) * written.scale(solid)
                shapes.append(Shape("mesh", (), pose, label, vertices))
        # a primitive, or something unknown
        elif (found := written.solid(solid)) is not None:
            shapes.append(Shape(*found, pose, label))
        else:
            strange.append(f"<{solid.tag}>")
    return Link(link.name, link.inertia, tuple(shapes), tuple(missing), tuple(strange))


def check_names(links: Sequence[str], joints: Sequence[str]) -> None:
    """TarsusError for two links or two joints of one name."""
    for what, given in (("links", links), ("joints", joints)):
        twice = sorted({name for name in given if given.count(name) > 1})
        if twice:
            names = " and two ".join(map(repr, twice))
            raise InvalidModel(f"two {what} are named {names}: rename one of them.", twice[0])


def report_shapes(
    links: Sequence[Link],
    touching: str,
    visuals: Sequence[str],
    files: RobotFiles,
    report: Report,
) -> None:
    """Say which shapes of links and which pictures are left out; TarsusError for missing meshes of
    what touches.

    touching: the elements with the links' shapes, "collision" or "visual"
    visuals: meshes of pictures that are not there
    """
    # what must be there
    missing = [uri for link in links for uri in link.missing_meshes]
    if missing:
        names = list(dict.fromkeys(missing))
        where = WHERE if any(_in_a_package(uri) for uri in names) else BESIDE
        likely = [near for uri in names[:MANY] if (near := files.suggestion(uri))]
        where = f"did you mean {', '.join(likely)}?" if likely else f"{where}."
        raise InvalidFile(
            f"{touching} meshes are not found: {join_names(names, MANY)}; {where}", names[0]
        )
    # what is left out
    ignored = [f"{shape} of {link.name}" for link in links for shape in link.unknown_shapes]
    if ignored:
        report.warn(
            f"{touching} shapes of an unknown kind are ignored: {', '.join(ignored)}.",
            "unknown-shapes-ignored",
            next(link.name for link in links if link.unknown_shapes),
        )
    if visuals:
        report.warn(
            f"{len(visuals)} visual meshes are not found and are left out:"
            f" {join_names(visuals, MANY)}.",
            "visual-meshes-missing",
            visuals[0],
        )


def _in_a_package(uri: str) -> bool:
    """Whether a URI names a package, and not a file alone."""
    scheme, mark, rest = uri.partition("://")
    return bool(mark) and scheme != "file" and "/" in rest.strip("/")
