"""The elements of a URDF file as plain records, every number checked and every mesh found."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, InvalidModel, quoted
from tarsus.model.check import LARGEST
from tarsus.model.links import Link, Solid, Written, with_shapes
from tarsus.model.mechanism import Color, Inertia
from tarsus.model.mimics import Mimic
from tarsus.model.poses import Pose, moved, rotation_from_rpy
from tarsus.model.robot_files import RobotFiles

Array = NDArray[np.float64]
MOVING = ("revolute", "continuous", "prismatic")
LIMITED = ("revolute", "prismatic")  # kinds of joints with a range
PRIMITIVES = ("box", "sphere", "cylinder", "capsule")


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """A <joint>, SI units; lower >= upper if the file gives no range, velocity 0 if no limit,
    effort 0 if the <limit> has none and infinite if there is no <limit> (as in Pinocchio).
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


def link_of(element: ET.Element, files: RobotFiles, touching: str) -> Link:
    """Read a <link>, and the meshes of its shapes.

    touching: the elements with its shapes, "collision" or "visual"
    """
    name = _attribute(element, "name", "a link")
    link = Link(name, _inertia(element, f"link {name!r}"))
    return with_shapes(link, element.findall(touching), shapes_of(name), files)


def shapes_of(link: str) -> Written:
    """Return how the shapes of a link are read."""
    where = f"link {link!r}"
    return Written(
        pose=lambda shape: origin(shape, where),
        uri=lambda mesh: _attribute(mesh, "filename", where),
        scale=lambda mesh: numbers(mesh, "scale", "1 1 1", 3, where),
        solid=lambda solid: _primitive(solid, where),
    )


def colors_of(robot: ET.Element) -> Callable[[ET.Element], Color | None]:
    """Return what reads the color of a shape: its material's own, or that of its name."""
    named = {
        str(material.get("name")): material
        for material in robot.iter("material")
        if material.find("color") is not None
    }

    def color(shape: ET.Element) -> Color | None:
        material = shape.find("material")
        if material is not None and material.find("color") is None:
            material = named.get(str(material.get("name")))
        given = None if material is None else material.find("color")
        if given is None:
            return None
        red, green, blue, _ = numbers(given, "rgba", "0.7 0.7 0.7 1", 4, "a material").clip(0, 1)
        return float(red), float(green), float(blue)

    return color


def joint_of(element: ET.Element) -> UrdfJoint:
    """Read a <joint>."""
    name = _attribute(element, "name", "a joint")
    where = f"joint {name!r}"
    kind = _attribute(element, "type", where)
    # the elements that may be missing
    limit, dynamics, mimic = element.find("limit"), element.find("dynamics"), element.find("mimic")
    axis = element.find("axis")
    direction = (
        np.array([1.0, 0.0, 0.0]) if axis is None else numbers(axis, "xyz", "1 0 0", 3, where)
    )
    if kind not in ("fixed", "floating") and not np.any(direction):
        raise InvalidModel(f"{where}: the axis must not be zero.", name)
    lower, upper = (_number(limit, key, where, largest=np.inf) for key in ("lower", "upper"))
    if kind in LIMITED:
        check_range(lower, upper, name, "use a continuous joint for one without limits")
    # every field, by what URDF takes a missing one for
    return UrdfJoint(
        name=name,
        kind=kind,
        parent=_attribute(_only(element, "parent", where), "link", where),
        child=_attribute(_only(element, "child", where), "link", where),
        pose=origin(element, where),
        axis=direction,
        lower=lower,
        upper=upper,
        effort=np.inf if limit is None else _most(limit, "effort", where),
        velocity=_most(limit, "velocity", where, largest=np.inf),
        damping=_number(dynamics, "damping", where),
        friction=_number(dynamics, "friction", where),
        mimic=None if mimic is None else _mimic(mimic, where),
    )


def _mimic(element: ET.Element, where: str) -> Mimic:
    return Mimic(
        leader=_attribute(element, "joint", where),
        multiplier=_number(element, "multiplier", where, default="1"),
        offset=_number(element, "offset", where),
    )


def check_range(lower: float, upper: float, joint: str, instead: str) -> None:
    """Raise InvalidModel for a reversed range of a joint; instead: what else could be meant."""
    if lower > upper:
        raise InvalidModel(
            f"joint {joint!r}: the lower limit {lower:g} is above the upper limit {upper:g}: swap"
            f" them, or {instead}.",
            joint,
        )


