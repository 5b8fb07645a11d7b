"""The one model of an SDF file, and what of it is not read."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from tarsus.errors import InvalidFile, InvalidModel, Unsupported, join_names
from tarsus.model.file_schema import Unread, walk
from tarsus.model.links import LINKS, SHAPES
from tarsus.model.mechanism import Mechanism
from tarsus.model.parts import Report
from tarsus.model.sdf_elements import SdfJoint
from tarsus.model.sdf_schema import SDF
from tarsus.model.urdf_elements import parsed

SOME = 6  # names that a sentence shows


def model_of(
    root: ET.Element, touching: str = "collision"
) -> tuple[ET.Element, tuple[int, int], Unread]:
    """Return the one model of a file, the file's version, and what of the model is left out.

    touching: the elements with the links' shapes, "collision" or "visual"
    """
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
    unread = walk(model, SDF, "model", skip=[kind for kind in SHAPES if kind != touching])
    # that can move
    if model.findtext("static", "").strip().lower() in ("1", "true"):
        raise InvalidModel("the model is static, so nothing in it can move.", "static")
    count = len(model.findall("link"))
    if count == 0:
        raise InvalidModel("the model has no <link>.", "link")
    if count > LINKS:
        raise Unsupported(f"the model has more than the {LINKS} links that Tarsus reads.", "link")
    return model, (major, minor), unread


def gravity_of(root: ET.Element) -> tuple[float, float, float]:
    """The acceleration of gravity (3,), m/s^2, of the file's <world>, else that of Earth."""
    text = root.findtext("world/gravity")
    if text is None:
        return Mechanism.gravity_acceleration
    found = parsed(text, 3, "<gravity> of the world", subject="gravity")
    x, y, z = (float(g) for g in found)
    return x, y, z


def report_ignored(
    model: ET.Element, joints: Sequence[SdfJoint], unread: Unread, report: Report
) -> None:
    """Say by name what elements are left out."""
    unread.report(report)
    balls = [j.name for j in joints if j.kind == "ball" and any((j.damping, j.friction))]
    if balls:
        report.leave(f"Ball joints turn freely, their <dynamics> are left out: {', '.join(balls)}.")
    soft = [
        joint.get("name", "")
        for joint in model.findall("joint")
        if any(joint.find(f"axis/limit/{tag}") is not None for tag in ("stiffness", "dissipation"))
    ]
    if soft:
        named = join_names(soft, SOME)
        report.leave(f"Stops do not give way, <stiffness> and <dissipation> are left out: {named}.")
    ranges = [j.name for j in joints if j.kind in ("revolute", "prismatic") and not j.limited]
    if ranges:
        report.note(f"Joints without a range of motion: {join_names(ranges, SOME)}.")
