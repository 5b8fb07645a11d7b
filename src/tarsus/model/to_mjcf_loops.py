"""Loop joints as `connect` and `weld` equalities of MuJoCo between two sites, wherever the robot is
drawn, and joints that follow others as its `joint` equalities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from tarsus.errors import Unsupported
from tarsus.model.joint import Vector
from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.mechanism import LoopJoint, Mechanism
from tarsus.model.poses import quaternion_from_rotation

APART = 0.1  # m between the two points of a hinge's axis
SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2)  # as hard as MuJoCo makes it
POWERS = 5  # coefficients of a joint equality
FASTEST = 2.0  # steps: the shortest time constant that MuJoCo takes

Text = Callable[[Iterable[float]], str]
Place = tuple[Vector, Vector]  # position (3,), unit quaternion (4,)


def add_constraints(
    root: Element, places: list[Element], mechanism: Mechanism, dt: float, text: Text
) -> None:
    """A ball as one connect, a hinge as two on its axis, a fixed joint as a weld, joints that
    follow others as joint equalities; places: elements of world and bodies.

    TarsusError for a slide, for a loop joint with a motor, armature, damping or friction, which is
    no joint there, and for powers above the fourth.
    """
    if not mechanism.constrained:
        return
    equality, taken = SubElement(root, "equality"), {frame.name for frame in mechanism.frames}
    # as firm as the step allows
    firm = {"solref": text((FASTEST * dt, 1.0)), "solimp": text(SOLIMP)}
    for loop in mechanism.loops:
        _check(mechanism, loop)
        for name, ends in _points(loop):
            sites = [_new(f"{name}/{end}", taken) for end in ("parent", "child")]
            weld = loop.joint.kind == "fixed"
            bodies = places[loop.parent + 1], places[loop.child + 1]
            for site, body, (point, turn) in zip(sites, bodies, ends, strict=True):
                row = {"name": site, "pos": text(point)}
                SubElement(body, "site", row | ({"quat": text(turn)} if weld else {}))
            kind = "weld" if weld else "connect"
            SubElement(equality, kind, {"name": name, "site1": sites[0], "site2": sites[1]} | firm)
    for coupling in mechanism.couplings:
        SubElement(equality, "joint", _coupled(coupling, text) | firm)


def _points(loop: LoopJoint) -> list[tuple[str, tuple[Place, Place]]]:
    """Names and the places that coincide, seen from parent and child: two of a hinge's axis."""
    turns = quaternion_from_rotation(loop.rotation), np.array([1.0, 0.0, 0.0, 0.0])
    found = []
    for name, along in ((loop.joint.name, 0.0), (f"{loop.joint.name}/axis", APART)):
        offset = along * loop.joint.axis
        here = loop.position + loop.rotation @ offset, loop.in_child + offset
        found.append((name, ((here[0], turns[0]), (here[1], turns[1]))))
    return found[: 2 if loop.joint.kind == "hinge" else 1]


def _coupled(coupling: JointCoupling, text: Text) -> dict[str, str]:
    """The attributes of a joint equality, but for its firmness."""
    numbers = coupling.coefficients
    if len(numbers) > POWERS:
        raise Unsupported(
            f"coupling {coupling.name!r} has powers above the fourth, which MJCF does not allow.",
            coupling.name,
        )
    row = {"name": coupling.name, "joint1": coupling.joint}
    row |= {"joint2": coupling.leader} if coupling.leader else {}
    return row | {"polycoef": text((*numbers, *[0.0] * (POWERS - len(numbers))))}


def _new(name: str, taken: set[str]) -> str:
    """The name, lengthened until no site has it: a robot read back brings these sites as frames."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _check(mechanism: Mechanism, loop: LoopJoint) -> None:
    joint = loop.joint
    hint = (
        ": export the original mechanism, without cut joints."
        if mechanism.uncut is not None
        else "."
    )
    if joint.kind == "slide":
        raise Unsupported(
            f"loop joint {joint.name!r} is a slide, but MJCF can close only ball, hinge and fixed"
            f" joints{hint}",
            joint.name,
        )
    carries = np.any([joint.armature, joint.damping, joint.dry_friction])
    if carries or joint.name in [actuator.joint for actuator in mechanism.actuators]:
        raise Unsupported(
            f"loop joint {joint.name!r} has a motor, armature, damping or friction, which an MJCF"
            f" <connect> does not allow{hint}",
            joint.name,
        )
