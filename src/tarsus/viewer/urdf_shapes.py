"""The shapes of a URDF file's links, as its `visual` elements draw them."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusWarning, several
from tarsus.model.files import xml_root
from tarsus.model.mechanism import WORLD
from tarsus.model.poses import Pose
from tarsus.model.robot_files import RobotFiles, file_bytes
from tarsus.model.urdf_elements import numbers, origin
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
    files = mesh_files.files_of(robot, path)
    missing: list[str] = []
    found: list[DrawnShape] = []
    drawn_at_all = root.find("link/visual") is not None
    for link in root.findall("link"):
        name = str(link.get("name"))
        place, where = _place(robot, root, name), f"link {name!r}"
        # its visual shapes; in a file without any, its collision shapes
        for element in link.findall("visual" if drawn_at_all else "collision"):
            geometry = element.find("geometry")
            if place is None or geometry is None or not len(geometry):
                continue
            body, pose = place
            material = element.find("material")
            given = None if material is None else _rgb(material)
            given = given or materials.get("" if material is None else str(material.get("name")))
            for mesh, own in _meshes(geometry[0], where, files, missing):
                here = mesh.at(pose @ origin(element, where))
                found.append(DrawnShape(body, here, given or own or GRAY))
    if missing:
        listed = several(list(dict.fromkeys(missing)), 3)
        warnings.warn(
            TarsusWarning(
                f"{len(set(missing))} meshes were not found and are not drawn: {listed}.",
                "mesh-not-found",
                missing[0],
            ),
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
        where = f"joint {joint.get('name')!r}"
        pose, link = origin(joint, where) @ pose, str(_name_of(joint, "parent"))
    return WORLD, pose


def _name_of(joint: ET.Element, end: str) -> str | None:
    found = joint.find(end)
    return None if found is None else found.get("link")


def _meshes(
    solid: ET.Element,
    where: str,
    files: RobotFiles,
    missing: list[str],
) -> list[tuple[Mesh, Color | None]]:
    """The meshes of one geometry, with colors of their own; `missing` learns files not found."""
    # a file
    if solid.tag == "mesh":
        uri = solid.get("filename", "")
        path = files.find(uri)
        if path is None:
            missing.append(uri)
            return []
        scale = numbers(solid, "scale", "1 1 1", 3, where)
        return [(mesh.scaled(scale), color) for mesh, color in mesh_files.load(path, files)]
    # a solid
    if solid.tag == "box":
        return [(solids.box(numbers(solid, "size", None, 3, where) / 2), None)]

    def size(key: str) -> float:
        return float(numbers(solid, key, None, 1, where)[0])

    made = {
        "sphere": lambda: solids.sphere(size("radius")),
        "cylinder": lambda: solids.cylinder(size("radius"), size("length") / 2),
        "capsule": lambda: solids.capsule(size("radius"), size("length") / 2),
    }
    return [(made[solid.tag](), None)] if solid.tag in made else []


def _rgb(material: ET.Element) -> Color | None:
    given = material.find("color")
    if given is None:
        return None
    where = f"material {str(material.get('name'))!r}"
    return mesh_files.color(numbers(given, "rgba", "0.7 0.7 0.7 1", 4, where))
