"""Elements of an SDF file as records, with checked numbers and the vertices of meshes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, InvalidModel, Unsupported, unknown_name_error
from tarsus.model.candidates import ShapeKind
from tarsus.model.check import LARGEST
from tarsus.model.links import Link, ShapeReader, Solid, with_shapes
from tarsus.model.mechanism import Color, Inertia
from tarsus.model.mimics import Mimic
from tarsus.model.poses import invert, transform_inertia
from tarsus.model.robot_files import RobotFiles
from tarsus.model.sdf_frames import MODEL, Frames, read_name, read_pose
from tarsus.model.urdf_elements import check_range, parse_numbers

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
    """Joint of an SDF file.

    Attributes
    ----------
    name, kind, parent, child
        Name and type of the joint, and the names of its links.
    anchor, axis
        Position, in m, and axis, shape (3,), in the model's frame with all joints at zero.
    lower, upper
        Range, in rad or m; infinite where the file gives none.
    effort, velocity
        Limits, infinite if the file gives none or a negative one.
    damping, friction, stiffness, rest
        As of `Joint`.
    gearbox
        Ratio and reference body of a gearbox.
    mimic
        Coupling to another joint (`//axis/mimic` of SDF 1.11).
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
        """Whether the joint has a range."""
        return self.lower < self.upper and bool(np.isfinite([self.lower, self.upper]).any())


def read_link(element: ET.Element, frames: Frames, files: RobotFiles, touching: str) -> Link:
    """Read a <link> in its own frame, and the meshes of its shapes.

    Parameters
    ----------
    touching
        Elements whose shapes collide, "collision" or "visual".
    """
    name = read_name(element)
    link = Link(name, _read_inertia(element, f"link {name!r}", frames))
    return with_shapes(link, element.findall(touching), read_shapes(name, frames), files)


def read_shapes(link: str, frames: Frames) -> ShapeReader:
    """Create the reader of a link's shapes."""
    where, home = f"link {link!r}", invert(frames[link])
    return ShapeReader(
        pose=lambda shape: home @ read_pose(shape, where, frames, link),
        uri=lambda mesh: _read_text(mesh, "uri", where),
        scale=lambda mesh: _read_values(mesh, "scale", "1 1 1", 3, where),
        solid=lambda solid: _read_primitive(solid, where),
    )


def read_color(shape: ET.Element) -> Color | None:
    """Read the diffuse color of a shape's material, or else the ambient color."""
    for key in ("diffuse", "ambient"):
        text = shape.findtext(f"material/{key}")
        if text is not None:
            rgba = " ".join([*text.split(), "1"][:4])
            red, green, blue, _ = parse_numbers(rgba, 4, f"<{key}>").clip(0, 1)
            return float(red), float(green), float(blue)
    return None


def read_joint(element: ET.Element, frames: Frames, links: Sequence[str], old: bool) -> SdfJoint:
    """Read a <joint>.

    Parameters
    ----------
    element
        The joint.
    frames
        Frames of the model.
    links
        Names of the links, including the world's.
    old
        Whether axes are in the model's frame, as before SDF 1.5.
    """
    name = read_name(element)
    where, kind = f"joint {name!r}", element.get("type") or ""
    parent, child = _read_text(element, "parent", where), _read_text(element, "child", where)
    for link in (parent, child):
        if link not in links:
            raise unknown_name_error("link", link, list(links)).with_context(where)
    axis, anchor = element.find("axis"), frames[name].position
    gearbox = _read_gearbox(element, where) if kind == "gearbox" else None
    if axis is None:
        up = frames[name].rotation[:, 2]
        return SdfJoint(name, kind, parent, child, anchor, up, gearbox=gearbox)
    limit, dynamics = axis.find("limit"), axis.find("dynamics")
    lower, upper = (
        _read_bound(limit, "lower", "-1e16", where),
        _read_bound(limit, "upper", "1e16", where),
    )
    check_range(lower, upper, name, "leave both out for a joint without limits")
    return SdfJoint(
        name=name,
        kind=kind,
        parent=parent,
        child=child,
        anchor=anchor,
        axis=_read_axis(axis, where, frames, name, old),
        lower=lower,
        upper=upper,
        effort=_read_limit(limit, "effort", where),
        velocity=_read_limit(limit, "velocity", where),
        damping=_value(dynamics, "damping", "0", where),
        friction=_value(dynamics, "friction", "0", where),
        stiffness=_value(dynamics, "spring_stiffness", "0", where),
        rest=_value(dynamics, "spring_reference", "0", where),
        gearbox=gearbox,
        mimic=_read_mimic(axis, where),
    )


def _read_mimic(axis: ET.Element, where: str) -> Mimic | None:
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


