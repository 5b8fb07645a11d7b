"""Elements of a URDF file as records, with checked numbers and the vertices of meshes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, InvalidModel, quote
from tarsus.model.check import LARGEST
from tarsus.model.links import Link, ShapeReader, Solid, with_shapes
from tarsus.model.mechanism import Color, Inertia
from tarsus.model.mimics import Mimic
from tarsus.model.poses import Pose, rotation_from_rpy, transform_inertia
from tarsus.model.robot_files import RobotFiles

Array = NDArray[np.float64]
MOVING = ("revolute", "continuous", "prismatic")
LIMITED = ("revolute", "prismatic")  # kinds of joints with a range
PRIMITIVES = ("box", "sphere", "cylinder", "capsule")


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """Joint of a URDF file, in SI units.

    Attributes
    ----------
    name, kind, parent, child
        Name and type of the joint, and the names of its links.
    pose
        Frame of the joint in its parent.
    axis
        Direction, shape (3,), in the joint's frame.
    lower, upper
        Range; lower >= upper if the file gives none.
    effort
        Limit; 0 if the <limit> gives none, infinite if there is no <limit> (as in Pinocchio).
    velocity
        Limit; 0 for none.
    damping, friction
        As of `Joint`.
    mimic
        Coupling to another joint.
    """

    name: str
    kind: str
    parent: str
    child: str
    pose: Pose
    axis: Array
    lower: float
    upper: float
    effort: float
    velocity: float
    damping: float
    friction: float
    mimic: Mimic | None


def read_link(element: ET.Element, files: RobotFiles, touching: str) -> Link:
    """Read a <link>, and the meshes of its shapes.

    Parameters
    ----------
    touching
        Elements whose shapes collide, "collision" or "visual".
    """
    name = read_attribute(element, "name", "a link")
    link = Link(name, _read_inertia(element, f"link {name!r}"))
    return with_shapes(link, element.findall(touching), read_shapes(name), files)


def read_shapes(link: str) -> ShapeReader:
    """Create the reader of a link's shapes."""
    where = f"link {link!r}"
    return ShapeReader(
        pose=lambda shape: read_origin(shape, where),
        uri=lambda mesh: read_attribute(mesh, "filename", where),
        scale=lambda mesh: read_numbers(mesh, "scale", "1 1 1", 3, where),
        solid=lambda solid: _read_primitive(solid, where),
    )


def read_colors(robot: ET.Element) -> Callable[[ET.Element], Color | None]:
    """Create a function that reads a shape's color: its material's own, or that of its name."""
    named = {
        str(material.get("name")): material
        for material in robot.iter("material")
        if material.find("color") is not None
    }

    def read_color(shape: ET.Element) -> Color | None:
        material = shape.find("material")
        if material is not None and material.find("color") is None:
            material = named.get(str(material.get("name")))
        given = None if material is None else material.find("color")
        if given is None:
            return None
        red, green, blue, _ = read_numbers(given, "rgba", "0.7 0.7 0.7 1", 4, "a material").clip(
            0, 1
        )
        return float(red), float(green), float(blue)

    return read_color


def read_joint(element: ET.Element) -> UrdfJoint:
    """Read a <joint>."""
    name = read_attribute(element, "name", "a joint")
    where = f"joint {name!r}"
    kind = read_attribute(element, "type", where)
    limit, dynamics, mimic = element.find("limit"), element.find("dynamics"), element.find("mimic")
    axis = element.find("axis")
    direction = (
        np.array([1.0, 0.0, 0.0]) if axis is None else read_numbers(axis, "xyz", "1 0 0", 3, where)
    )
    if kind not in ("fixed", "floating") and not np.any(direction):
        raise InvalidModel(f"{where}: the axis must not be zero.", name)
    lower, upper = (_read_number(limit, key, where, largest=np.inf) for key in ("lower", "upper"))
    if kind in LIMITED:
        check_range(lower, upper, name, "use a continuous joint for one without limits")
    return UrdfJoint(
        name=name,
        kind=kind,
        parent=read_attribute(find_child(element, "parent", where), "link", where),
        child=read_attribute(find_child(element, "child", where), "link", where),
        pose=read_origin(element, where),
        axis=direction,
        lower=lower,
        upper=upper,
        effort=np.inf if limit is None else _read_limit(limit, "effort", where),
        velocity=_read_limit(limit, "velocity", where, largest=np.inf),
        damping=_read_number(dynamics, "damping", where),
        friction=_read_number(dynamics, "friction", where),
        mimic=None if mimic is None else _read_mimic(mimic, where),
    )


def _read_mimic(element: ET.Element, where: str) -> Mimic:
    return Mimic(
        leader=read_attribute(element, "joint", where),
        multiplier=_read_number(element, "multiplier", where, default="1"),
        offset=_read_number(element, "offset", where),
    )


def check_range(lower: float, upper: float, joint: str, remedy: str) -> None:
    """Check that the lower end of a joint's range is not above the upper end.

    Parameters
    ----------
    lower, upper
        Ends of the range.
    joint
        Name of the joint.
    remedy
        Alternative that the error message suggests.

    Raises
    ------
    InvalidModel
        If the lower end is above the upper end.
    """
    if lower > upper:
        raise InvalidModel(
            f"joint {joint!r}: the lower limit {lower:g} is above the upper limit {upper:g}: swap"
            f" them, or {remedy}.",
            joint,
        )


