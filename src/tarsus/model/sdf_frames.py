"""Frames of an SDF model, in which its poses are given."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping

import numpy as np

from tarsus.errors import InvalidFile, InvalidModel, Unsupported, join_names, unknown_name_error
from tarsus.model.poses import Pose, invert, rotation_from_rpy
from tarsus.model.urdf_elements import parse_numbers

Frames = Mapping[str, Pose]  # poses in the model's frame, by name
MODEL, WORLD_LINK = "__model__", "world"
IDENTITY = "0 0 0 0 0 0"
MAX_DEPTH = 300  # frames whose poses are relative to one another
MAX_LISTED = 4  # names that a sentence lists


def read_frames(model: ET.Element) -> dict[str, Pose]:
    """Compute the frames of model, world and every link, joint and <frame>, with joints at zero."""
    model_pose = _read_relative_pose(model, "the model")
    frames = {MODEL: Pose(), WORLD_LINK: invert(model_pose)}
    elements = {read_name(e): e for tag in ("link", "frame", "joint") for e in model.findall(tag)}
    for name in elements:
        _resolve(name, elements, frames, ())
    return frames


def read_pose(element: ET.Element, where: str, frames: Frames, home: str) -> Pose:
    """Compute an element's pose in the model's frame.

    Parameters
    ----------
    element
        Element with a <pose>.
    where
        Name of the element in error messages.
    frames
        Frames of the model.
    home
        Frame to which the pose is relative if it names no other.
    """
    frame = _read_reference_frame(element) or home
    if frame not in frames:
        raise unknown_name_error("frame", frame, list(frames)).with_context(where)
    return frames[frame] @ _read_relative_pose(element, where)


def read_name(element: ET.Element) -> str:
    """Read the name of a link, joint or frame.

    Raises
    ------
    InvalidFile
        If it has none.
    """
    name = element.get("name")
    if not name:
        raise InvalidFile(f"a <{element.tag}> has no attribute name.", "name")
    return name


def _resolve(
    name: str, elements: Mapping[str, ET.Element], frames: dict[str, Pose], chain: tuple[str, ...]
) -> Pose:
    """Compute the pose of a frame in the model's frame, and add it to `frames`.

    Parameters
    ----------
    chain
        Frames whose poses depend on this one.
    """
    if name in frames:
        return frames[name]
    if name in chain:
        listed = join_names([repr(each) for each in chain], MAX_LISTED)
        raise InvalidModel(
            f"the poses of the frames {listed} are relative to each other in a circle.", name
        )
    if len(chain) > MAX_DEPTH:
        raise Unsupported(
            f"the poses of more than {MAX_DEPTH} frames are relative to one another in a chain:"
            " shorten the chain.",
            name,
        )
    element = elements[name]
    where = f"{element.tag} {name!r}"
    home = {
        "joint": (element.findtext("child") or "").strip(),
        "frame": element.get("attached_to") or MODEL,
    }.get(element.tag, MODEL)
    frame = _read_reference_frame(element) or home
    if frame not in elements and frame not in frames:
        raise unknown_name_error("frame", frame, [*frames, *elements]).with_context(where)
    outer = _resolve(frame, elements, frames, (*chain, name))
    frames[name] = outer @ _read_relative_pose(element, where)
    return frames[name]


def _read_reference_frame(element: ET.Element) -> str:
    """Read the frame that an element's <pose> names, or ""."""
    pose = element.find("pose")
    return "" if pose is None else pose.get("relative_to") or pose.get("frame") or ""


def _read_relative_pose(element: ET.Element, where: str) -> Pose:
    """Read the pose that an element's <pose> gives, in its reference frame."""
    given = element.find("pose")
    if given is None:
        return Pose()
    if given.get("rotation_format", "euler_rpy") != "euler_rpy" or given.get("degrees") == "true":
        raise Unsupported(
            f"{where}: a <pose> must give roll, pitch and yaw in radians; degrees and quaternions"
            " are not supported.",
            "pose",
        )
    text = (given.text or "").strip() or IDENTITY
    values = parse_numbers(text, 6, f"{where}: <pose>", subject="pose")
    rotation = rotation_from_rpy(values[3:]) if values[3:].any() else np.eye(3)
    return Pose(values[:3], rotation)
