"""SDF files: a model's links and joints as a tree, the joints outside it closing loops."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidModel, Unsupported, join_names, unknown_name
from tarsus.model.file_actuators import motor
from tarsus.model.files import check_expanded, from_text_or_file, xml_root
from tarsus.model.held import check_height, held
from tarsus.model.joint import Joint, JointKind
from tarsus.model.links import BASE_JOINTS, SHAPES, Link, report_shapes
from tarsus.model.mechanism import WORLD, Actuator, Inertia, LoopJoint, Mechanism
from tarsus.model.mimics import mimic_couplings, without_leaders
from tarsus.model.parts import Part, Report, Welded, weld, without_massless
from tarsus.model.poses import Pose, moved, quaternion_from_rotation
from tarsus.model.robot_files import RobotFiles
from tarsus.model.sdf_elements import (
    SdfJoint,
    color_of,
    joint_of,
    link_of,
    missing_visuals,
    shapes_of,
)
from tarsus.model.sdf_frames import WORLD_LINK, Frames, frames_of, inverse, name_of
from tarsus.model.sdf_gearboxes import gearbox_couplings
from tarsus.model.sdf_model import gravity_of, model_of, report_ignored
from tarsus.model.sdf_motors import driven_joints
from tarsus.model.sdf_tree import SdfTree, tree
from tarsus.model.visuals import DrawnLink, drawn_tag, visuals_of

Array = NDArray[np.float64]
KINDS: dict[str, JointKind] = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "ball": "ball",
    "fixed": "fixed",
}
AXES_IN_JOINT = (1, 5)  # the version from which on an axis stands in the joint's frame
DRAWN = "qpos0"  # the keyframe with every body where the file draws it
SOME = 6  # names that a sentence shows


def read_sdf(
    source: str | Path,
    packages: Mapping[str, str | Path] | None = None,
    floating: bool = True,
    shapes: str = "collision",
    driven: Sequence[str] | None = None,
    height: float | None = None,
    asset_folders: Sequence[str | Path] = (),
) -> Mechanism:
    """The mechanism of the one model of an SDF file, or of SDF text (that begins with <).

    packages: folders by name, for model:// meshes that are not found near the file. asset_folders:
    further folders that its files may lie in. floating: hang
    the root link on a free joint, unless a joint ties the model to the world. shapes: as of
    `read_urdf`. driven: the joints with motors, else those with an effort, and where none has one
    those with a range and no spring, of a closed loop one alone. height: with floating=False, of
    the root's frame in the world, m, in place of the file's.
    """
    check_height(floating, height)
    if shapes not in SHAPES:
        raise unknown_name("kind of shapes", str(shapes), SHAPES)

    # with its base held where that is asked
    def read(text: str | bytes, file: str, path: Path | None) -> Mechanism:
        files = RobotFiles.of(path, packages, asset_folders)
        found = _mechanism(text, file, files, shapes, driven)
        return found if floating else held(found, height)

    return from_text_or_file(source, "SDF text", read)


def _mechanism(
    text: str | bytes,
    file: str,
    files: RobotFiles,
    shapes: str,
    driven: Sequence[str] | None,
) -> Mechanism:
    # read links and joints
    report = Report(file)
    root = xml_root(text)
    check_expanded(root)
    model, version, unread = model_of(root, shapes)
    frames = frames_of(model)
    links = [link_of(e, frames, files, shapes) for e in model.findall("link")]
    joints, links = _joints(model, frames, links, version < AXES_IN_JOINT)
    report_shapes(links, shapes, missing_visuals(model, files), files, report)
    report_ignored(model, joints, unread, report)
    # hang them into a tree, and weld what does not move
    gearboxes = [joint for joint in joints if joint.gearbox]
    found = tree([link.name for link in links], [j for j in joints if j not in gearboxes])
    parts, places = _parts({link.name: link for link in links}, found, frames)
    welded = weld(without_massless(parts, report), report)
    loops = _loops(found, welded, places, report)
    visuals = visuals_of(
        _drawn_links(model, frames, found, welded, places), welded.bodies, color_of
    )
    # the mechanism, with a motor for every driven joint
    moving = [b.joint.name for b in welded.bodies if b.joint.kind in ("hinge", "slide")]
    mimics = {joint.name: joint.mimic for joint in joints if joint.mimic}
    for name in without_leaders(mimics, {joint.name for joint in joints}, report):
        del mimics[name]
    followers = gearbox_couplings(gearboxes, found, report)
    followers += mimic_couplings(mimics, moving, report)
    mechanism = Mechanism(
        name=model.get("name") or "robot",
        bodies=welded.bodies,
        candidates=welded.candidates,
        edges=welded.edges,
        solids=welded.solids,
        frames=welded.frames,
        loops=loops,
        couplings=followers,
        visuals=visuals,
    )
    motors = driven_joints(mechanism, found, driven, report)
    return replace(
        mechanism,
        actuators=tuple(Actuator(j.name, j.name, -j.effort, j.effort) for j in motors),
        file_actuators=tuple(
            motor(j.name, j.effort, j.velocity) for j in motors if np.isfinite(j.effort)
        ),
        gravity_acceleration=gravity_of(root),
        keyframes={DRAWN: _drawn(mechanism, inverse(frames[WORLD_LINK]) @ places[found.order[0]])},
        notes=tuple(report.notes),
        left_out=tuple(report.left_out),
    )


def _joints(
    model: ET.Element, frames: Frames, links: list[Link], old: bool
) -> tuple[list[SdfJoint], list[Link]]:
    """The joints; the links, the world first where a joint names it."""
    elements = model.findall("joint")
    tied = {(e.findtext(end) or "").strip() for e in elements for end in ("parent", "child")}
    if WORLD_LINK in tied and WORLD_LINK not in {link.name for link in links}:
        links = [Link(WORLD_LINK, Inertia(0.0)), *links]
    names = [link.name for link in links]
    joints = [joint_of(element, frames, names, old) for element in elements]
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


def _parts(
    links: Mapping[str, Link],
    found: SdfTree,
    frames: Frames,
) -> tuple[list[Part], dict[str, Pose]]:
    """The links depth-first, and the frame of each in the model's: at its joint, with the link's
    axes.
    """
    root = found.order[0]
    names = {joint.name for joint in found.above.values()}
    base = None
    if root != WORLD_LINK:
        base = Joint(next(name for name in BASE_JOINTS if name not in names), "free")
    # the root stands where the file puts it, unless its free joint says where
    places = {root: frames[root]}
    stand = inverse(frames[WORLD_LINK]) @ frames[root] if base is None else Pose()
    parts = [_part(links[root], WORLD, stand, base, Pose())]
    # the others at their joints
    number = {name: n for n, name in enumerate(found.order)}
    for name in found.order[1:]:
        joint = found.above[name]
        places[name] = Pose(joint.anchor, frames[name].rotation)
        inside = inverse(places[name]) @ frames[name]
        pose = inverse(places[joint.parent]) @ places[name]
        motion = _motion(joint, places[name])
        parts.append(_part(links[name], number[joint.parent], pose, motion, inside))
    return parts, places


def _part(link: Link, parent: int, pose: Pose, joint: Joint | None, inside: Pose) -> Part:
    """A link in a frame at its joint; inside: where its own stands in that."""
    shapes = tuple(shape.at(inside) for shape in link.shapes)
    return Part(link.name, parent, pose, joint, moved(link.inertia, inside), shapes)


def _motion(joint: SdfJoint, place: Pose) -> Joint | None:
    """Our joint in the frame `place` of its child, None if it is fixed."""
    kind = KINDS[joint.kind]
    if kind == "fixed":
        return None
    if kind == "ball":
        return Joint(joint.name, kind)
    return Joint(
        joint.name,
        kind,
        axis=place.rotation.T @ joint.axis,
        lower=joint.lower if joint.limited else -np.inf,
        upper=joint.upper if joint.limited else np.inf,
        damping=joint.damping,
        dry_friction=joint.friction,
        velocity_limit=joint.velocity if joint.velocity > 0 else np.inf,
        stiffness=joint.stiffness,
        rest=joint.rest,
    )


def _loops(
    found: SdfTree, welded: Welded, places: Mapping[str, Pose], report: Report
) -> tuple[LoopJoint, ...]:
    """The joints outside the tree."""
    loops, limited = [], []
    for joint in found.outside:
        (parent, there), (child, here) = (
            _place(welded, found, places, link) for link in (joint.parent, joint.child)
        )
        if child == WORLD:
            (parent, there), (child, here) = (child, here), (parent, there)
        if parent == child:
            report.leave(f"The joint {joint.name} joins what is welded together: it is left out.")
            continue
        # in the child's axes
        motion = _motion(joint, here) or Joint(joint.name, "fixed")
        if joint.limited:
            limited.append(joint.name)
        motion = replace(motion, lower=-np.inf, upper=np.inf)
        anchor = [inverse(place).point(joint.anchor) for place in (there, here)]
        turned = there.rotation.T @ here.rotation
        loops.append(LoopJoint(motion, parent, child, anchor[0], turned, anchor[1]))
    if limited:
        report.leave(
            f"Ranges of joints that close loops are left out: {join_names(limited, SOME)}."
        )
    return tuple(loops)


def _drawn_links(
    model: ET.Element, frames: Frames, found: SdfTree, welded: Welded, places: Mapping[str, Pose]
) -> Iterator[DrawnLink]:
    """Yield the links with the shapes that pictures show."""
    tag = drawn_tag(model)
    for element in model.findall("link"):
        name = name_of(element)
        host, there = _place(welded, found, places, name)
        pose = inverse(frames[WORLD_LINK] if host == WORLD else there) @ frames[name]
        yield DrawnLink(name, host, pose, element.findall(tag), shapes_of(name, frames))


def _place(
    welded: Welded, found: SdfTree, places: Mapping[str, Pose], link: str
) -> tuple[int, Pose]:
    """The body that carries a link, and the body's frame in the model's."""
    host, here = welded.places[found.order.index(link)]
    if host == WORLD:
        return WORLD, places[WORLD_LINK] if WORLD_LINK in places else Pose()
    return host, places[link] @ inverse(here)


def _drawn(mechanism: Mechanism, root: Pose) -> Array:
    """All joints at zero, (nq,), the root where the file puts it."""
    q = mechanism.neutral()
    if mechanism.floating:
        q[:3], q[3:7] = root.position, quaternion_from_rotation(root.rotation)
    return q
