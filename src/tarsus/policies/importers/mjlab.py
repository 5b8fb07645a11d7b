"""Read the metadata that mjlab and Isaac Lab's motion-tracking tasks write into an ONNX file.

The metadata contain names of joints and observations, stiffness, damping, default positions and
action scale. Observed joint positions are relative to the default positions. The rate is assumed to
be 50 Hz, as in these tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tarsus.policies.contract import ASSUMED, Contract, Term
from tarsus.policies.importers.base import Importer, find_term, name_list, number_list

USUAL_RATE = 50.0  # Hz
RELATIVE = {"joint_pos": "joint_pos_rel", "joint_vel": "joint_vel", "command": "command"}
TRACKING = {  # terms of motion-tracking tasks
    "command": ("motion_joint_pos", "motion_joint_vel"),
    "motion_anchor_pos_b": ("motion_anchor_pos",),
    "motion_anchor_ori_b": ("motion_anchor_ori",),
}


class Mjlab(Importer):
    """Importer of mjlab's metadata."""

    def recognizes(self, data: Mapping[str, Any]) -> bool:
        return "joint_names" in data and "observation_names" in data

    def fill(self, contract: Contract, data: Mapping[str, Any], source: str) -> Contract:
        values: dict[str, Any] = {"joints": name_list("joint_names", data["joint_names"])}
        for name, key in (
            ("kp", "joint_stiffness"),
            ("kd", "joint_damping"),
            ("positions", "default_joint_pos"),
            ("scale", "action_scale"),
        ):
            if key in data:
                values[name] = number_list(key, data[key])
        tracks = "anchor_body_name" in data
        labels = name_list("observation_names", data["observation_names"])
        values["terms"] = tuple(term for label in labels for term in _terms(label, tracks))
        filled = contract.with_values(source, **values)
        if filled.rate is None:
            filled = filled.with_values(ASSUMED, rate=USUAL_RATE)
        return filled


def _terms(label: str, tracks: bool) -> list[Term]:
    if tracks and label in TRACKING:
        return [Term(name, label=label) for name in TRACKING[label]]
    if label in RELATIVE:
        return [Term(RELATIVE[label], label=label)]
    return [find_term(label)]
