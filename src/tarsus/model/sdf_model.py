"""The model of an SDF file, and reports of what is not read."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from tarsus.errors import InvalidFile, InvalidModel, Unsupported, join_names
from tarsus.model.file_schema import UnsupportedItems, walk
from tarsus.model.links import MAX_LINKS, SHAPES
from tarsus.model.mechanism import Mechanism
from tarsus.model.parts import MAX_LISTED, Report
from tarsus.model.sdf_elements import SdfJoint
from tarsus.model.sdf_schema import SDF
from tarsus.model.urdf_elements import parse_numbers
from tarsus.model.urdf_loops import warn_of_mechanisms


def find_model(
    root: ET.Element, touching: str = "collision"
) -> tuple[ET.Element, tuple[int, int], UnsupportedItems]:
    """Read the model of a file and the version of the format; list what is unsupported.

    Parameters
    ----------
    root
        Root of the file.
    touching
        Elements whose shapes collide, "collision" or "visual".

    Raises
    ------
    InvalidFile
        If the file is not SDF, or has no model or version.
    InvalidModel
        If nothing in the model can move.
    Unsupported
        If the file has several models, or too many links.
    """
    if root.tag != "sdf":
        raise InvalidFile(f"the root tag must be <sdf>, not <{root.tag}>.", root.tag)
    try:
        major, minor = (int(part) for part in (root.get("version") or "").split("."))
    except ValueError:
        raise InvalidFile(
            "the <sdf> element needs a version, such as version='1.6'.", "version"
        ) from None
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
    if model.findtext("static", "").strip().lower() in ("1", "true"):
        raise InvalidModel("the model is static, so nothing in it can move.", "static")
    count = len(model.findall("link"))
    if count == 0:
        raise InvalidModel("the model has no <link>.", "link")
    if count > MAX_LINKS:
        raise Unsupported(f"the model has more than {MAX_LINKS} links, the limit.", "link")
    return model, (major, minor), unread


def read_gravity(root: ET.Element) -> tuple[float, float, float]:
    """Read the gravitational acceleration of the file's <world>, in m/s², by default Earth's."""
    text = root.findtext("world/gravity")
    if text is None:
        return Mechanism.gravity_acceleration
    x, y, z = parse_numbers(text, 3, "<gravity> of the world", subject="gravity").tolist()
    return x, y, z


def report_ignored(
    model: ET.Element, joints: Sequence[SdfJoint], unsupported: UnsupportedItems, report: Report
) -> None:
    """Report by name which elements are ignored."""
    unsupported.report(report)
    warn_of_mechanisms(model, report)
    balls = [j.name for j in joints if j.kind == "ball" and any((j.damping, j.friction))]
    if balls:
        report.ignore(f"<dynamics> is ignored, ball joints turn freely: {', '.join(balls)}.")
    soft = [
        joint.get("name", "")
        for joint in model.findall("joint")
        if any(joint.find(f"axis/limit/{tag}") is not None for tag in ("stiffness", "dissipation"))
    ]
    if soft:
        listed = join_names(soft, MAX_LISTED)
        report.ignore(f"<stiffness> and <dissipation> are ignored, stops are rigid: {listed}.")
    ranges = [j.name for j in joints if j.kind in ("revolute", "prismatic") and not j.limited]
    if ranges:
        report.note(f"Joints without a range of motion: {join_names(ranges, MAX_LISTED)}.")
