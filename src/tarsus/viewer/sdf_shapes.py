"""The shapes of an SDF file's links, as its `visual` elements draw them."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from tarsus.dynamics.poses import poses
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusWarning, several
from tarsus.model.files import xml_root
from tarsus.model.mechanism import WORLD
from tarsus.model.poses import Pose
from tarsus.model.robot_files import RobotFiles, file_bytes
from tarsus.model.sdf import DRAWN
from tarsus.model.sdf_elements import PRIMITIVES, size_of
from tarsus.model.sdf_frames import WORLD_LINK, frames_of, inverse, name_of, pose_of
from tarsus.model.sdf_model import model_of
from tarsus.model.urdf_elements import parsed
from tarsus.viewer import mesh_files, solids
from tarsus.viewer.drawn import GRAY, Color, DrawnShape
from tarsus.viewer.solids import Mesh

SOME = 3  # names that a warning shows


def sdf_shapes(robot: Robot, path: Path) -> list[DrawnShape]:
    """A link's visual shapes, or in a file without any its collision shapes, on the robot's bodies.

    A TarsusWarning names the mesh files that are not found.
    """
    # the file and we place the bodies at the same coordinates
    model, _, _ = model_of(xml_root(file_bytes(path)))
    frames = frames_of(model)
    world = inverse(frames[WORLD_LINK])
    positions, rotations = poses(robot, robot.keyframes[DRAWN])
    ours = {k: Pose(positions[0, k], rotations[0, k]) for k in range(len(robot.bodies))}
    hosts = {frame.name: frame.body for frame in robot.frames}
    hosts |= {name: number for number, name in enumerate(robot.body_names)}
    # what is seen
    files = mesh_files.files_of(robot, path)
    missing: list[str] = []
    found: list[DrawnShape] = []
    tag = "visual" if model.find("link/visual") is not None else "collision"
    for link in model.findall("link"):
        name = name_of(link)
        body = hosts.get(name, WORLD)
        back = inverse(ours.get(body, Pose())) @ world
        for element in link.findall(tag):
            here = back @ pose_of(element, f"link {name!r}", frames, name)
            for mesh, own in _meshes(element, name, files, missing):
                found.append(DrawnShape(body, mesh.at(here), _color(element) or own or GRAY))
    if missing:
        listed = several(list(dict.fromkeys(missing)), SOME)
        warnings.warn(
            TarsusWarning(
                f"{len(set(missing))} meshes were not found and are not drawn: {listed}.",
                "mesh-not-found",
                missing[0],
            ),
            stacklevel=2,
        )
    return found


def _meshes(
    element: ET.Element,
    link: str,
    files: RobotFiles,
    missing: list[str],
) -> list[tuple[Mesh, Color | None]]:
    """The meshes of one shape, with colors of their own; `missing` learns files not found."""
    geometry = element.find("geometry")
    solid = geometry[0] if geometry is not None and len(geometry) else None
    if solid is None:
        return []
    # a file
    if solid.tag == "mesh":
        uri = solid.findtext("uri", "").strip()
        path = files.find(uri)
        if path is None:
            missing.append(uri)
            return []
        scale = parsed(solid.findtext("scale", "1 1 1"), 3, f"link {link!r}: <scale>")
        return [(mesh.scaled(scale), color) for mesh, color in mesh_files.load(path, files)]
    # a solid
    if solid.tag not in PRIMITIVES:
        return []
    size = size_of(solid, f"link {link!r}")
    made = {
        "box": lambda: solids.box(np.array(size)),
        "sphere": lambda: solids.sphere(*size),
        "cylinder": lambda: solids.cylinder(*size),
        "capsule": lambda: solids.capsule(*size),
        "ellipsoid": lambda: solids.sphere(1.0).scaled(np.array(size)),
    }
    return [(made[solid.tag](), None)]


def _color(element: ET.Element) -> Color | None:
    """The diffuse, else the ambient color of its material."""
    for key in ("diffuse", "ambient"):
        text = element.findtext(f"material/{key}")
        if text is not None:
            numbers = text.split()
            return mesh_files.color(parsed(" ".join([*numbers, "1"][:4]), 4, f"<{key}>"))
    return None
