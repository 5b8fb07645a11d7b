"""The shapes of a URDF file's links, as its `visual` elements draw them."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusWarning
from tarsus.model.files import file_bytes, resolve, xml_root
from tarsus.model.mechanism import WORLD
from tarsus.model.poses import Pose, rotation_from_rpy
from tarsus.viewer import mesh_files, solids
from tarsus.viewer.drawn import GRAY, Color, DrawnShape
from tarsus.viewer.solids import Mesh


def urdf_shapes(robot: Robot, path: Path) -> list[DrawnShape]:
    """A link's visual shapes, or its collision shapes if it has none, on the robot's bodies.

    A TarsusWarning names the mesh files that are not found.
    """
    # materials by name, and where each link is
    root = xml_root(file_bytes(path))
    materials = {
        str(material.get("name")): _rgb(material)
        for material in root.iter("material")
        if material.find("color") is not None
    }
    packages = robot.origin.options.get("packages") or {}
    missing: list[str] = []
    found: list[DrawnShape] = []
    drawn_at_all = root.find("link/visual") is not None
    for link in root.findall("link"):
        place = _place(robot, root, str(link.get("name")))
        # its visual shapes; in a file without any, its collision shapes
        for element in link.findall("visual" if drawn_at_all else "collision"):
            geometry = element.find("geometry")
            if place is None or geometry is None or not len(geometry):
                continue
            body, pose = place
            material = element.find("material")
            given = None if material is None else _rgb(material)
            given = given or materials.get("" if material is None else str(material.get("name")))
            for mesh, own in _meshes(geometry[0], path.parent, packages, missing):
                here = mesh.at(pose @ _origin(element))
                found.append(DrawnShape(body, here, given or own or GRAY))
    if missing:
        listed = ", ".join(list(dict.fromkeys(missing))[:3])
        warnings.warn(
            f"{len(set(missing))} meshes are not found and not drawn: {listed}.",
            TarsusWarning,
            stacklevel=2,
        )
    return found


def _body_of(robot: Robot, link: str) -> tuple[int, Pose] | None:
    """The body that a link belongs to, and where in it."""
    if link in robot.body_names:
        return robot.body_names.index(link), Pose()
    for frame in robot.frames:
        if frame.name == link:
            return frame.body, Pose(frame.position, frame.rotation)
    return None


def _place(robot: Robot, root: ET.Element, link: str) -> tuple[int, Pose] | None:
    """The body of a link and the link's frame in it; of links that stand still, in the world."""
    found = _body_of(robot, link)
    if found is not None:
        return found
    # what is fixed to the world is in no list: up the fixed joints to the root
    above = {str(_name_of(j, "child")): j for j in root.findall("joint")}
    pose = Pose()
    while link in above:
        joint = above[link]
        if joint.get("type") != "fixed":
            return None
        pose, link = _origin(joint) @ pose, str(_name_of(joint, "parent"))
    return WORLD, pose


def _name_of(joint: ET.Element, end: str) -> str | None:
    found = joint.find(end)
    return None if found is None else found.get("link")


def _meshes(
    solid: ET.Element, folder: Path, packages: dict[str, str | Path], missing: list[str]
) -> list[tuple[Mesh, Color | None]]:
    """The meshes of one geometry, with colors of their own; `missing` learns files not found."""
    if solid.tag == "mesh":
        uri = solid.get("filename", "")
        path = resolve(uri, folder, packages)
        if path is None:
            missing.append(uri)
            return []
        scale = _floats(solid.get("scale", "1 1 1"))
        return [(mesh.scaled(scale), color) for mesh, color in mesh_files.load(path)]
    if solid.tag == "box":
        return [(solids.box(_floats(solid.get("size", "")) / 2), None)]
    radius, half = float(solid.get("radius", 0)), float(solid.get("length", 0)) / 2
    made = {
        "sphere": lambda: solids.sphere(radius),
        "cylinder": lambda: solids.cylinder(radius, half),
        "capsule": lambda: solids.capsule(radius, half),
    }
    return [(made[solid.tag](), None)] if solid.tag in made else []


def _origin(element: ET.Element) -> Pose:
    origin = element.find("origin")
    if origin is None:
        return Pose()
    rpy = _floats(origin.get("rpy", "0 0 0"))
    return Pose(_floats(origin.get("xyz", "0 0 0")), rotation_from_rpy(rpy))


def _rgb(material: ET.Element) -> Color | None:
    given = material.find("color")
    return None if given is None else mesh_files.color(_floats(given.get("rgba", "0.7 0.7 0.7 1")))


def _floats(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])
