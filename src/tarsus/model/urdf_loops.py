"""Loop joints of URDF files, for which three extensions of the format are in use.

- Gazebo reads an SDF joint inside a <gazebo> element, whose pose is in the child's frame.
- <loop_joint> of Drake and Isaac Sim names two links, and the joint's frame in each.
- <loop> of URDF+ (Chignoli 2024) has a predecessor and a successor, with an origin each.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, InvalidModel, Unsupported, unknown_name_error
from tarsus.model.joint import Joint, JointKind
from tarsus.model.mechanism import WORLD, LoopJoint
from tarsus.model.parts import Part, Report, WeldResult
from tarsus.model.poses import Pose, invert, rotation_from_rpy
from tarsus.model.urdf_elements import (
    find_child,
    parse_numbers,
    read_attribute,
    read_origin,
    read_pose,
)

KINDS: dict[str, JointKind] = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "ball": "ball",
    "spherical": "ball",
    "fixed": "fixed",
}
# elements that join links or joints and are ignored: of Drake, and of URDF+
IGNORED = (
    "linear_bushing_rpy",
    "ball_constraint",
    "distance_constraint",
    "weld_constraint",
    "coupler_constraint",
    "coupling",
)


@dataclass(frozen=True, eq=False)
class UrdfLoop:
    """Loop joint of a URDF file.

    Attributes
    ----------
    name, kind
        Name, and kind as of a `Joint`.
    parent, child
        Names of the links.
    in_parent
        Frame of the joint in the parent; None if the joint closes where the file draws the links.
    in_child
        Frame of the joint in the child.
    axis
        Direction in the joint's frame, shape (3,).
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    in_parent: Pose | None
    in_child: Pose
    axis: NDArray[np.float64]


def read_loops(robot: ET.Element) -> list[UrdfLoop]:
    """Read the loop joints of a <robot>."""
    return [
        *(_read_gazebo_joint(element) for element in robot.findall("gazebo/joint")),
        *(_read_loop_joint(element) for element in robot.findall("loop_joint")),
        *(_read_loop(element) for element in robot.findall("loop")),
    ]


def list_children_without_loops(element: ET.Element) -> Iterator[ET.Element]:
    """Yield the child elements except a <gazebo> with a joint."""
    return (child for child in element if child.tag != "gazebo" or child.find("joint") is None)


def warn_of_mechanisms(model: ET.Element, report: Report) -> None:
    """Warn of elements that join links or joints and are ignored."""
    names = [name for child in model if (name := str(child.tag).rpartition("}")[2]) in IGNORED]
    if names:
        listed = ", ".join(f"<{name}>" for name in dict.fromkeys(names))
        report.warn(
            f"elements that join links or joints are ignored: {listed}.",
            "mechanisms-ignored",
            names[0],
        )


def build_loops(
    loops: Sequence[UrdfLoop], parts: Sequence[Part], welded: WeldResult, report: Report
) -> tuple[LoopJoint, ...]:
    """Build the loop joints of a mechanism.

    Parameters
    ----------
    loops
        Loop joints of the file.
    parts
        Links in the order of the tree.
    welded
        Bodies that the links are welded to.
    report
        Report of the file.

    Raises
    ------
    InvalidModel
        If a loop joint names an unknown link, or has the name of another joint.
    """
    hosts = {part.name: host for part, host in zip(parts, welded.part_poses, strict=True)}
    drawn = _compute_drawn_poses(parts)
    built: dict[str, LoopJoint] = {}
    for loop in loops:
        for link in (loop.parent, loop.child):
            if link not in hosts:
                raise unknown_name_error("link", link, list(hosts)).with_context(
                    f"joint {loop.name!r}"
                )
        if loop.name in built or loop.name in welded.joint_names:
            raise InvalidModel(f"two joints have the name {loop.name!r}.", loop.name)
        in_parent = loop.in_parent or invert(drawn[loop.parent]) @ drawn[loop.child] @ loop.in_child
        ends = [
            (host, pose @ frame)
            for (host, pose), frame in (
                (hosts[loop.parent], in_parent),
                (hosts[loop.child], loop.in_child),
            )
        ]
        if ends[1][0] == WORLD:
            ends.reverse()
        (parent, first), (child, second) = ends
        if parent == child:
            report.ignore(f"The joint {loop.name} is ignored: its links are welded together.")
            continue
        motion = Joint(loop.name, loop.kind)
        if loop.kind in ("hinge", "slide"):
            motion = Joint(loop.name, loop.kind, axis=second.rotation @ loop.axis)
        rotation = first.rotation @ second.rotation.T
        built[loop.name] = LoopJoint(
            motion, parent, child, first.position, rotation, second.position
        )
    if built:
        report.note(f"Joints that close loops: {', '.join(built)}.")
    return tuple(built.values())


