"""Reader of SDF files: links and joints become a tree, and joints outside it close loops."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidModel, Unsupported, join_names, unknown_name_error
from tarsus.model.file_actuators import create_motor
from tarsus.model.files import from_text_or_file, reject_xacro, xml_root
from tarsus.model.fixed_base import check_height, fix_base
from tarsus.model.joint import Joint, JointKind
from tarsus.model.links import BASE_JOINTS, SHAPES, Link, report_shapes
from tarsus.model.mechanism import WORLD, Actuator, Inertia, LoopJoint, Mechanism
from tarsus.model.mimics import create_mimic_couplings, without_leaders
from tarsus.model.parts import MAX_LISTED, Part, Report, WeldResult, weld, without_massless
from tarsus.model.poses import Pose, invert, quaternion_from_rotation, transform_inertia
from tarsus.model.robot_files import RobotFiles
from tarsus.model.sdf_elements import (
    SdfJoint,
    find_missing_visuals,
    read_color,
    read_joint,
    read_link,
    read_shapes,
)
from tarsus.model.sdf_frames import WORLD_LINK, Frames, read_frames, read_name
from tarsus.model.sdf_gearboxes import create_gearbox_couplings
from tarsus.model.sdf_model import find_model, read_gravity, report_ignored
from tarsus.model.sdf_motors import choose_driven_joints
from tarsus.model.sdf_tree import SdfTree, spanning_tree
from tarsus.model.visuals import DrawnLink, create_visuals, drawn_tag

Array = NDArray[np.float64]
KINDS: dict[str, JointKind] = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "ball": "ball",
    "fixed": "fixed",
}
AXES_IN_JOINT = (1, 5)  # version from which on axes are in the joint's frame
DRAWN = "qpos0"  # keyframe with every body where the file draws it


def read_sdf(
    source: str | Path,
    packages: Mapping[str, str | Path] | None = None,
    floating: bool = True,
    shapes: str = "collision",
    driven: Sequence[str] | None = None,
    height: float | None = None,
    asset_folders: Sequence[str | Path] = (),
) -> Mechanism:
    """Read an SDF file with one model.

    Parameters
    ----------
    source
        Path of the file, or SDF text (a string that begins with <).
    packages
        Folders by name, for model:// meshes that are not found near the file.
    floating
        Put the root link on a free joint, unless a joint connects the model to the world.
    shapes
        Elements whose shapes collide: "collision" or "visual".
    driven
        Names of the joints with motors. By default these are the joints with an effort; if there
        is none, the joints with a range and without a spring, of each closed loop only one.
    height
        Height of the root's frame in the world with floating=False, in m, instead of the file's.
    asset_folders
        Further folders that the model's files may lie in.

    Returns
    -------
    Mechanism
        The robot; its `notes` list what is unsupported.

    Raises
    ------
    TarsusError
        If the file, or a mesh that it needs, is missing or invalid.
    """
    check_height(floating, height)
    if shapes not in SHAPES:
        raise unknown_name_error("kind of shapes", str(shapes), SHAPES)

    def read(text: str | bytes, file: str, path: Path | None) -> Mechanism:
        files = RobotFiles.of(path, packages, asset_folders)
        mechanism = _build_mechanism(text, file, files, shapes, driven)
        return mechanism if floating else fix_base(mechanism, height)

    return from_text_or_file(source, "SDF text", read)


def _build_mechanism(
    text: str | bytes,
    file: str,
    files: RobotFiles,
    shapes: str,
    driven: Sequence[str] | None,
) -> Mechanism:
    """Build the mechanism of an SDF text."""
    report = Report(file)
    root = xml_root(text)
    reject_xacro(root)
    model, version, unread = find_model(root, shapes)
    frames = read_frames(model)
    links = [read_link(e, frames, files, shapes) for e in model.findall("link")]
    joints, links = _read_joints(model, frames, links, version < AXES_IN_JOINT)
    report_shapes(links, shapes, find_missing_visuals(model, files), files, report)
    report_ignored(model, joints, unread, report)
    gearboxes = [joint for joint in joints if joint.gearbox]
    tree = spanning_tree([link.name for link in links], [j for j in joints if j not in gearboxes])
    parts, poses = _create_parts({link.name: link for link in links}, tree, frames)
    welded = weld(without_massless(parts, report), report)
    loops = _build_loops(tree, welded, poses, report)
    visuals = create_visuals(
        _list_drawn_links(model, frames, tree, welded, poses), welded.bodies, read_color
    )
    moving = [b.joint.name for b in welded.bodies if b.joint.kind in ("hinge", "slide")]
    mimics = {joint.name: joint.mimic for joint in joints if joint.mimic}
    for name in without_leaders(mimics, {joint.name for joint in joints}, report):
        del mimics[name]
    couplings = create_gearbox_couplings(gearboxes, tree, report)
    couplings += create_mimic_couplings(mimics, moving, report)
    mechanism = Mechanism(
        name=model.get("name") or "robot",
        bodies=welded.bodies,
        candidates=welded.candidates,
        edges=welded.edges,
        solids=welded.solids,
        frames=welded.frames,
        loops=loops,
        couplings=couplings,
        visuals=visuals,
    )
    motors = choose_driven_joints(mechanism, tree, driven, report)
    return replace(
        mechanism,
        actuators=tuple(Actuator(j.name, j.name, -j.effort, j.effort) for j in motors),
        file_actuators=tuple(
            create_motor(j.name, j.effort, j.velocity) for j in motors if np.isfinite(j.effort)
        ),
        gravity_acceleration=read_gravity(root),
        keyframes={
            DRAWN: _create_drawn_coordinates(
                mechanism, invert(frames[WORLD_LINK]) @ poses[tree.order[0]]
            )
        },
        notes=tuple(report.notes),
        unsupported=tuple(report.unsupported),
    )


def _read_joints(
    model: ET.Element, frames: Frames, links: list[Link], old: bool
) -> tuple[list[SdfJoint], list[Link]]:
    """Read the joints and the links; the world is the first link if a joint names it."""
    elements = model.findall("joint")
    joined = {(e.findtext(end) or "").strip() for e in elements for end in ("parent", "child")}
    if WORLD_LINK in joined and WORLD_LINK not in {link.name for link in links}:
        links = [Link(WORLD_LINK, Inertia(0.0)), *links]
    names = [link.name for link in links]
    joints = [read_joint(element, frames, names, old) for element in elements]
    for joint in joints:
        if joint.kind not in KINDS and not joint.gearbox:
            known = ", ".join([*KINDS, "gearbox"])
            raise Unsupported(
                f"joint {joint.name!r} is of type {joint.kind!r}, which is not supported: replace"
                f" it by joints of these types: {known}.",
                joint.name,
            )
        if joint.parent == joint.child:
            raise InvalidModel(
                f"joint {joint.name!r} connects the link {joint.child!r} to itself.", joint.name
            )
    return joints, links


def _create_parts(
    links: Mapping[str, Link],
    tree: SdfTree,
    frames: Frames,
) -> tuple[list[Part], dict[str, Pose]]:
    """Order the links depth-first; compute the body frame of each in the model's frame.

    A body frame has its origin at the joint and the axes of the link.
    """
    root = tree.order[0]
    names = {joint.name for joint in tree.parent_joints.values()}
    base = None
    if root != WORLD_LINK:
        base = Joint(next(name for name in BASE_JOINTS if name not in names), "free")
    # a free joint gives the pose of the root by its coordinates
    poses = {root: frames[root]}
    fixed = invert(frames[WORLD_LINK]) @ frames[root] if base is None else Pose()
    parts = [_create_part(links[root], WORLD, fixed, base, Pose())]
    number = {name: n for n, name in enumerate(tree.order)}
    for name in tree.order[1:]:
        joint = tree.parent_joints[name]
        poses[name] = Pose(joint.anchor, frames[name].rotation)
        link_pose = invert(poses[name]) @ frames[name]
        pose = invert(poses[joint.parent]) @ poses[name]
        motion = _build_motion(joint, poses[name])
        parts.append(_create_part(links[name], number[joint.parent], pose, motion, link_pose))
    return parts, poses


def _create_part(link: Link, parent: int, pose: Pose, joint: Joint | None, link_pose: Pose) -> Part:
    """Convert a link to a part, whose frame is at the joint, given the link's pose in it."""
    shapes = tuple(shape.at(link_pose) for shape in link.shapes)
    return Part(link.name, parent, pose, joint, transform_inertia(link.inertia, link_pose), shapes)


