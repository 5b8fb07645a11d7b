"""Read `deploy.yaml`, which Unitree's Isaac Lab tasks write for deployment.

Terms have the order of the file, each with its history, oldest sample first. `joint_ids_map` gives
the robot's actuator of each policy joint. Scale, offset and default positions are in the policy's
joint order, stiffness and damping in the robot's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tarsus.errors import InvalidFile, Unsupported
from tarsus.policies.contract import Contract, Numbers, as_numbers
from tarsus.policies.importers.base import (
    Importer,
    as_list,
    as_table,
    find_term,
    number_list,
    parse_range,
)

ACTIONS = {
    "JointPositionAction": "position",
    "JointVelocityAction": "velocity",
    "JointEffortAction": "torque",
}


class IsaacLab(Importer):
    """Importer of Isaac Lab's deployment files."""

    def recognizes(self, data: Mapping[str, Any]) -> bool:
        return "joint_ids_map" in data and "observations" in data

    def fill(self, contract: Contract, data: Mapping[str, Any], source: str) -> Contract:
        indices = tuple(_index(item) for item in as_list("joint_ids_map", data["joint_ids_map"]))
        values: dict[str, Any] = {"joints": indices}
        if "step_dt" in data:
            values["rate"] = 1 / _positive("step_dt", data["step_dt"])
        for name, key in (("kp", "stiffness"), ("kd", "damping")):
            if key in data:
                values[name] = _in_policy_order(key, number_list(key, data[key]), indices)
        if "default_joint_pos" in data:
            values["positions"] = number_list("default_joint_pos", data["default_joint_pos"])
        values |= _action(as_table("actions", data.get("actions") or {}))
        values["terms"] = tuple(
            _term(str(name), as_table(f"observations.{name}", config))
            for name, config in as_table("observations", data["observations"]).items()
        )
        values |= {"order": "listed", "layout": "by term", "newest": "last"}
        if data.get("commands"):
            values["ranges"] = _ranges(as_table("commands", data["commands"]))
        return contract.with_values(source, **values)


def _action(actions: Mapping[str, Any]) -> dict[str, Any]:
    if not actions:
        return {}
    if len(actions) > 1 or next(iter(actions)) not in ACTIONS:
        raise Unsupported(
            f"actions {', '.join(map(str, actions))} are not supported: a policy must have one"
            f" action term, of type {', '.join(ACTIONS)}.",
            "actions",
        )
    (kind, config) = next(iter(actions.items()))
    action = as_table(f"actions.{kind}", config)
    values: dict[str, Any] = {"kind": ACTIONS[kind]}
    for name in ("scale", "offset"):
        if action.get(name) is not None:
            values[name] = number_list(f"actions.{kind}.{name}", action[name])
    if action.get("clip") is not None:
        values["clip"] = _clip(f"actions.{kind}.clip", action["clip"])
    return values


def _term(name: str, config: Mapping[str, Any]) -> Any:
    params = as_table(f"params of {name}", config.get("params") or {})
    options = {key: params[key] for key in ("period",) if key in params}
    history = config.get("history_length") or 1
    if isinstance(history, bool) or not isinstance(history, int):
        raise InvalidFile(f"history_length of {name} must be a whole number.", name)
    scale = config.get("scale")
    return find_term(
        name,
        scale=1.0 if scale is None else number_list(f"scale of {name}", scale),
        clip=parse_range(f"clip of {name}", config.get("clip")),
        history=max(history, 1),
        options=options,
    )


def _ranges(commands: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    values = {}
    for name, config in commands.items():
        command = as_table(f"commands.{name}", config)
        for axis, ends in as_table(f"commands.{name}.ranges", command.get("ranges") or {}).items():
            ends = parse_range(f"commands.{name}.ranges.{axis}", ends)
            if ends is not None:
                values[str(axis)] = ends
    return values


def _in_policy_order(name: str, values: Numbers, indices: tuple[int, ...]) -> Numbers:
    """Reorder values from the robot's actuator order to the policy's joint order."""
    if not isinstance(values, tuple):
        return values
    if max(indices, default=0) >= len(values):
        raise InvalidFile(
            f"{name} has {len(values)} values, but joint_ids_map contains the index"
            f" {max(indices)}.",
            name,
        )
    return tuple(values[index] for index in indices)


def _clip(name: str, value: Any) -> tuple[float, float] | None:
    if isinstance(value, list) and value and isinstance(value[0], list):
        if any(item != value[0] for item in value):
            raise Unsupported(
                f"{name} differs between joints, which is not supported: give one range.", name
            )
        value = value[0]
    return parse_range(name, value)


def _index(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidFile(
            "joint_ids_map must contain indices of actuators, 0 or larger.", "joint_ids_map"
        )
    return int(value)


def _positive(name: str, value: Any) -> float:
    number = as_numbers(name, value)
    if not isinstance(number, float) or not number > 0:
        raise InvalidFile(f"{name} must be a positive number, not {value!r}.", name)
    return number
