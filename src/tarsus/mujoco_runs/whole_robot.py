"""MJCF of a robot with its servos and self-contacts.

`model.to_mjcf` writes the tree, its joints and the contacts with the floor. This module replaces
the motors by the actuators of the robot's file, and adds the robot's shapes as geoms that collide
only in the given pairs. MuJoCo then checks the same contacts as a `Simulation` of Tarsus.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from tarsus.errors import Unsupported
from tarsus.model.file_actuators import MOTOR_NUMBERS
from tarsus.model.mechanism import Mechanism
from tarsus.model.poses import quaternion_from_rotation
from tarsus.model.solids import Capsule, Pair, Solid
from tarsus.model.to_mjcf import driven_kind, numbers, to_mjcf

UNUSED_FRICTION = (0.005, 0.0001, 0.0001)  # MuJoCo's torsion and rolling defaults; condim is 3


def with_pairs_and_servos(
    mechanism: Mechanism, pairs: Sequence[Pair], dt: float, friction: float
) -> str:
    """Write a mechanism as MJCF, with its position servos and self-contacts.

    The integrator is MuJoCo's `implicitfast`, which treats the damping of servos implicitly.

    Parameters
    ----------
    mechanism
        Robot whose `file_actuators` become position servos; without any, its motors stay.
    pairs
        Pairs of shapes that may collide.
    dt
        Step size in s.
    friction
        Sliding friction coefficient of every contact [1].

    Returns
    -------
    str
        MJCF text.

    Raises
    ------
    Unsupported
        If an actuator is neither a motor nor a position servo.
    """
    text = to_mjcf(mechanism, dt=dt, friction=friction, integrator="implicitfast")
    root = ElementTree.fromstring(text)
    _add_servos(root, mechanism)
    _add_pairs(root, mechanism, pairs, friction)
    return ElementTree.tostring(root, encoding="unicode")


def _add_servos(root: Element, mechanism: Mechanism) -> None:
    """Replace the motors by position servos; raise Unsupported for other kinds of actuator."""
    actuators = root.find("actuator")
    if not mechanism.file_actuators or actuators is None:
        return
    for motor in list(actuators):
        actuators.remove(motor)
    for actuator in mechanism.file_actuators:
        if any(getattr(actuator, name) for name in MOTOR_NUMBERS):
            raise Unsupported(
                f"actuator {actuator.name!r} has {', '.join(MOTOR_NUMBERS[:-1])} or"
                f" {MOTOR_NUMBERS[-1]}, which runs in MuJoCo do not support.",
                actuator.name,
            )
        row = {
            "name": actuator.name,
            driven_kind(mechanism, actuator.joint): actuator.joint,
            "gear": repr(float(actuator.gear)),
        }
        if np.isfinite(actuator.force).all():
            row |= {"forcelimited": "true", "forcerange": numbers(actuator.force)}
        if actuator.kind == "position":
            row |= {"kp": repr(float(actuator.kp)), "kv": repr(float(actuator.kv))}
        elif actuator.kind != "motor":
            raise Unsupported(
                f"actuator {actuator.name!r} is of kind {actuator.kind!r}, but runs in MuJoCo"
                " support only motors and position servos.",
                actuator.name,
            )
        SubElement(actuators, actuator.kind, row)


def _add_pairs(root: Element, mechanism: Mechanism, pairs: Sequence[Pair], friction: float) -> None:
    """Add a geom for each shape that may collide, and the pairs themselves."""
    bodies = {element.get("name"): element for element in root.iter("body")}
    contact = SubElement(root, "contact")
    geoms: dict[str, str] = {}

    def geom(solid: Solid) -> str:
        if solid.name not in geoms:
            geoms[solid.name] = f"solid {solid.name}"
            attributes = {"name": geoms[solid.name], "contype": "0", "conaffinity": "0"}
            body = bodies[mechanism.bodies[solid.body].name]
            SubElement(body, "geom", attributes | _create_shape(solid))
        return geoms[solid.name]

    for pair in (pair for pair in pairs if pair.row == 0):
        mu = friction * pair.friction
        row = {"geom1": geom(pair.first), "geom2": geom(pair.second), "condim": "3"}
        SubElement(contact, "pair", row | {"friction": numbers((mu, mu, *UNUSED_FRICTION))})


def _create_shape(solid: Solid) -> dict[str, str]:
    """Create the attributes of the MuJoCo geom for a solid."""
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
