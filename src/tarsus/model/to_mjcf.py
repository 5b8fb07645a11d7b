"""Export of mechanisms as MJCF, to run the same robot in MuJoCo and compare.

The file has the tree, inertias, joint axes, armature, damping, dry friction with its variation
(which MuJoCo ignores), springs, ranges, motors in the order of the actuators, keyframes, closed
loops, joint couplings and tendons. Contact candidates become spheres, ellipsoids and thin discs
that touch only the floor; frames become sites. MuJoCo's coordinates equal those of the mechanism:
qpos = q, qvel = u (free joint: world position, quaternion (w, x, y, z); world linear velocity,
body-frame angular velocity). Format: MuJoCo XML reference (mujoco.readthedocs.io, chapter XML
Reference).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from tarsus.model.mechanism import WORLD, Body, Candidate, Joint, Mechanism
from tarsus.model.mjcf_friction import add_friction
from tarsus.model.poses import quaternion_from_rotation
from tarsus.model.to_mjcf_loops import add_constraints

NO_LIMIT = 1e10  # for a limit of a range with one limit
POINT_RADIUS = 1e-9  # m, of a candidate of radius zero: MuJoCo requires a positive radius


def to_mjcf(
    mechanism: Mechanism,
    *,
    dt: float = 0.0025,
    friction: float = 0.8,
    floor: bool = True,
    joint_limits: bool = True,
    integrator: str = "Euler",
    solref: tuple[float, float] = (0.02, 1.0),
) -> str:
    """Write a mechanism as MJCF text, with elliptic friction cones.

    Parameters
    ----------
    mechanism
        A robot.
    dt
        Time step, in s.
    friction
        Sliding friction coefficient of every contact.
    floor
        Add a plane at z = 0.
    joint_limits
        Enforce the ranges of joints.
    integrator
        "Euler", "implicit", "implicitfast" or "RK4".
    solref
        MuJoCo's time constant, in s, and damping ratio of contacts.

    Raises
    ------
    Unsupported
        If a loop joint or coupling cannot be written as MJCF.
    """
    root = Element("mujoco", model=mechanism.name)
    SubElement(
        root,
        "compiler",
        angle="radian",
        autolimits="false",
        inertiafromgeom="false",
        boundmass="1e-9",  # MuJoCo has no massless bodies
        boundinertia="1e-12",
    )
    SubElement(
        root,
        "option",
        timestep=repr(float(dt)),
        gravity=numbers(mechanism.gravity_acceleration),
        cone="elliptic",
        integrator=integrator,
    )
    default = SubElement(root, "default")
    contact = {
        "condim": "3",
        "friction": numbers((friction, 0.005, 0.0001)),
        "solref": numbers(solref),
    }
    SubElement(default, "geom", {"mass": "0"} | contact)
    world = SubElement(root, "worldbody")
    if floor:
        plane = {"type": "plane", "size": "0 0 1", "contype": "1", "conaffinity": "0"}
        if any(candidate.resists_rotation for candidate in mechanism.candidates):
            plane["friction"] = numbers((friction, 0, 0))  # the larger one of both geoms counts
        SubElement(world, "geom", {"name": "floor"} | plane)
    bodies = [world, *_add_bodies(world, mechanism, joint_limits, friction)]
    add_constraints(root, bodies, mechanism, dt, numbers)
    add_tendons(root, bodies, mechanism, joint_limits)
    _add_motors(SubElement(root, "actuator"), mechanism)
    for body in mechanism.bodies:
        if body.joint.friction:
            add_friction(root, body.joint.name, body.joint.friction)
    keyframe = SubElement(root, "keyframe")
    for name, q in mechanism.keyframes.items():
        SubElement(keyframe, "key", name=name, qpos=numbers(q))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _add_bodies(
    world: Element, mechanism: Mechanism, joint_limits: bool, friction: float
) -> list[Element]:
    elements: list[Element] = []
    for body in mechanism.bodies:
        parent = world if body.parent == WORLD else elements[body.parent]
        elements.append(_add_body(parent, body, joint_limits))
    for candidate in mechanism.candidates:
        row = {"name": candidate.name, "pos": numbers(candidate.position), "contype": "0"}
        if candidate.resists_rotation:
            row["condim"] = "6" if candidate.rolling_friction else "4"
            row["friction"] = numbers(
                (friction, candidate.torsional_friction, candidate.rolling_friction)
            )
        SubElement(elements[candidate.body], "geom", row | _create_shape(candidate))
    for frame in mechanism.frames:
        pose = {
            "pos": numbers(frame.position),
            "quat": numbers(quaternion_from_rotation(frame.rotation)),
        }
        SubElement(elements[frame.body], "site", {"name": frame.name} | pose)
    return elements


def _create_shape(candidate: Candidate) -> dict[str, str]:
    """Create the attributes of a candidate's geom: a sphere, an ellipsoid, or a disc for a rim.

    A torus, which MuJoCo does not have, is an ellipsoid as wide and as high. The other points of a
    rim touch nothing, because MuJoCo's disc includes them.
    """
    outline, touching = candidate.outline, {"conaffinity": "1"}
    if outline is None:
        size = max(float(candidate.radius), POINT_RADIUS)
        return {"type": "sphere", "size": repr(size)} | touching
    if not outline.first:
        return {"type": "sphere", "size": repr(POINT_RADIUS), "conaffinity": "0"}
    half, axes = outline.half_axes()
    oriented = {"quat": numbers(quaternion_from_rotation(axes))} | touching
    if half[2] > 0 or candidate.radius > 0:
        return {"type": "ellipsoid", "size": numbers(half + candidate.radius)} | oriented
    return {"type": "cylinder", "size": numbers((half[0], POINT_RADIUS))} | oriented


def _add_body(parent: Element, body: Body, joint_limits: bool) -> Element:
    pose = {
        "pos": numbers(body.position),
        "quat": numbers(quaternion_from_rotation(body.rotation)),
    }
    element = SubElement(parent, "body", {"name": body.name} | pose)
    inertia = body.inertia
    i = inertia.about_com
    full = (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2])
    mass = {"mass": repr(float(inertia.mass)), "pos": numbers(inertia.com)}
    if np.any(i):
        SubElement(element, "inertial", mass | {"fullinertia": numbers(full)})
    else:  # MuJoCo accepts zero moments only as a diagonal
        SubElement(element, "inertial", mass | {"diaginertia": "0 0 0"})
    _add_joint(element, body.joint, joint_limits)
    return element


def _add_joint(element: Element, joint: Joint, joint_limits: bool) -> None:
    row = {
        "name": joint.name,
        "type": joint.kind,
        "armature": repr(float(joint.armature)),
        "damping": repr(float(joint.damping)),
        "frictionloss": repr(float(joint.dry_friction)),
    }
    if joint.kind == "ball" and joint.stiffness:
        row["stiffness"] = repr(float(joint.stiffness))
    if joint.kind == "ball" and joint_limits and joint.upper < np.pi:
        row |= {"limited": "true", "range": numbers((0.0, joint.upper))}
    if joint.kind in ("hinge", "slide"):
        row["axis"] = numbers(joint.axis)
        if joint.stiffness:
            row |= {"stiffness": repr(float(joint.stiffness)), "springref": repr(float(joint.rest))}
        if joint_limits and np.isfinite([joint.lower, joint.upper]).any():
            row["limited"] = "true"
            row["range"] = numbers(np.clip([joint.lower, joint.upper], -NO_LIMIT, NO_LIMIT))
    SubElement(element, "joint", row)


def _add_motors(parent: Element, mechanism: Mechanism) -> None:
    for actuator in mechanism.actuators:
        row = {"name": actuator.name, driven_kind(mechanism, actuator.joint): actuator.joint}
        row["gear"] = "1"
        limits = (actuator.lower, actuator.upper)
        if np.isfinite(limits).any():
            row |= {
                "forcelimited": "true",
                "forcerange": numbers(np.clip(limits, -NO_LIMIT, NO_LIMIT)),
            }
        SubElement(parent, "motor", row)


def add_tendons(root: Element, bodies: list[Element], mechanism: Mechanism, limits: bool) -> None:
    """Add the tendons of a mechanism to an MJCF model, with their limits if these are enforced."""
    if not mechanism.tendons:
        return
    found = root.find("tendon")
    parent = SubElement(root, "tendon") if found is None else found
    for tendon in mechanism.tendons:
        row = {"name": tendon.name}
        if limits and np.isfinite([tendon.lower, tendon.upper]).any():
            row["limited"] = "true"
            row["range"] = numbers(np.clip([tendon.lower, tendon.upper], -NO_LIMIT, NO_LIMIT))
        if tendon.stiffness:
            row |= {
                "stiffness": repr(float(tendon.stiffness)),
                "springlength": numbers(tendon.rest),
            }
        row |= {"damping": repr(float(tendon.damping))} if tendon.damping else {}
        if tendon.dry_friction:
            row["frictionloss"] = repr(float(tendon.dry_friction))
        kind = "spatial" if tendon.segments else "fixed"
        element = SubElement(parent, kind, row)
        for k, segment in enumerate(tendon.segments):
            SubElement(element, "pulley", {"divisor": repr(1 / segment.scale)})
            for tip, (body, point) in (("start", segment.start), ("end", segment.end)):
                site = f"{tendon.name}/{k}/{tip}"
                SubElement(bodies[body + 1], "site", {"name": site, "pos": numbers(point)})
                SubElement(element, "site", {"site": site})
        for joint, coefficient in tendon.terms:
            SubElement(element, "joint", {"joint": joint, "coef": numbers((coefficient,))})


def driven_kind(mechanism: Mechanism, name: str) -> str:
    """Return what has a name that an actuator drives: "joint" or "tendon"."""
    return "tendon" if name in [tendon.name for tendon in mechanism.tendons] else "joint"


def numbers(values: Iterable[float]) -> str:
    """Format numbers as an attribute of MJCF, to the last digit."""
    return " ".join(repr(float(value)) for value in values)
