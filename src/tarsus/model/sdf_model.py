"""The one model of an SDF file, and what of it is not read."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from tarsus.errors import InvalidFile, InvalidModel, Unsupported, several
from tarsus.model.links import LINKS
from tarsus.model.mechanism import Mechanism
from tarsus.model.parts import Report
from tarsus.model.sdf_elements import SdfJoint
from tarsus.model.unread import report_unread
from tarsus.model.urdf_elements import parsed

SOME = 6  # names that a sentence shows
READ = {  # what is read of an element, or changes no motion
    "model": (
        "link",
        "joint",
        "frame",
        "pose",
        "self_collide",
        "enable_wind",
        "allow_auto_disable",
    ),
    "link": ("pose", "inertial", "collision", "visual", "self_collide"),
    "joint": (
        "pose",
        "parent",
        "child",
        "axis",
        "axis2",
        "gearbox_ratio",
        "gearbox_reference_body",
    ),
    "collision": ("pose", "geometry", "laser_retro", "max_contacts"),
    "visual": (
        "pose",
        "geometry",
        "material",
        "cast_shadows",
        "transparency",
        "visibility_flags",
        "laser_retro",
        "meta",
    ),
}


def model_of(root: ET.Element) -> tuple[ET.Element, tuple[int, int]]:
    """The one model of a file, and the file's version; TarsusError if there is none to read."""
    # the version
    if root.tag != "sdf":
        raise InvalidFile(f"the root tag must be <sdf>, not <{root.tag}>.", root.tag)
    try:
        major, minor = (int(part) for part in (root.get("version") or "").split("."))
    except ValueError:
        raise InvalidFile(
            "the <sdf> element needs a version, such as version='1.6'.", "version"
        ) from None
    # one model, of links and joints alone
    models = [*root.findall("model"), *root.findall("world/model")]
    if not models:
        raise InvalidFile("the file has no <model>.", "model")
    if len(models) != 1:
        names = ", ".join(repr(model.get("name")) for model in models)
        raise Unsupported(
            f"the file has {len(models)} models ({names}): give one with a single model and without"
            " <include> (`gz sdf -p FILE` expands them).",
            "model",
        )
    model = models[0]
    for tag in ("include", "model"):
        if model.find(tag) is not None:
            raise Unsupported(
                f"a <{tag}> inside the model is not supported: put all links and joints into one"
                " model (`gz sdf -p FILE` expands <include>).",
                tag,
            )
    # that can move
    if model.findtext("static", "").strip().lower() in ("1", "true"):
        raise InvalidModel("the model is static, so nothing in it can move.", "static")
    count = len(model.findall("link"))
    if count == 0:
        raise InvalidModel("the model has no <link>.", "link")
    if count > LINKS:
        raise Unsupported(f"the model has more than the {LINKS} links that Tarsus reads.", "link")
    return model, (major, minor)


def gravity_of(root: ET.Element) -> tuple[float, float, float]:
    """The acceleration of gravity (3,), m/s^2, of the file's <world>, else that of Earth."""
    text = root.findtext("world/gravity")
    if text is None:
        return Mechanism.gravity_acceleration
    found = parsed(text, 3, "<gravity> of the world", subject="gravity")
    x, y, z = (float(g) for g in found)
    return x, y, z


def report_ignored(
    model: ET.Element, joints: Sequence[SdfJoint], touching: str, report: Report
) -> None:
    """Say by name what elements are left out.

    touching: the elements with the links' shapes, "collision" or "visual"
    """
    owners = [model, *model.findall("link"), *model.findall("joint"), *model.iter(touching)]
    report_unread(owners, READ, report)
    balls = [j.name for j in joints if j.kind == "ball" and any((j.damping, j.friction))]
    if balls:
        report.leave(f"Ball joints turn freely, their <dynamics> are left out: {', '.join(balls)}.")
    soft = [
        joint.get("name", "")
        for joint in model.findall("joint")
        if any(joint.find(f"axis/limit/{tag}") is not None for tag in ("stiffness", "dissipation"))
    ]
    if soft:
        named = several(soft, SOME)
        report.leave(f"Stops do not give way, <stiffness> and <dissipation> are left out: {named}.")
    ranges = [j.name for j in joints if j.kind in ("revolute", "prismatic") and not j.limited]
    if ranges:
        report.note(f"Joints without a range of motion: {several(ranges, SOME)}.")
