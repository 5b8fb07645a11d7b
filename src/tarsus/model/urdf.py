"""Reader of URDF files: links and joints become a tree, extension elements close loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tarsus.errors import InvalidModel, Unsupported, unknown_name_error
from tarsus.model.file_actuators import create_motor
from tarsus.model.file_schema import walk
from tarsus.model.files import from_text_or_file, reject_xacro, xml_root
from tarsus.model.fixed_base import check_height
from tarsus.model.joint import Joint, JointKind
from tarsus.model.links import BASE_JOINTS, MAX_LINKS, SHAPES, Link, check_names, report_shapes
from tarsus.model.mechanism import WORLD, Actuator, Mechanism
from tarsus.model.mimics import create_mimic_couplings, without_leaders
from tarsus.model.motors import select_one_per_loop, with_motors
from tarsus.model.parts import Part, Report, weld, without_massless
from tarsus.model.poses import Pose
from tarsus.model.robot_files import RobotFiles
from tarsus.model.urdf_elements import (
    LIMITED,
    MOVING,
    UrdfJoint,
    find_missing_visuals,
    read_colors,
    read_joint,
    read_link,
    read_shapes,
)
from tarsus.model.urdf_loops import (
    build_loops,
    list_children_without_loops,
    read_loops,
    warn_of_mechanisms,
)
from tarsus.model.urdf_schema import URDF
from tarsus.model.visuals import DrawnLink, create_visuals, drawn_tag

KINDS: dict[str, JointKind] = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "floating": "free",
}


def read_urdf(
    source: str | Path,
    packages: Mapping[str, str | Path] | None = None,
    floating: bool = True,
    shapes: str = "collision",
    height: float | None = None,
    asset_folders: Sequence[str | Path] = (),
    driven: Sequence[str] | None = None,
) -> Mechanism:
    """Read a URDF file.

    Parameters
    ----------
    source
        Path of the file, or URDF text (a string that begins with <).
    packages
        Folders of ROS packages by name, for package:// meshes that are not found near the file.
    floating
        Put the root link on a free joint. A root link is fixed in any case if it is named world,
        or if it has no mass and carries a single joint.
    shapes
        Elements whose shapes collide: "collision", or "visual" for a file without
        collision shapes.
    height
        Height of the root link's frame in the world with floating=False, in m; by default 0.
    asset_folders
        Further folders that the robot's files and packages may lie in.
    driven
        Names of the joints with motors; by default these are the joints with an effort.

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
    options = floating, shapes, Pose(np.array([0.0, 0.0, height or 0.0]))

    def read(text: str | bytes, file: str, path: Path | None) -> Mechanism:
        files = RobotFiles.of(path, packages, asset_folders)
        mechanism = _build_mechanism(text, file, files, *options)
        return mechanism if driven is None else with_motors(mechanism, driven)

    return from_text_or_file(source, "URDF text", read)


