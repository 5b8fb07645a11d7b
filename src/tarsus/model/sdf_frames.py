"""The frames of an SDF model that poses may name, all seen from the model's own."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping

import numpy as np

from tarsus.errors import InvalidFile, InvalidModel, Unsupported, join_names, unknown_name
from tarsus.model.poses import Pose, rotation_from_rpy
from tarsus.model.urdf_elements import parsed

Frames = Mapping[str, Pose]  # by name, in the model's frame
MODEL, WORLD_LINK = "__model__", "world"
UNIT = "0 0 0 0 0 0"
DEEP, SOME = 300, 4  # frames that stand in one another at most; names that a sentence shows


def frames_of(model: ET.Element) -> dict[str, Pose]:
    """Of the model, the world and every link, joint and <frame>, each joint at zero."""
    own = _own_pose(model, "the model")
    found = {MODEL: Pose(), WORLD_LINK: inverse(own)}
    elements = {name_of(e): e for tag in ("link", "frame", "joint") for e in model.findall(tag)}
    for name in elements:
        _find(name, elements, found, ())
    return found


def pose_of(element: ET.Element, where: str, frames: Frames, home: str) -> Pose:
    """Of an element with a <pose>, in the model's frame; home: the frame it stands in unless it
    names another.
    """
    frame = _stands_in(element) or home
    if frame not in frames:
        raise unknown_name("frame", frame, list(frames)).within(where)
    return frames[frame] @ _own_pose(element, where)


def name_of(element: ET.Element) -> str:
    """The name of a link, joint or frame; TarsusError if it has none."""
    name = element.get("name")
    if not name:
        raise InvalidFile(f"a <{element.tag}> has no attribute name.", "name")
    return name


def inverse(pose: Pose) -> Pose:
    """The parent's frame of a pose, seen from it."""
    return Pose(-pose.rotation.T @ pose.position, pose.rotation.T)


def _find(
    name: str, elements: Mapping[str, ET.Element], found: dict[str, Pose], asked: tuple[str, ...]
) -> Pose:
    """The pose of a frame in the model's, kept in `found`; asked: those that wait for it."""
    if name in found:
        return found[name]
    if name in asked:
        raise InvalidModel(
            f"the poses of the frames {join_names([repr(each) for each in asked], SOME)} are"
            " relative"
            " to each other in a circle.",
            name,
        )
    if len(asked) > DEEP:
        raise Unsupported(
            f"more than {DEEP} frames have poses relative to one another in a chain: shorten the"
            " chain.",
            name,
        )
    element = elements[name]
    where = f"{element.tag} {name!r}"
    # the frame that it stands in
    home = {
        "joint": (element.findtext("child") or "").strip(),
        "frame": element.get("attached_to") or MODEL,
    }.get(element.tag, MODEL)
    frame = _stands_in(element) or home
    if frame not in elements and frame not in found:
        raise unknown_name("frame", frame, [*found, *elements]).within(where)
    outer = _find(frame, elements, found, (*asked, name))
    found[name] = outer @ _own_pose(element, where)
    return found[name]


def _stands_in(element: ET.Element) -> str:
    """The frame that an element's <pose> names, or none."""
    pose = element.find("pose")
    return "" if pose is None else pose.get("relative_to") or pose.get("frame") or ""


def _own_pose(element: ET.Element, where: str) -> Pose:
    """What its <pose> says, in the frame that it stands in."""
    given = element.find("pose")
    if given is None:
        return Pose()
    if given.get("rotation_format", "euler_rpy") != "euler_rpy" or given.get("degrees") == "true":
        raise Unsupported(
            f"{where}: a <pose> must give roll, pitch and yaw in radians; degrees and quaternions"
            " are not supported.",
            "pose",
        )
    text = (given.text or "").strip() or UNIT
    numbers = parsed(text, 6, f"{where}: <pose>", subject="pose")
    turn = rotation_from_rpy(numbers[3:]) if numbers[3:].any() else np.eye(3)
    return Pose(numbers[:3], turn)
