"""Friction variations of joints in MJCF: numbers under <custom>, which other programs ignore.

MuJoCo's `frictionloss` is constant. The element

    <numeric name="tarsus.friction.JOINT" data="slope curvature center lower upper stribeck
     stribeck_rate load back_load"/>

adds the rest of `tarsus.model.friction.FrictionVariation`, in its units.
"""

from __future__ import annotations

from dataclasses import astuple, fields
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from tarsus.errors import InvalidModel, unknown_name_error
from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.friction import FrictionVariation

PREFIX = "tarsus.friction."
NO_LIMIT = 1e10  # stands for an infinite angle


def read_friction(model: Any) -> dict[str, FrictionVariation]:
    """Read the friction variations of a compiled model, by name of the joint.

    Raises
    ------
    InvalidModel
        If an element has too few or too many numbers.
    UnknownName
        If there is no such joint.
    """
    joints = mujoco_joint_names(model)
    variations: dict[str, FrictionVariation] = {}
    for k in range(model.nnumeric):
        name = model.numeric(k).name
        if not name.startswith(PREFIX):
            continue
        joint = name.removeprefix(PREFIX)
        if joint not in joints:
            raise unknown_name_error("joint", joint, joints)
        data = np.array(model.numeric(k).data, float)
        if len(data) != len(fields(FrictionVariation)):
            count = len(fields(FrictionVariation))
            raise InvalidModel(f"{name} must have {count} numbers, not {len(data)}.", joint)
        values = [np.sign(v) * np.inf if abs(v) >= NO_LIMIT else float(v) for v in data]
        variations[joint] = FrictionVariation(*values)
    return variations


def add_friction(root: Element, joint: str, variation: FrictionVariation) -> None:
    """Add a friction variation of a joint to an MJCF file, or replace it."""
    custom = root.find("custom")
    custom = SubElement(root, "custom") if custom is None else custom
    name = PREFIX + joint
    for old in [element for element in custom if element.get("name") == name]:
        custom.remove(old)
    data = " ".join(repr(float(np.clip(v, -NO_LIMIT, NO_LIMIT))) for v in astuple(variation))
    SubElement(custom, "numeric", name=name, data=data)
