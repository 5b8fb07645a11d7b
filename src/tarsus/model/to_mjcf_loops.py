"""Loop joints as `connect` equalities of MuJoCo between two sites, wherever the robot is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from tarsus.errors import TarsusError
from tarsus.model.mechanism import LoopJoint, Mechanism

APART = 0.1  # m between the two points of a hinge's axis
SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2)  # as hard as MuJoCo makes it
FASTEST = 2.0  # steps: the shortest time constant that MuJoCo takes

Text = Callable[[Iterable[float]], str]


def add_loops(
    root: Element, places: list[Element], mechanism: Mechanism, dt: float, text: Text
) -> None:
    """A ball as one connect, a hinge as two on its axis; places: elements of world and bodies.

    TarsusError for a slide, and for a loop joint with a motor, armature, damping or friction, for
    it is no joint there.
    """
    if not mechanism.loops:
        return
    equality, sites, taken = (
        SubElement(root, "equality"),
        [],
        {frame.name for frame in mechanism.frames},
    )
    # every loop joint, a hinge by two points of its axis
    for loop in mechanism.loops:
        _check(mechanism, loop)
        hinge = loop.joint.kind == "hinge"
        for name, along in ((loop.joint.name, 0.0), (f"{loop.joint.name}/axis", APART))[
            : 2 if hinge else 1
        ]:
            offset = along * loop.joint.axis
            # the point seen from both bodies
            ends = {
                "parent": loop.position + loop.rotation @ offset,
                "child": loop.in_child + offset,
            }
            for end, point in ends.items():
                body = loop.parent if end == "parent" else loop.child
                sites.append(_new(f"{name}/{end}", taken))
                SubElement(places[body + 1], "site", name=sites[-1], pos=text(point))
            # hold the two together as firmly as the step allows
            row = {"solref": text((FASTEST * dt, 1.0)), "solimp": text(SOLIMP)}
            SubElement(
                equality, "connect", {"name": name, "site1": sites[-2], "site2": sites[-1]} | row
            )


def _new(name: str, taken: set[str]) -> str:
    """The name, lengthened until no site has it: a robot read back brings these sites as frames."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _check(mechanism: Mechanism, loop: LoopJoint) -> None:
    joint = loop.joint
    hint = (
        ": export the whole mechanism, before joints were cut."
        if mechanism.uncut is not None
        else "."
    )
    if joint.kind not in ("ball", "hinge"):
        raise TarsusError(
            f"loop joint {joint.name!r} is a {joint.kind}: MJCF can close ball and hinge joints"
            f" only{hint}"
        )
    carries = np.any([joint.armature, joint.damping, joint.dry_friction])
    if carries or joint.name in [actuator.joint for actuator in mechanism.actuators]:
        raise TarsusError(
            f"loop joint {joint.name!r} has a motor, armature, damping or friction, "
            f"which MJCF's connect cannot have{hint}"
        )
