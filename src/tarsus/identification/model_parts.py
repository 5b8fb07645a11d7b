"""Model of an identification, as specified, or as recorded in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import xarray as xr

from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidValue, unknown_name_error
from tarsus.identification.candidates import ModelParts
from tarsus.model import fixed_base
from tarsus.parameters import declared_fields, name_of
from tarsus.simulation import options, resolve, time_steps
from tarsus.simulation.recording import provenance
from tarsus.simulation.recording.log_robot import robot_of
from tarsus.simulation.recording.part_serialization import deserialize, part_from_attributes

LOG_OPTIONS = ("contacts", "limits", "bounce", "stiction", "slots", "self_collision")
REJECTED_OPTIONS = (
    "worlds",
    "varied",
    "parameters",
    "coordinates",
    "precision",
    "device",
    "sensors",
)


def load_robot(model: Mapping[str, Any], log: Any) -> Robot:
    """Load the robot of the specification, or that of the log."""
    if "robot" in model:
        return resolve.resolve_robot(model["robot"], **fixed_base.base_options(model))
    for name in fixed_base.ENTRIES:
        if name in model:
            raise IncompatibleOptions(
                f"{name} needs robot = ... under [model]: the robot of the log keeps its recorded"
                " base.",
                name,
            )
    if not isinstance(log, xr.Dataset):
        raise InvalidValue(
            'the log does not name its robot: add robot = "mini_cheetah" or the like to [model].',
            "robot",
        )
    return robot_of(log)


def create_model_parts(model: Mapping[str, Any], log: Any, robot: Robot, step: float) -> ModelParts:
    """Create law, terrain, stepper and options, from the specification or else from the log.

    Parameters
    ----------
    model
        Table [model] of the specification.
    log
        The log.
    robot
        The robot.
    step
        Time between the samples of the log, in s.
    """
    recorded = provenance.parse_attributes(log.attrs) if isinstance(log, xr.Dataset) else {}
    if recorded.get("engine"):  # law and options of another engine do not apply
        recorded = {name: value for name, value in recorded.items() if name.startswith("terrain")}
    law = _set_parameters(_create_part("law", model, recorded, "moreau"), "law", model)
    terrain = _set_parameters(_create_part("terrain", model, recorded, "plane"), "terrain", model)
    stepper = _create_part("stepper", model, recorded, "midpoint")
    # options of the run, then those of the specification
    chosen = {k: deserialize(v) for k, v in recorded.get("options", {}).items() if k in LOG_OPTIONS}
    for name, value in model.items():
        part, dot, name_in_part = name.partition(".")
        if dot and part == "option":
            if name_in_part not in options.declared_options() or name_in_part in REJECTED_OPTIONS:
                known = [n for n in options.declared_options() if n not in REJECTED_OPTIONS]
                raise unknown_name_error("option of an identification", name_in_part, known)
            chosen[name_in_part] = value
    return ModelParts(
        robot, law, terrain, stepper, time_steps.check_time_step(model.get("dt", step)), chosen
    )


def _create_part(
    kind: str, model: Mapping[str, Any], recorded: Mapping[str, Any], default: str
) -> Any:
    """Create a law, terrain or stepper: as specified, as recorded, or the default."""
    make: Any = getattr(resolve, f"resolve_{kind}")
    if kind in model:
        return make(model[kind])
    where = recorded.get(f"{kind}_class")
    return part_from_attributes(kind, recorded) if where else make(default)


def _set_parameters(part: Any, kind: str, model: Mapping[str, Any]) -> Any:
    """Set the parameters of a part that the specification gives."""
    changed = {n.partition(".")[2]: v for n, v in model.items() if n.startswith(f"{kind}.")}
    for name in changed:
        if name not in declared_fields(type(part)):
            raise unknown_name_error(
                f"parameter of the {kind} {name_of(part)}", name, declared_fields(type(part))
            )
    return replace(part, **changed) if changed else part