def _build_motion(joint: SdfJoint, child: Pose) -> Joint | None:
    """Build the mechanism's joint in the frame of its child, None if it is fixed."""
    kind = KINDS[joint.kind]
    if kind == "fixed":
        return None
    if kind == "ball":
        return Joint(joint.name, kind)
    return Joint(
        joint.name,
        kind,
        axis=child.rotation.T @ joint.axis,
        lower=joint.lower if joint.limited else -np.inf,
        upper=joint.upper if joint.limited else np.inf,
        damping=joint.damping,
        dry_friction=joint.friction,
        velocity_limit=joint.velocity if joint.velocity > 0 else np.inf,
        stiffness=joint.stiffness,
        rest=joint.rest,
    )


def _build_loops(
    tree: SdfTree, welded: WeldResult, poses: Mapping[str, Pose], report: Report
) -> tuple[LoopJoint, ...]:
    """Build the joints outside the tree."""
    loops, limited = [], []
    for joint in tree.loop_joints:
        (parent, parent_pose), (child, child_pose) = (
            _find_body_frame(welded, tree, poses, link) for link in (joint.parent, joint.child)
        )
        if child == WORLD:
            (parent, parent_pose), (child, child_pose) = (child, child_pose), (parent, parent_pose)
        if parent == child:
            report.ignore(f"The joint {joint.name} is ignored: its links are welded together.")
            continue
        motion = _build_motion(joint, child_pose) or Joint(joint.name, "fixed")
        if joint.limited:
            limited.append(joint.name)
        motion = replace(motion, lower=-np.inf, upper=np.inf)
        anchors = [invert(pose).point(joint.anchor) for pose in (parent_pose, child_pose)]
        rotation = parent_pose.rotation.T @ child_pose.rotation
        loops.append(LoopJoint(motion, parent, child, anchors[0], rotation, anchors[1]))
    if limited:
        listed = join_names(limited, MAX_LISTED)
        report.ignore(f"Ranges of joints that close loops are ignored: {listed}.")
    return tuple(loops)


