"""A mechanism as MJCF text, so that the same robot can be run in MuJoCo and compared.

What is kept: the tree, inertias, joint axes, armature, damping, dry friction, springs, ranges,
motors in the order of the actuators, contact candidates as spheres, ellipsoids and thin discs that
touch the floor and nothing else, frames as sites, keyframes, ball, hinge and fixed joints that
close loops, joints that follow others. MuJoCo's coordinates then equal ours: qpos = q, qvel = u
(free joint: world position, quaternion (w, x, y, z); world linear velocity, body-frame angular
velocity). Format: MuJoCo XML reference (mujoco.readthedocs.io, chapter XML Reference).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from tarsus.model.mechanism import WORLD, Body, Candidate, Joint, Mechanism
from tarsus.model.poses import quaternion_from_rotation
from tarsus.model.to_mjcf_loops import add_constraints

LARGE = 1e10  # stands for infinity where MuJoCo wants a number
POINT = 1e-9  # m, radius of a candidate of radius zero: MuJoCo wants it positive


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
    """The mechanism as MJCF, elliptic friction cones.

    dt: time step, s.
    friction: sliding coefficient of every contact, [1].
    floor: put a plane at z = 0.
    joint_limits: enforce the joints' ranges.
    integrator: "Euler", "implicit", "implicitfast" or "RK4".
    solref: MuJoCo's time constant (s) and damping ratio of contacts.
    """
    # options that hold for the whole model
    root = Element("mujoco", model=mechanism.name)
    SubElement(
        root,
        "compiler",
        angle="radian",
        autolimits="false",
        inertiafromgeom="false",
        boundmass="1e-9",  # massless bodies are allowed here, not in MuJoCo
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
        SubElement(
            world, "geom", name="floor", type="plane", size="0 0 1", contype="1", conaffinity="0"
        )
    # bodies, joints outside the tree, motors, keyframes
    places = [world, *_add_bodies(world, mechanism, joint_limits)]
    add_constraints(root, places, mechanism, dt, numbers)
    _add_motors(SubElement(root, "actuator"), mechanism)
    keyframe = SubElement(root, "keyframe")
    for name, q in mechanism.keyframes.items():
        SubElement(keyframe, "key", name=name, qpos=numbers(q))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _add_bodies(world: Element, mechanism: Mechanism, joint_limits: bool) -> list[Element]:
    elements: list[Element] = []
    for body in mechanism.bodies:
        parent = world if body.parent == WORLD else elements[body.parent]
        elements.append(_add_body(parent, body, joint_limits))
    for candidate in mechanism.candidates:
        place = {"name": candidate.name, "pos": numbers(candidate.position), "contype": "0"}
        SubElement(elements[candidate.body], "geom", place | _shape(candidate))
    for frame in mechanism.frames:
        place = {
            "pos": numbers(frame.position),
            "quat": numbers(quaternion_from_rotation(frame.rotation)),
        }
        SubElement(elements[frame.body], "site", {"name": frame.name} | place)
    return elements


def _shape(candidate: Candidate) -> dict[str, str]:
    """A sphere, an ellipsoid, a thin disc for the farthest point of a rim; its other points touch
    nothing, for a disc in MuJoCo has them.
    """
    outline, touching = candidate.outline, {"conaffinity": "1"}
    if outline is None:
        size = max(float(candidate.radius), POINT)
        return {"type": "sphere", "size": repr(size)} | touching
    if not outline.first:
        return {"type": "sphere", "size": repr(POINT), "conaffinity": "0"}
    half, axes = outline.half_axes()
    turned = {"quat": numbers(quaternion_from_rotation(axes))} | touching
    if half[2] > 0:
        return {"type": "ellipsoid", "size": numbers(half)} | turned
    return {"type": "cylinder", "size": numbers((half[0], POINT))} | turned


def _add_body(parent: Element, body: Body, joint_limits: bool) -> Element:
    place = {
        "pos": numbers(body.position),
        "quat": numbers(quaternion_from_rotation(body.rotation)),
    }
    element = SubElement(parent, "body", {"name": body.name} | place)
    inertia = body.inertia
    i = inertia.about_com
    full = (i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2])
    mass = {"mass": repr(float(inertia.mass)), "pos": numbers(inertia.com)}
    if np.any(i):
        SubElement(element, "inertial", mass | {"fullinertia": numbers(full)})
    else:  # a point: MuJoCo takes zero moments only as a diagonal
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
    if joint.kind in ("hinge", "slide"):
        row["axis"] = numbers(joint.axis)
        if joint.stiffness:
            row |= {"stiffness": repr(float(joint.stiffness)), "springref": repr(float(joint.rest))}
        if joint_limits and np.isfinite([joint.lower, joint.upper]).any():
            row["limited"] = "true"
            row["range"] = numbers(np.clip([joint.lower, joint.upper], -LARGE, LARGE))
    SubElement(element, "joint", row)


def _add_motors(parent: Element, mechanism: Mechanism) -> None:
    for actuator in mechanism.actuators:
        row = {"name": actuator.name, "joint": actuator.joint, "gear": "1"}
        limits = (actuator.lower, actuator.upper)
        if np.isfinite(limits).any():
            row |= {"forcelimited": "true", "forcerange": numbers(np.clip(limits, -LARGE, LARGE))}
        SubElement(parent, "motor", row)


def numbers(values: Iterable[float]) -> str:
    """As an attribute of MJCF, to the last digit."""
    return " ".join(repr(float(value)) for value in values)