def missing_visuals(robot: ET.Element, files: RobotFiles) -> list[str]:
    """The meshes, each once, that only pictures need and that are not there."""
    uris = (mesh.get("filename", "") for mesh in robot.findall("link/visual/geometry/mesh"))
    return [uri for uri in dict.fromkeys(uris) if files.find(uri) is None]


def _primitive(solid: ET.Element, where: str) -> Solid | None:
    """Its kind and size, as of `Shape`; None of what is no primitive."""
    if solid.tag not in PRIMITIVES:
        return None
    if solid.tag == "box":
        x, y, z = numbers(solid, "size", None, 3, where) / 2
        return "box", (x, y, z)
    radius = float(numbers(solid, "radius", None, 1, where)[0])
    if solid.tag == "sphere":
        return "sphere", (radius,)
    half = float(numbers(solid, "length", None, 1, where)[0]) / 2
    return "cylinder" if solid.tag == "cylinder" else "capsule", (radius, half)


def _inertia(link: ET.Element, where: str) -> Inertia:
    """The matter of a <link> in the link's frame; none if it has no <inertial>."""
    inertial = link.find("inertial")
    if inertial is None:
        return Inertia(0.0)
    mass = float(numbers(_only(inertial, "mass", where), "value", None, 1, where)[0])
    tensor = _only(inertial, "inertia", where)
    squares = [float(numbers(tensor, key, None, 1, where)[0]) for key in ("ixx", "iyy", "izz")]
    products = [float(numbers(tensor, key, "0", 1, where)[0]) for key in ("ixy", "ixz", "iyz")]
    return moved(
        Inertia.of_moments(mass, np.zeros(3), [*squares, *products]), origin(inertial, where)
    )


def origin(element: ET.Element, where: str) -> Pose:
    """Of an element that stands at its <origin>."""
    given = element.find("origin")
    if given is None:
        return Pose()
    rpy = numbers(given, "rpy", "0 0 0", 3, where)
    rotation = rotation_from_rpy(rpy) if rpy.any() else np.eye(3)
    return Pose(numbers(given, "xyz", "0 0 0", 3, where), rotation)


def _only(element: ET.Element, tag: str, where: str) -> ET.Element:
    found = element.find(tag)
    if found is None:
        raise InvalidFile(f"{where}: the <{element.tag}> has no <{tag}>.", tag)
    return found


def _attribute(element: ET.Element, key: str, where: str) -> str:
    value = element.get(key)
    if not value:
        raise InvalidFile(f"{where}: the <{element.tag}> has no attribute {key}.", key)
    return value


def _number(
    element: ET.Element | None,
    key: str,
    where: str,
    largest: float = LARGEST,
    default: str = "0",
) -> float:
    """One number; URDF's own default if the element or the attribute is not there."""
    if element is None:
        return float(default)
    return float(numbers(element, key, default, 1, where, largest)[0])


def _most(element: ET.Element | None, key: str, where: str, largest: float = LARGEST) -> float:
    """The size of the largest effort or velocity; TarsusError for a negative one."""
    value = _number(element, key, where, largest)
    if value < 0:
        raise InvalidFile(
            f"{where}: {key} of <limit> is a magnitude and must be >= 0, not {value:g}.", key
        )
    return value


def numbers(
    element: ET.Element,
    key: str,
    default: str | None,
    count: int,
    where: str,
    largest: float = LARGEST,
) -> Array:
    """`count` numbers of an attribute, none beyond `largest`.

    InvalidFile if there are others, or none and no default.
    """
    text = element.get(key, default)
    if text is None:
        raise InvalidFile(f"{where}: the <{element.tag}> has no attribute {key}.", key)
    return parsed(text, count, f"{where}: {key} of <{element.tag}>", largest, key)


def parsed(text: str, count: int, what: str, largest: float = LARGEST, subject: str = "") -> Array:
    """`count` numbers of a text, none beyond `largest`; if not, InvalidFile of that subject, whose
    message begins with `what`.
    """
    # are they numbers?
    try:
        found = np.array([float(word) for word in text.split()])
    except ValueError:
        found = np.array([np.nan])
    if found.shape != (count,) or np.isnan(found).any():
        wanted = "a number" if count == 1 else f"{count} numbers"
        raise InvalidFile(f"{what} must be {wanted}, not {quoted(text)}.", subject)
    # are they a robot's?
    if np.abs(found).max() > largest:
        raise InvalidFile(
            f"{what} must be finite and at most {largest:g} in SI units, not {quoted(text)}.",
            subject,
        )
    return found