def find_missing_visuals(robot: ET.Element, files: RobotFiles) -> list[str]:
    """List the missing meshes that only visuals need, each once."""
    uris = (mesh.get("filename", "") for mesh in robot.findall("link/visual/geometry/mesh"))
    return [uri for uri in dict.fromkeys(uris) if files.find(uri) is None]


def _read_primitive(solid: ET.Element, where: str) -> Solid | None:
    """Read the kind and size of a primitive, as in `Shape`, or None for another element."""
    if solid.tag not in PRIMITIVES:
        return None
    if solid.tag == "box":
        x, y, z = read_numbers(solid, "size", None, 3, where) / 2
        return "box", (x, y, z)
    radius = float(read_numbers(solid, "radius", None, 1, where)[0])
    if solid.tag == "sphere":
        return "sphere", (radius,)
    half = float(read_numbers(solid, "length", None, 1, where)[0]) / 2
    return "cylinder" if solid.tag == "cylinder" else "capsule", (radius, half)


def _read_inertia(link: ET.Element, where: str) -> Inertia:
    """Read the inertia of a <link> in the link's frame, zero without an <inertial>."""
    inertial = link.find("inertial")
    if inertial is None:
        return Inertia(0.0)
    mass = float(read_numbers(find_child(inertial, "mass", where), "value", None, 1, where)[0])
    tensor = find_child(inertial, "inertia", where)
    diagonal = [
        float(read_numbers(tensor, key, None, 1, where)[0]) for key in ("ixx", "iyy", "izz")
    ]
    products = [float(read_numbers(tensor, key, "0", 1, where)[0]) for key in ("ixy", "ixz", "iyz")]
    return transform_inertia(
        Inertia.of_moments(mass, np.zeros(3), [*diagonal, *products]), read_origin(inertial, where)
    )


def read_origin(element: ET.Element, where: str) -> Pose:
    """Read the pose that an element's <origin> gives."""
    given = element.find("origin")
    return Pose() if given is None else read_pose(given, where)


def read_pose(element: ET.Element, where: str) -> Pose:
    """Read the pose that the attributes xyz and rpy of an element give."""
    rpy = read_numbers(element, "rpy", "0 0 0", 3, where)
    rotation = rotation_from_rpy(rpy) if rpy.any() else np.eye(3)
    return Pose(read_numbers(element, "xyz", "0 0 0", 3, where), rotation)


def find_child(element: ET.Element, tag: str, where: str) -> ET.Element:
    """Find a required child element; InvalidFile if it is missing."""
    child = element.find(tag)
    if child is None:
        raise InvalidFile(f"{where}: the <{element.tag}> has no <{tag}>.", tag)
    return child


def read_attribute(element: ET.Element, key: str, where: str) -> str:
    """Read a required attribute; InvalidFile if it is missing or empty."""
    value = element.get(key)
    if not value:
        raise InvalidFile(f"{where}: the <{element.tag}> has no attribute {key}.", key)
    return value


def _read_number(
    element: ET.Element | None,
    key: str,
    where: str,
    largest: float = LARGEST,
    default: str = "0",
) -> float:
    """Read one number, or `default` if the element or the attribute is missing."""
    if element is None:
        return float(default)
    return float(read_numbers(element, key, default, 1, where, largest)[0])


def _read_limit(
    element: ET.Element | None, key: str, where: str, largest: float = LARGEST
) -> float:
    """Read a limit of effort or velocity, which must not be negative."""
    value = _read_number(element, key, where, largest)
    if value < 0:
        raise InvalidFile(
            f"{where}: {key} of <limit> is a magnitude and must be >= 0, not {value:g}.", key
        )
    return value


def read_numbers(
    element: ET.Element,
    key: str,
    default: str | None,
    count: int,
    where: str,
    largest: float = LARGEST,
) -> Array:
    """Read `count` numbers of an attribute.

    Parameters
    ----------
    element
        The element with the attribute.
    key
        Name of the attribute.
    default
        Text that stands for a missing attribute; None if it is required.
    count
        Number of numbers.
    where
        Name of the element in error messages.
    largest
        Largest magnitude.

    Raises
    ------
    InvalidFile
        If the attribute is missing, or does not consist of these numbers.
    """
    text = element.get(key, default)
    if text is None:
        raise InvalidFile(f"{where}: the <{element.tag}> has no attribute {key}.", key)
    return parse_numbers(text, count, f"{where}: {key} of <{element.tag}>", largest, key)


def parse_numbers(
    text: str, count: int, label: str, largest: float = LARGEST, subject: str = ""
) -> Array:
    """Read `count` numbers of a text.

    Parameters
    ----------
    text
        Numbers with blanks between them.
    count
        Number of numbers.
    label
        Start of the error message.
    largest
        Largest magnitude.
    subject
        Subject of the error.

    Raises
    ------
    InvalidFile
        If the text does not consist of these numbers.
    """
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.array([np.nan])
    if values.shape != (count,) or np.isnan(values).any():
        required = "a number" if count == 1 else f"{count} numbers"
        raise InvalidFile(f"{label} must be {required}, not {quote(text)}.", subject)
    if np.abs(values).max() > largest:
        raise InvalidFile(
            f"{label} must be finite and at most {largest:g} in SI units, not {quote(text)}.",
            subject,
        )
    return values
