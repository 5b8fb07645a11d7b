"""Export of mechanisms as URDF, to run the same robot in other simulators.

The file has the tree, inertias, joint axes and damping, mimic joints, contact candidates as spheres
and rims as discs. The free joint of a floating robot is omitted: its first link is the root. Links
and joints are named after bodies and joints. Format: URDF specification (wiki.ros.org/urdf/XML).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from scipy.spatial.transform import Rotation

from tarsus.errors import Unsupported
from tarsus.model.mechanism import WORLD, Body, Candidate, Mechanism

KINDS = {"hinge": "continuous", "slide": "prismatic"}
DISC_LENGTH = 1e-9  # m
NO_LIMIT = 1e6  # N m, N, m, rad/s or m/s


def to_urdf(mechanism: Mechanism) -> str:
    """Write a mechanism as URDF text.

    Raises
    ------
    Unsupported
        If it has loops, tendons, ball joints, several roots, ellipsoids, or nonlinear couplings,
        which URDF cannot describe.
    """
    roots = [body for body in mechanism.bodies if body.parent == WORLD]
    others = [body for body in mechanism.bodies if body not in roots]
    outlines = [c for c in mechanism.candidates if c.outline is not None]
    if any(c.outline.half_axes()[0][2] > 0 for c in outlines if c.outline is not None):
        raise Unsupported(
            f"{mechanism.name!r} has ellipsoids, which URDF cannot describe.", mechanism.name
        )
    odd = [body.joint.name for body in others if body.joint.kind not in KINDS]
    if mechanism.loops or mechanism.tendons or odd or len(roots) != 1 or not mechanism.floating:
        raise Unsupported(
            f"{mechanism.name!r} cannot be written as URDF, which describes one root on a free"
            " joint, hinges and slides below it, and no loops or tendons.",
            mechanism.name,
        )
    for coupling in mechanism.couplings:
        if not coupling.linear or len(coupling.leaders) != 1:
            raise Unsupported(
                f"coupling {coupling.name!r} cannot be written as URDF, where a mimic joint must be"
                " a linear function of another joint.",
                coupling.name,
            )
    robot = Element("robot", name=mechanism.name)
    for number, body in enumerate(mechanism.bodies):
        _add_link(robot, body, [c for c in mechanism.candidates if c.body == number])
    for body in others:
        _add_joint(robot, body, mechanism.bodies[body.parent].name)
    for coupling in mechanism.couplings:
        (leader,) = coupling.leaders
        row = {
            "joint": leader.joint,
            "multiplier": repr(leader.at(1.0)),
            "offset": repr(coupling.constant),
        }
        follower = robot.find(f"joint[@name='{coupling.joint}']")
        assert follower is not None
        SubElement(follower, "mimic", row)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode")


def _add_link(robot: Element, body: Body, candidates: Iterable[Candidate]) -> None:
    link = SubElement(robot, "link", name=body.name)
    inertial, I = SubElement(link, "inertial"), body.inertia.about_com  # noqa: E741
    SubElement(inertial, "origin", xyz=_text(body.inertia.com), rpy="0 0 0")
    SubElement(inertial, "mass", value=repr(float(body.inertia.mass)))
    entries = {"ixx": I[0, 0], "ixy": I[0, 1], "ixz": I[0, 2]}
    entries |= {"iyy": I[1, 1], "iyz": I[1, 2], "izz": I[2, 2]}
    SubElement(inertial, "inertia", {name: repr(float(entry)) for name, entry in entries.items()})
    for candidate in candidates:
        outline, rpy = candidate.outline, np.zeros(3)
        if outline is not None and not outline.first:
            continue  # other points of a disc
        size = {"radius": repr(float(candidate.radius))}
        if outline is not None:
            half, axes = outline.half_axes()
            rpy = Rotation.from_matrix(axes).as_euler("xyz")
            size = {"radius": repr(float(half[0] + candidate.radius)), "length": repr(DISC_LENGTH)}
        collision = SubElement(link, "collision", name=candidate.name)
        SubElement(collision, "origin", xyz=_text(candidate.position), rpy=_text(rpy))
        geometry = SubElement(collision, "geometry")
        SubElement(geometry, "sphere" if outline is None else "cylinder", size)


def _add_joint(robot: Element, body: Body, parent: str) -> None:
    joint = SubElement(robot, "joint", name=body.joint.name, type=KINDS[body.joint.kind])
    rpy = Rotation.from_matrix(np.array(body.rotation)).as_euler("xyz")
    SubElement(joint, "origin", xyz=_text(body.position), rpy=_text(rpy))
    SubElement(joint, "parent", link=parent)
    SubElement(joint, "child", link=body.name)
    SubElement(joint, "axis", xyz=_text(body.joint.axis))
    SubElement(joint, "dynamics", damping=repr(float(body.joint.damping)), friction="0.0")
    limits = {"effort": repr(NO_LIMIT), "velocity": repr(NO_LIMIT)}
    if body.joint.kind == "slide":
        limits |= {"lower": repr(-NO_LIMIT), "upper": repr(NO_LIMIT)}
    SubElement(joint, "limit", limits)


def _text(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
