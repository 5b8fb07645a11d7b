"""Read the metadata that holosoma writes into an ONNX file.

The metadata contain joint names, gains and command ranges. Rate, scales and terms are assumed to be
those of holosoma's locomotion tasks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tarsus.policies.contract import ASSUMED, COMMANDS, Contract, Term
from tarsus.policies.importers.base import Importer, name_list, number_list, parse_range
from tarsus.schema import parse_json

PHASE = {"period": 1.0, "phases": (0.0, math.pi), "standing": math.pi}
TERMS = (
    Term("last_action", label="actions"),
    Term("base_ang_vel", 0.25),
    Term("command_ang_vel"),
    Term("command_lin_vel"),
    Term("cos_phase", options=PHASE),
    Term("joint_pos_rel", label="dof_pos"),
    Term("joint_vel", 0.05, label="dof_vel"),
    Term("projected_gravity"),
    Term("sin_phase", options=PHASE),
)
ASSUMED_VALUES = {"rate": 50.0, "scale": 0.25, "terms": TERMS, "order": "alphabetical"}
AXES = {"lin_vel_x": COMMANDS[0], "lin_vel_y": COMMANDS[1], "ang_vel_yaw": COMMANDS[2]}


class Holosoma(Importer):
    """Importer of holosoma's metadata."""

    def recognizes(self, data: Mapping[str, Any]) -> bool:
        return "dof_names" in data and "kp" in data

    def fill(self, contract: Contract, data: Mapping[str, Any], source: str) -> Contract:
        values: dict[str, Any] = {"joints": name_list("dof_names", data["dof_names"])}
        for name in ("kp", "kd"):
            if name in data:
                values[name] = number_list(name, data[name])
        if "command_ranges" in data:
            table = parse_json("command_ranges", data["command_ranges"])
            ends = {AXES[k]: parse_range(k, v) for k, v in dict(table).items() if k in AXES}
            values["ranges"] = {name: value for name, value in ends.items() if value is not None}
        filled = contract.with_values(source, **values)
        usual = {
            k: v for k, v in ASSUMED_VALUES.items() if getattr(contract, k) in (None, "listed")
        }
        return filled.with_values(f"{ASSUMED}: locomotion tasks of holosoma", **usual)