def _build_mechanism(
    text: str | bytes,
    file: str,
    files: RobotFiles,
    floating: bool,
    shapes: str,
    base: Pose,
) -> Mechanism:
    """Build the mechanism of a URDF text; `base` is the pose of a root link fixed to the world."""
    robot = xml_root(text)
    reject_xacro(robot)
    if len(robot.findall("link")) > MAX_LINKS:
        raise Unsupported(f"the robot has more than {MAX_LINKS} links, the limit.", "link")
    report = Report(file)
    skipped = [kind for kind in SHAPES if kind != shapes]
    unread = walk(robot, URDF, "robot", skipped, list_children_without_loops)
    links = [read_link(element, files, shapes) for element in robot.findall("link")]
    joints = [read_joint(element) for element in robot.findall("joint")]
    mimics = {joint.name: joint.mimic for joint in joints if joint.mimic}
    lost = without_leaders(mimics, {joint.name for joint in joints}, report)
    joints = [replace(joint, mimic=None) if joint.name in lost else joint for joint in joints]
    report_shapes(links, shapes, find_missing_visuals(robot, files), files, report)
    unread.report(report)
    warn_of_mechanisms(robot, report)
    root, children = _find_tree(links, joints)
    named = {link.name: link for link in links}
    floats = floating and root != "world" and not _is_massless_root(named, root, children)
    if floating and not floats and root != "world":
        addition = " and its inertia is ignored" if named[root].inertia.about_com.any() else ""
        report.warn(
            f"the root link {root!r} has no mass, so it is fixed to the world{addition}.",
            "massless-root-fixed",
            root,
        )
    parts = _create_parts(named, root, children, None if floats else base)
    welded = weld(without_massless(parts, report), report)
    tag = drawn_tag(robot)
    hosts = {part.name: pose for part, pose in zip(parts, welded.part_poses, strict=True)}
    drawn = [
        DrawnLink(name, *hosts[name], link.findall(tag), read_shapes(name))
        for link in robot.findall("link")
        if (name := str(link.get("name"))) in hosts
    ]
    visuals = create_visuals(drawn, welded.bodies, read_colors(robot))
    _report_joints([joint for joint in joints if joint.name in welded.joint_names], report)
    moving = {j.name for j in joints if j.kind in MOVING and j.name in welded.joint_names}
    mimics = {joint.name: joint.mimic for joint in joints if joint.mimic}
    coupled = create_mimic_couplings(mimics, moving, report)
    mechanism = Mechanism(
        name=robot.get("name") or "robot",
        bodies=welded.bodies,
        candidates=welded.candidates,
        edges=welded.edges,
        solids=welded.solids,
        frames=welded.frames,
        loops=build_loops(read_loops(robot), parts, welded, report),
        couplings=coupled,
        visuals=visuals,
    )
    motors = _choose_motors(mechanism, joints, report)
    return replace(
        mechanism,
        actuators=tuple(Actuator(j.name, j.name, -j.effort, j.effort) for j in motors),
        file_actuators=tuple(create_motor(j.name, j.effort, j.velocity) for j in motors),
        notes=tuple(report.notes),
        unsupported=tuple(report.unsupported),
    )


def _find_tree(
    links: list[Link], joints: list[UrdfJoint]
) -> tuple[str, dict[str, list[UrdfJoint]]]:
    """Find the root link, and the joints below each link.

    Raises
    ------
    InvalidModel
        If the links and joints do not form a tree.
    """
    names = [link.name for link in links]
    if not names:
        raise InvalidModel("the robot has no <link>.", "link")
    check_names(names, [joint.name for joint in joints])
    # the joint above each link and those below it
    above: dict[str, UrdfJoint] = {}
    children: dict[str, list[UrdfJoint]] = {name: [] for name in names}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in children:
                raise unknown_name_error("link", link, names).with_context(f"joint {joint.name!r}")
        if joint.child in above:
            raise InvalidModel(
                f"the link {joint.child!r} is the child of two joints,"
                f" {above[joint.child].name!r} and {joint.name!r}: close the loop with a"
                " <loop_joint> instead.",
                joint.child,
            )
        above[joint.child] = joint
        children[joint.parent].append(joint)
    roots = [name for name in names if name not in above]
    if len(roots) > 1:
        raise InvalidModel(
            f"the links {', '.join(map(repr, roots))} have no parent, but a robot must have exactly"
            " one root link.",
            roots[1],
        )
    reached = [roots[0]] if roots else []
    for name in reached:
        reached += [joint.child for joint in children[name]]
    circle = [name for name in names if name not in reached]
    if circle:
        raise InvalidModel(
            f"the joints of the links {', '.join(map(repr, circle))} form a circle that no root"
            " link leads to.",
            circle[0],
        )
    return roots[0], children


def _is_massless_root(
    links: dict[str, Link], root: str, children: dict[str, list[UrdfJoint]]
) -> bool:
    """Return whether the root link would move without any force on a free joint.

    The root, and all that is fixed to it, then have no mass and carry a single moving joint. An
    inertia without a mass does not count.
    """
    fixed, moving = [root], list[UrdfJoint]()
    for link in fixed:
        fixed += [joint.child for joint in children[link] if joint.kind == "fixed"]
        moving += [joint for joint in children[link] if joint.kind != "fixed"]
    mass = any(links[link].inertia.mass for link in fixed)
    return not mass and len(moving) == 1 and moving[0].kind != "floating"


