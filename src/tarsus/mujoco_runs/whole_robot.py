"""A robot with all that touches and moves it as MJCF: servos, and pairs of its own solids.

`model.to_mjcf` writes the tree, its joints and the contacts with the floor. Here its motors become
the actuators of the robot's file, and its solids geoms that touch in the given pairs alone, so that
MuJoCo looks at the same contacts as a `Simulation` of ours.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from tarsus.errors import Unsupported
from tarsus.model.mechanism import Mechanism
from tarsus.model.poses import quaternion_from_rotation
from tarsus.model.solids import Capsule, Pair, Solid
from tarsus.model.to_mjcf import numbers, to_mjcf

TORSION = (0.005, 0.0001, 0.0001)  # MuJoCo's numbers for friction that condim 3 does not use


def with_pairs_and_servos(
    mechanism: Mechanism, pairs: Sequence[Pair], dt: float, friction: float
) -> str:
    """The mechanism as MJCF, with position servos from its `file_actuators` (motors, if it has
    none) and contacts of the pairs; MuJoCo's integrator `implicitfast`, which takes the damping of
    servos implicitly.

    dt: s
    friction: sliding coefficient of every contact [1]
    """
    text = to_mjcf(mechanism, dt=dt, friction=friction, integrator="implicitfast")
    root = ElementTree.fromstring(text)
    _add_servos(root, mechanism)
    _add_pairs(root, mechanism, pairs, friction)
    return ElementTree.tostring(root, encoding="unicode")


def _add_servos(root: Element, mechanism: Mechanism) -> None:
    """Position servos in place of the motors; TarsusError for another kind of actuator."""
    actuators = root.find("actuator")
    if not mechanism.file_actuators or actuators is None:
        return
    for motor in list(actuators):
        actuators.remove(motor)
    for own in mechanism.file_actuators:
        row = {"name": own.name, "joint": own.joint, "gear": repr(float(own.gear))}
        if np.isfinite(own.force).all():
            row |= {"forcelimited": "true", "forcerange": numbers(own.force)}
        if own.kind == "position":
            row |= {"kp": repr(float(own.kp)), "kv": repr(float(own.kv))}
        elif own.kind != "motor":
            raise Unsupported(
                f"actuator {own.name!r} is of kind {own.kind!r}, but runs in MuJoCo support only"
                " motors and position servos.",
                own.name,
            )
        SubElement(actuators, own.kind, row)


def _add_pairs(root: Element, mechanism: Mechanism, pairs: Sequence[Pair], friction: float) -> None:
    """Each solid that may meet another as a geom, and the pairs themselves."""
    bodies = {element.get("name"): element for element in root.iter("body")}
    contact = SubElement(root, "contact")
    placed: dict[str, str] = {}

    def geom(solid: Solid) -> str:
        if solid.name not in placed:
            placed[solid.name] = f"solid {solid.name}"
            place = {"name": placed[solid.name], "contype": "0", "conaffinity": "0"}
            SubElement(bodies[mechanism.bodies[solid.body].name], "geom", place | _shape(solid))
        return placed[solid.name]

    for pair in (pair for pair in pairs if pair.row == 0):
        mu = friction * pair.friction
        row = {"geom1": geom(pair.first), "geom2": geom(pair.second), "condim": "3"}
        SubElement(contact, "pair", row | {"friction": numbers((mu, mu, *TORSION))})


def _shape(solid: Solid) -> dict[str, str]:
    """MuJoCo's geom of a solid."""
    if not isinstance(solid, Capsule):
        turned = numbers(quaternion_from_rotation(solid.rotation))
        return {
            "type": "box",
            "pos": numbers(solid.middle),
            "quat": turned,
            "size": numbers(solid.half),
        }
    size = repr(float(solid.radius))
    if solid.ball:
        return {"type": "sphere", "pos": numbers(solid.middle), "size": size}
    ends = (*(solid.middle - solid.half), *(solid.middle + solid.half))
    return {"type": "capsule", "fromto": numbers(ends), "size": size}
