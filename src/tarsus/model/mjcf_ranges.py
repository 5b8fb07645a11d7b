"""Ranges of an MJCF file that end before they begin: MuJoCo takes them for none, without a word."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus.errors import TarsusError
from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.mjcf_actuators import controls

SLIDE, HINGE = 2, 3  # mjtJoint
JOINTS = {"range": "jnt_range", "actuatorfrcrange": "jnt_actfrcrange"}
ACTUATORS = {
    "forcerange": "actuator_forcerange",
    "actrange": "actuator_actrange",
}


def check_ranges(model: Any) -> None:
    """TarsusError for the first range of a hinge, a slide or an actuator that is reversed."""
    joints = mujoco_joint_names(model)
    for joint in np.flatnonzero(np.isin(model.jnt_type, (SLIDE, HINGE))).tolist():
        for word, field in JOINTS.items():
            _check(getattr(model, field)[joint], f"joint {joints[joint]!r}: {word}")
    for actuator in range(len(model.actuator_trntype)):
        name = model.actuator(actuator).name or f"actuator {actuator}"
        for word, field in ACTUATORS.items():
            _check(getattr(model, field)[actuator], f"actuator {name!r}: {word}")
        for control in controls(model, actuator):
            _check(model.actuator_ctrlrange[control], f"actuator {name!r}: ctrlrange")


def _check(ends: np.ndarray, what: str) -> None:
    lower, upper = (float(end) for end in ends)  # as written, in the file's own unit
    if lower > upper:
        raise TarsusError(
            f"{what} goes from {lower:g} to {upper:g}, which is below: swap them, or leave it out"
            " for no limit."
        )
