"""The elements of an SDF file as plain records, every number checked and every mesh found."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, InvalidModel, Unsupported, unknown_name
from tarsus.model.candidates import ShapeKind
from tarsus.model.check import LARGEST
from tarsus.model.links import Link, Solid, Written, with_shapes
from tarsus.model.mechanism import Color, Inertia
from tarsus.model.mimics import Mimic
from tarsus.model.poses import moved
from tarsus.model.robot_files import RobotFiles
from tarsus.model.sdf_frames import MODEL, Frames, inverse, name_of, pose_of
from tarsus.model.urdf_elements import check_range, parsed

Array = NDArray[np.float64]
PRIMITIVES: dict[str, ShapeKind] = {
    "box": "box",
    "sphere": "sphere",
    "cylinder": "cylinder",
    "capsule": "capsule",
    "ellipsoid": "ellipsoid",
}


@dataclass(frozen=True, eq=False)
class SdfJoint:
    """A <joint>: anchor (3,), m, and axis (3,) in the model's frame with all joints at zero.

    lower, upper: infinite where the file has none
    effort, velocity: infinite if the file gives none, or a negative one (SDF: no limit)
    gearbox: of a gearbox its ratio and reference body, else None
    mimic: how it follows another joint, if it does (`//axis/mimic` of SDF 1.11)
    """

    name: str
    kind: str
    parent: str
    child: str
    anchor: Array
    axis: Array
    lower: float = -np.inf
    upper: float = np.inf
    effort: float = np.inf
    velocity: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    gearbox: tuple[float, str] | None = None
    mimic: Mimic | None = None

    @property
    def limited(self) -> bool:
        """Whether it has a range."""
        return self.lower < self.upper and bool(np.isfinite([self.lower, self.upper]).any())


def link_of(element: ET.Element, frames: Frames, files: RobotFiles, touching: str) -> Link:
    """Read a <link> in its own frame, and the meshes of its shapes.

    touching: the elements with its shapes, "collision" or "visual"
    """
    name = name_of(element)
    link = Link(name, _inertia(element, f"link {name!r}", frames))
    return with_shapes(link, element.findall(touching), shapes_of(name, frames), files)


def shapes_of(link: str, frames: Frames) -> Written:
    """Return how the shapes of a link are read."""
    where, home = f"link {link!r}", inverse(frames[link])
    return Written(
        pose=lambda shape: home @ pose_of(shape, where, frames, link),
        uri=lambda mesh: _text(mesh, "uri", where),
        scale=lambda mesh: _values(mesh, "scale", "1 1 1", 3, where),
        solid=lambda solid: _primitive(solid, where),
    )


def color_of(shape: ET.Element) -> Color | None:
    """Return the diffuse, else the ambient color of a shape's material."""
    for key in ("diffuse", "ambient"):
        text = shape.findtext(f"material/{key}")
        if text is not None:
            numbers = " ".join([*text.split(), "1"][:4])
            red, green, blue, _ = parsed(numbers, 4, f"<{key}>").clip(0, 1)
            return float(red), float(green), float(blue)
    return None


def joint_of(element: ET.Element, frames: Frames, links: Sequence[str], old: bool) -> SdfJoint:
    """Read a <joint>.

    links: their names, the world's too
    old: whether axes stand in the model's frame, as before SDF 1.5
    """
    # what it joins, and where
    name = name_of(element)
    where, kind = f"joint {name!r}", element.get("type") or ""
    parent, child = _text(element, "parent", where), _text(element, "child", where)
    for link in (parent, child):
        if link not in links:
            raise unknown_name("link", link, list(links)).within(where)
    axis, anchor = element.find("axis"), frames[name].position
    gearbox = _gearbox(element, where) if kind == "gearbox" else None
    if axis is None:
        up = frames[name].rotation[:, 2]
        return SdfJoint(name, kind, parent, child, anchor, up, gearbox=gearbox)
    # its range, and what resists it
    limit, dynamics = axis.find("limit"), axis.find("dynamics")
    lower, upper = _bound(limit, "lower", "-1e16", where), _bound(limit, "upper", "1e16", where)
    check_range(lower, upper, name, "leave both out for a joint without limits")
    return SdfJoint(
        name=name,
        kind=kind,
        parent=parent,
        child=child,
        anchor=anchor,
        axis=_axis(axis, where, frames, name, old),
        lower=lower,
        upper=upper,
        effort=_most(limit, "effort", where),
        velocity=_most(limit, "velocity", where),
        damping=_value(dynamics, "damping", "0", where),
        friction=_value(dynamics, "friction", "0", where),
        stiffness=_value(dynamics, "spring_stiffness", "0", where),
        rest=_value(dynamics, "spring_reference", "0", where),
        gearbox=gearbox,
        mimic=_mimic(axis, where),
    )