def _create_parts(
    links: dict[str, Link],
    root: str,
    children: dict[str, list[UrdfJoint]],
    fixed: Pose | None,
) -> list[Part]:
    """Order the links depth-first, children in the order of the file.

    Parameters
    ----------
    fixed
        Pose of the root in the world; None if it floats.
    """
    names = {joint.name for below in children.values() for joint in below}
    base = None
    if fixed is None:
        base = Joint(next(name for name in BASE_JOINTS if name not in names), "free")
    parts = [_create_part(links[root], WORLD, fixed or Pose(), base)]
    moving = [base is not None]
    stack = [(joint, 0) for joint in reversed(children[root])]
    while stack:
        joint, parent = stack.pop()
        motion = _build_motion(joint)
        pose = joint.pose
        # the coordinates of a floating joint are a pose in the world
        if motion is not None and motion.kind == "free":
            if moving[parent]:
                raise Unsupported(
                    f"joint {joint.name!r} is floating, but its parent {joint.parent!r} can move:"
                    " the parent of a floating joint must be fixed to the world (try floating=False"
                    " or --fixed-base).",
                    joint.name,
                )
            pose = Pose()
        parts.append(_create_part(links[joint.child], parent, pose, motion))
        moving.append(moving[parent] or motion is not None)
        number = len(parts) - 1
        stack += [(below, number) for below in reversed(children[joint.child])]
    return parts


def _create_part(link: Link, parent: int, pose: Pose, joint: Joint | None) -> Part:
    return Part(link.name, parent, pose, joint, link.inertia, link.shapes)


def _build_motion(joint: UrdfJoint) -> Joint | None:
    """Build the mechanism's joint, None if it is fixed."""
    if joint.kind == "fixed":
        return None
    if joint.kind not in KINDS:
        known = ", ".join([*KINDS, "fixed"])
        raise Unsupported(
            f"joint {joint.name!r} is of type {joint.kind!r}, which is not supported: use one of"
            f" {known}.",
            joint.name,
        )
    limited = joint.kind in LIMITED and joint.lower < joint.upper
    return Joint(
        joint.name,
        KINDS[joint.kind],
        axis=joint.axis if KINDS[joint.kind] != "free" else np.array([0.0, 0.0, 1.0]),
        lower=joint.lower if limited else -np.inf,
        upper=joint.upper if limited else np.inf,
        damping=joint.damping,
        dry_friction=joint.friction,
        velocity_limit=joint.velocity if joint.velocity > 0 else np.inf,
    )


def _is_driven(joint: UrdfJoint) -> bool:
    return joint.kind in MOVING and joint.effort > 0 and not joint.mimic


def _choose_motors(
    mechanism: Mechanism, joints: list[UrdfJoint], report: Report
) -> list[UrdfJoint]:
    """Choose the joints with motors, in the order of the bodies.

    Of the joints of a closed loop without a <limit>, only one has a motor.
    """
    order = [body.joint.name for body in mechanism.bodies]
    driven = [joint for joint in joints if joint.name in order and _is_driven(joint)]
    driven.sort(key=lambda joint: order.index(joint.name))
    one_per_loop = select_one_per_loop(mechanism, [joint.name for joint in driven])
    passive = [j.name for j in driven if np.isinf(j.effort) and j.name not in one_per_loop]
    if passive:
        report.note(
            f"Passive, because another joint of the loop has a motor: {', '.join(passive)}; pass"
            " driven=[...] to choose others."
        )
    return [joint for joint in driven if joint.name not in passive]


def _report_joints(joints: list[UrdfJoint], report: Report) -> None:
    ranges = [j.name for j in joints if j.kind in LIMITED and not j.lower < j.upper]
    if ranges:
        report.warn(
            f"joints without a range of motion are treated as unlimited: {', '.join(ranges)}.",
            "joints-without-range",
            ranges[0],
        )
    moving = [joint for joint in joints if joint.kind in MOVING and not joint.mimic]
    passive = [joint.name for joint in moving if not _is_driven(joint)]
    if passive:
        report.note(f"Passive, because the file gives no effort: {', '.join(passive)}.")
