"""Ranges of an MJCF file that end before they begin: MuJoCo takes them for none, without a word."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus.errors import InvalidModel
from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.mjcf_actuators import controls

SLIDE, HINGE = 2, 3  # mjtJoint
JOINTS = {"range": "jnt_range", "actuatorfrcrange": "jnt_actfrcrange"}
ACTUATORS = {
    "forcerange": "actuator_forcerange",
    "actrange": "actuator_actrange",
}


def check_ranges(model: Any) -> None:
    """Raise InvalidModel for the first reversed range of a hinge, a slide or an actuator."""
    joints = mujoco_joint_names(model)
    for joint in np.flatnonzero(np.isin(model.jnt_type, (SLIDE, HINGE))).tolist():
        for word, field in JOINTS.items():
            _check(getattr(model, field)[joint], "joint", joints[joint], word)
    for actuator in range(len(model.actuator_trntype)):
        name = model.actuator(actuator).name or f"actuator {actuator}"
        for word, field in ACTUATORS.items():
            _check(getattr(model, field)[actuator], "actuator", name, word)
        for control in controls(model, actuator):
            _check(model.actuator_ctrlrange[control], "actuator", name, "ctrlrange")


def _check(ends: np.ndarray, kind: str, name: str, attribute: str) -> None:
    lower, upper = (float(end) for end in ends)  # as written, in the file's own unit
    if lower > upper:
        raise InvalidModel(
            f"{kind} {name!r}: the lower end {lower:g} of {attribute} is above the upper end"
            f" {upper:g}: swap them, or leave the range out for no limit.",
            name,
        )
