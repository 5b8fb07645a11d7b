"""Export of closed loops and joint couplings as equality constraints of MJCF.

Loop joints become `connect` and `weld` constraints between two sites, so that they do not depend on
the pose in which the robot is drawn; couplings become `joint` or `tendon` constraints.
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

HINGE_POINT_DISTANCE = 0.1  # m, between two points of a hinge's axis
SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2)  # the hardest that MuJoCo allows
MAX_COEFFICIENTS = 5  # of a joint constraint
MIN_TIME_CONSTANT = 2.0  # steps, the shortest that MuJoCo allows

Text = Callable[[Iterable[float]], str]
SitePose = tuple[Vector, Vector]  # position (3,), unit quaternion (4,)


def add_constraints(
    root: Element, bodies: list[Element], mechanism: Mechanism, dt: float, text: Text
) -> None:
    """Add the equality constraints of a mechanism to an MJCF model.

    A ball joint becomes one connect, a hinge two on its axis, a fixed joint a weld.

    Parameters
    ----------
    root
        Root of the model.
    bodies
        Elements of the world and of the bodies.
    mechanism
        The robot.
    dt
        Time step, in s.
    text
        Function that writes numbers.

    Raises
    ------
    Unsupported
        For a slide, a loop joint with a motor, armature, damping or friction, or a polynomial
        above the fourth degree.
    """
    if not mechanism.constrained:
        return
    equality, used = SubElement(root, "equality"), {frame.name for frame in mechanism.frames}
    # as hard as the time step allows
    softness = {"solref": text((MIN_TIME_CONSTANT * dt, 1.0)), "solimp": text(SOLIMP)}
    for loop in mechanism.loops:
        _check(mechanism, loop)
        for name, ends in _points(loop):
            sites = [_create_unique_name(f"{name}/{end}", used) for end in ("parent", "child")]
            weld = loop.joint.kind == "fixed"
            parents = bodies[loop.parent + 1], bodies[loop.child + 1]
            for site, body, (point, quaternion) in zip(sites, parents, ends, strict=True):
                row = {"name": site, "pos": text(point)}
                SubElement(body, "site", row | ({"quat": text(quaternion)} if weld else {}))
            kind = "weld" if weld else "connect"
            row = {"name": name, "site1": sites[0], "site2": sites[1]}
            SubElement(equality, kind, row | softness)
    for coupling in mechanism.couplings:
        _add_coupling(root, mechanism, coupling, text, softness)


def _points(loop: LoopJoint) -> list[tuple[str, tuple[SitePose, SitePose]]]:
    """Compute the points that coincide, by name, in the parent and in the child.

    A hinge has two points, on its axis.
    """
    quaternions = quaternion_from_rotation(loop.rotation), np.array([1.0, 0.0, 0.0, 0.0])
    points = []
    for name, distance in (
        (loop.joint.name, 0.0),
        (f"{loop.joint.name}/axis", HINGE_POINT_DISTANCE),
    ):
        offset = distance * loop.joint.axis
        positions = loop.position + loop.rotation @ offset, loop.in_child + offset
        points.append((name, ((positions[0], quaternions[0]), (positions[1], quaternions[1]))))
    return points[: 2 if loop.joint.kind == "hinge" else 1]


def _add_coupling(
    root: Element,
    mechanism: Mechanism,
    coupling: JointCoupling,
    text: Text,
    softness: dict[str, str],
) -> None:
    """Add a joint constraint, or a fixed tendon with a constraint if there are several leaders."""
    equality, name = root.find("equality"), {"name": coupling.name}
    assert equality is not None
    if len(coupling.leaders) > 1:
        if not coupling.linear:
            raise Unsupported(
                f"coupling {coupling.name!r} has several leaders and is not linear, which MJCF does"
                " not allow.",
                coupling.name,
            )
        tendons = root.find("tendon")
        tendons = SubElement(root, "tendon") if tendons is None else tendons
        taken = {tendon.name for tendon in mechanism.tendons}
        combined = _create_unique_name(coupling.name, taken)
        tendon = SubElement(tendons, "fixed", {"name": combined})
        ends = [(coupling.joint, 1.0), *((x.joint, -x.at(1.0)) for x in coupling.leaders)]
        for joint, coefficient in ends:
            SubElement(tendon, "joint", {"joint": joint, "coef": text((coefficient,))})
        constant = text((coupling.constant, *[0.0] * (MAX_COEFFICIENTS - 1)))
        row = name | {"tendon1": combined, "polycoef": constant}
        SubElement(equality, "tendon", row | softness)
        return
    # at most one leader
    row = name | {"joint1": coupling.joint}
    coefficients = (coupling.constant,)
    for leader in coupling.leaders:
        row["joint2"] = leader.joint
        coefficients += leader.coefficients
    if len(coefficients) > MAX_COEFFICIENTS:
        raise Unsupported(
            f"coupling {coupling.name!r} has powers above the fourth, which MJCF does not allow.",
            coupling.name,
        )
    zeros = [0.0] * (MAX_COEFFICIENTS - len(coefficients))
    SubElement(equality, "joint", row | {"polycoef": text((*coefficients, *zeros))} | softness)


def _create_unique_name(name: str, used: set[str]) -> str:
    """Create a name that is not used: a robot read from an exported file has sites as frames."""
    while name in used:
        name += "_"
    used.add(name)
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
    resists = np.any([joint.armature, joint.damping, joint.dry_friction])
    if resists or joint.name in [actuator.joint for actuator in mechanism.actuators]:
        raise Unsupported(
            f"loop joint {joint.name!r} has a motor, armature, damping or friction, which an MJCF"
            f" <connect> does not allow{hint}",
            joint.name,
        )