def _list_drawn_links(
    model: ET.Element, frames: Frames, tree: SdfTree, welded: WeldResult, poses: Mapping[str, Pose]
) -> Iterator[DrawnLink]:
    """Yield the links with their visual shapes."""
    tag = drawn_tag(model)
    for element in model.findall("link"):
        name = read_name(element)
        host, body_pose = _find_body_frame(welded, tree, poses, name)
        pose = invert(frames[WORLD_LINK] if host == WORLD else body_pose) @ frames[name]
        yield DrawnLink(name, host, pose, element.findall(tag), read_shapes(name, frames))


def _find_body_frame(
    welded: WeldResult, tree: SdfTree, poses: Mapping[str, Pose], link: str
) -> tuple[int, Pose]:
    """Find the body of a link, and the body's frame in the model's frame."""
    host, in_body = welded.part_poses[tree.order.index(link)]
    if host == WORLD:
        return WORLD, poses[WORLD_LINK] if WORLD_LINK in poses else Pose()
    return host, poses[link] @ invert(in_body)


def _create_drawn_coordinates(mechanism: Mechanism, root: Pose) -> Array:
    """Create coordinates with all joints at zero and the root where the file puts it."""
    q = mechanism.neutral()
    if mechanism.floating:
        q[:3], q[3:7] = root.position, quaternion_from_rotation(root.rotation)
    return q