def find_missing_visuals(model: ET.Element, files: RobotFiles) -> list[str]:
    """List the missing meshes that only visuals need, each once."""
    uris = [mesh.findtext("uri", "").strip() for mesh in model.findall("link/visual/geometry/mesh")]
    return [uri for uri in dict.fromkeys(uris) if files.find(uri) is None]


def _read_axis(axis: ET.Element, where: str, frames: Frames, joint: str, old: bool) -> Array:
    """Read the direction, shape (3,), of an <axis> in the model's frame, of any length."""
    direction, xyz = _read_values(axis, "xyz", "0 0 1", 3, where), axis.find("xyz")
    if not np.any(direction):
        raise InvalidModel(f"{where}: the axis must not be zero.", joint)
    expressed_in = "" if xyz is None else xyz.get("expressed_in", "")
    of_model = axis.findtext("use_parent_model_frame", "0").strip().lower() in ("1", "true")
    frame = expressed_in or (MODEL if of_model or old else joint)
    if frame not in frames:
        raise unknown_name_error("frame", frame, list(frames)).with_context(where)
    return frames[frame].rotation @ direction


def _read_gearbox(element: ET.Element, where: str) -> tuple[float, str]:
    ratio = _value(element, "gearbox_ratio", "1", where)
    if not ratio:
        raise InvalidFile(f"{where}: the gearbox_ratio must not be zero.", "gearbox_ratio")
    return ratio, _read_text(element, "gearbox_reference_body", where)


def _read_primitive(solid: ET.Element, where: str) -> Solid | None:
    """Read the kind and size of a primitive, as in `Shape`, or None for another element."""
    kind = PRIMITIVES.get(solid.tag)
    return None if kind is None else (kind, read_size(solid, where))


def read_size(solid: ET.Element, where: str) -> tuple[float, ...]:
    """Read the size of a primitive, as in `Shape`."""
    if solid.tag in ("box", "ellipsoid"):
        tag, factor = ("size", 0.5) if solid.tag == "box" else ("radii", 1.0)
        x, y, z = factor * _read_values(solid, tag, None, 3, where)
        return float(x), float(y), float(z)
    radius = _value(solid, "radius", None, where)
    return (
        (radius,) if solid.tag == "sphere" else (radius, _value(solid, "length", None, where) / 2)
    )


def _read_inertia(link: ET.Element, where: str, frames: Frames) -> Inertia:
    """Read the inertia of a <link> in its frame, by default 1 kg and 1 kg m², as in SDF."""
    inertial = link.find("inertial")
    if inertial is None:
        return Inertia(1.0, np.zeros(3), np.eye(3))
    if inertial.get("auto") == "true":
        raise Unsupported(
            f'{where}: <inertial auto="true"> is not supported: write the mass and the inertia.',
            "auto",
        )
    tensor = inertial.find("inertia")
    diagonal = [_value(tensor, key, "1", where) for key in ("ixx", "iyy", "izz")]
    products = [_value(tensor, key, "0", where) for key in ("ixy", "ixz", "iyz")]
    mass, name = _value(inertial, "mass", "1", where), read_name(link)
    pose = invert(frames[name]) @ read_pose(inertial, where, frames, name)
    return transform_inertia(Inertia.of_moments(mass, np.zeros(3), [*diagonal, *products]), pose)


def _read_text(element: ET.Element, tag: str, where: str) -> str:
    text = element.findtext(tag, "").strip()
    if not text:
        raise InvalidFile(f"{where}: the <{element.tag}> has no <{tag}>.", tag)
    return text


def _read_values(
    element: ET.Element | None,
    tag: str,
    default: str | None,
    count: int,
    where: str,
    largest: float = LARGEST,
) -> Array:
    """Read `count` numbers from the element's <tag>, or those of `default`."""
    text = None if element is None else element.findtext(tag)
    if text is None and default is None:
        raise InvalidFile(f"{where}: the shape has no <{tag}>.", tag)
    given = text if text is not None else str(default)
    return parse_numbers(given, count, f"{where}: <{tag}>", largest, tag)


def _value(
    element: ET.Element | None, tag: str, default: str | None, where: str, largest: float = LARGEST
) -> float:
    return float(_read_values(element, tag, default, 1, where, largest)[0])


def _read_bound(limit: ET.Element | None, tag: str, default: str, where: str) -> float:
    """Read an end of a range, infinite at SDF's default of 1e16."""
    value = _value(limit, tag, default, where, np.inf)
    return value if abs(value) < LARGEST else float(np.copysign(np.inf, value))


def _read_limit(limit: ET.Element | None, tag: str, where: str) -> float:
    value = _value(limit, tag, "-1", where, np.inf)
    return value if 0 <= value < LARGEST else np.inf