def _mimic(axis: ET.Element, where: str) -> Mimic | None:
    mimic = axis.find("mimic")
    if mimic is None:
        return None
    leader = mimic.get("joint")
    if not leader:
        raise InvalidModel(f"{where}: <mimic> needs the attribute joint.", "mimic")
    return Mimic(
        leader,
        multiplier=_value(mimic, "multiplier", "1", where),
        offset=_value(mimic, "offset", "0", where),
        reference=_value(mimic, "reference", "0", where),
    )


def missing_visuals(model: ET.Element, files: RobotFiles) -> list[str]:
    """The meshes, each once, that only pictures need and that are not there."""
    uris = [mesh.findtext("uri", "").strip() for mesh in model.findall("link/visual/geometry/mesh")]
    return [uri for uri in dict.fromkeys(uris) if files.find(uri) is None]


def _axis(axis: ET.Element, where: str, frames: Frames, joint: str, old: bool) -> Array:
    """The direction (3,) of an <axis> in the model's frame, not of length 1."""
    along, way = _values(axis, "xyz", "0 0 1", 3, where), axis.find("xyz")
    if not np.any(along):
        raise InvalidModel(f"{where}: the axis must not be zero.", joint)
    said = "" if way is None else way.get("expressed_in", "")
    of_model = axis.findtext("use_parent_model_frame", "0").strip().lower() in ("1", "true")
    frame = said or (MODEL if of_model or old else joint)
    if frame not in frames:
        raise unknown_name("frame", frame, list(frames)).within(where)
    return frames[frame].rotation @ along


def _gearbox(element: ET.Element, where: str) -> tuple[float, str]:
    ratio = _value(element, "gearbox_ratio", "1", where)
    if not ratio:
        raise InvalidFile(f"{where}: the gearbox_ratio must not be zero.", "gearbox_ratio")
    return ratio, _text(element, "gearbox_reference_body", where)


def _primitive(solid: ET.Element, where: str) -> Solid | None:
    """Its kind and size, as of `Shape`; None of what is no primitive."""
    kind = PRIMITIVES.get(solid.tag)
    return None if kind is None else (kind, size_of(solid, where))


def size_of(solid: ET.Element, where: str) -> tuple[float, ...]:
    """Of a primitive, as of `Shape`."""
    if solid.tag in ("box", "ellipsoid"):
        tag, part = ("size", 0.5) if solid.tag == "box" else ("radii", 1.0)
        x, y, z = part * _values(solid, tag, None, 3, where)
        return float(x), float(y), float(z)
    radius = _value(solid, "radius", None, where)
    return (
        (radius,) if solid.tag == "sphere" else (radius, _value(solid, "length", None, where) / 2)
    )


def _inertia(link: ET.Element, where: str, frames: Frames) -> Inertia:
    """The matter of a <link> in its frame; what is not given is 1 kg and 1 kg m^2, as in SDF."""
    inertial = link.find("inertial")
    if inertial is None:
        return Inertia(1.0, np.zeros(3), np.eye(3))
    if inertial.get("auto") == "true":
        raise Unsupported(
            f'{where}: <inertial auto="true"> is not supported: write the mass and the inertia.',
            "auto",
        )
    tensor = inertial.find("inertia")
    squares = [_value(tensor, key, "1", where) for key in ("ixx", "iyy", "izz")]
    products = [_value(tensor, key, "0", where) for key in ("ixy", "ixz", "iyz")]
    mass, name = _value(inertial, "mass", "1", where), name_of(link)
    here = inverse(frames[name]) @ pose_of(inertial, where, frames, name)
    return moved(Inertia.of_moments(mass, np.zeros(3), [*squares, *products]), here)


def _text(element: ET.Element, tag: str, where: str) -> str:
    text = element.findtext(tag, "").strip()
    if not text:
        raise InvalidFile(f"{where}: the <{element.tag}> has no <{tag}>.", tag)
    return text


def _values(
    element: ET.Element | None,
    tag: str,
    default: str | None,
    count: int,
    where: str,
    largest: float = LARGEST,
) -> Array:
    """`count` numbers in the element's <tag>, or those of `default`."""
    text = None if element is None else element.findtext(tag)
    if text is None and default is None:
        raise InvalidFile(f"{where}: the shape has no <{tag}>.", tag)
    given = text if text is not None else str(default)
    return parsed(given, count, f"{where}: <{tag}>", largest, tag)


def _value(
    element: ET.Element | None, tag: str, default: str | None, where: str, largest: float = LARGEST
) -> float:
    return float(_values(element, tag, default, 1, where, largest)[0])


def _bound(limit: ET.Element | None, tag: str, default: str, where: str) -> float:
    """An end of a range, infinite from SDF's default of 1e16 on."""
    value = _value(limit, tag, default, where, np.inf)
    return value if abs(value) < LARGEST else float(np.copysign(np.inf, value))


def _most(limit: ET.Element | None, tag: str, where: str) -> float:
    value = _value(limit, tag, "-1", where, np.inf)
    return value if 0 <= value < LARGEST else np.inf