def _compute_drawn_poses(parts: Sequence[Part]) -> dict[str, Pose]:
    """Compute the poses of the links, as the file draws them, in the root's parent frame."""
    poses: list[Pose] = []
    for part in parts:
        poses.append(part.pose if part.parent == WORLD else poses[part.parent] @ part.pose)
    return {part.name: pose for part, pose in zip(parts, poses, strict=True)}


def _read_gazebo_joint(element: ET.Element) -> UrdfLoop:
    """Read an SDF joint inside a <gazebo> element."""
    name, kind, where = _read_name_and_kind(element)
    values = parse_numbers(element.findtext("pose", "0 0 0 0 0 0"), 6, f"{where}: <pose>")
    parent, child = (_read_link_name(element, tag, where) for tag in ("parent", "child"))
    axis = parse_numbers(element.findtext("axis/xyz", "0 0 1"), 3, f"{where}: <xyz>")
    in_child = Pose(values[:3], rotation_from_rpy(values[3:]))
    return UrdfLoop(name, kind, parent, child, None, in_child, _check_axis(axis, kind, where))


def _read_loop_joint(element: ET.Element) -> UrdfLoop:
    """Read a <loop_joint>; files also give two <link1>."""
    name, kind, where = _read_name_and_kind(element)
    ends = [child for child in element if child.tag in ("link1", "link2")]
    if len(ends) != 2:
        raise InvalidFile(f"{where}: a <loop_joint> needs <link1> and <link2>.", "link2")
    parent, child = (read_attribute(end, "link", where) for end in ends)
    in_parent, in_child = (read_pose(end, where) for end in ends)
    axis = _read_axis(element, kind, where)
    return UrdfLoop(name, kind, parent, child, in_parent, in_child, axis)


def _read_loop(element: ET.Element) -> UrdfLoop:
    """Read a <loop> of URDF+."""
    name, kind, where = _read_name_and_kind(element)
    ends = [find_child(element, tag, where) for tag in ("predecessor", "successor")]
    parent, child = (read_attribute(end, "link", where) for end in ends)
    in_parent, in_child = (read_origin(end, where) for end in ends)
    axis = _read_axis(element, kind, where)
    return UrdfLoop(name, kind, parent, child, in_parent, in_child, axis)


def _read_name_and_kind(element: ET.Element) -> tuple[str, JointKind, str]:
    """Read name and kind; return them with the start of error messages."""
    name = element.get("name") or ""
    where = f"joint {name!r}"
    if not name:
        raise InvalidFile(f"a <{element.tag}> that closes a loop has no attribute name.", "name")
    kind = element.get("type") or ""
    if kind not in KINDS:
        raise Unsupported(
            f"{where} closes a loop and is of type {kind!r}, which is not supported: use one of"
            f" {', '.join(KINDS)}.",
            name,
        )
    return name, KINDS[kind], where


def _read_axis(element: ET.Element, kind: JointKind, where: str) -> NDArray[np.float64]:
    axis = element.find("axis")
    given = "1 0 0" if axis is None else axis.get("xyz", "1 0 0")
    return _check_axis(parse_numbers(given, 3, f"{where}: xyz of <axis>"), kind, where)


def _check_axis(axis: NDArray[np.float64], kind: JointKind, where: str) -> NDArray[np.float64]:
    if kind in ("hinge", "slide") and not axis.any():
        raise InvalidModel(f"{where}: the axis must not be zero.", "axis")
    return axis


def _read_link_name(element: ET.Element, tag: str, where: str) -> str:
    """Read the name of a link, as SDF's text or URDF's attribute."""
    end = element.find(tag)
    link = "" if end is None else (end.get("link") or end.text or "").strip()
    if not link:
        raise InvalidFile(f"{where}: the <joint> in <gazebo> has no <{tag}>.", tag)
    return link
