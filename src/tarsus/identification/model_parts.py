"""The model of an identification: as told, or as the log says that it ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import xarray as xr

from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidValue, unknown_name
from tarsus.identification.candidates import ModelParts
from tarsus.model import fixed_base
from tarsus.parameters import declared, name_of
from tarsus.simulation import options, resolve, time_steps
from tarsus.simulation.recording import provenance
from tarsus.simulation.recording.log_robot import robot_of
from tarsus.simulation.recording.part_serialization import deserialize, part_from_attributes

TAKEN = ("contacts", "limits", "bounce", "stiction", "slots", "self_collision")
REFUSED = ("worlds", "varied", "parameters", "coordinates", "precision", "device", "sensors")


def robot_in(model: Mapping[str, Any], log: Any) -> Robot:
    """The robot that is told, or the log's own."""
    if "robot" in model:
        return resolve.robot(model["robot"], **fixed_base.base_options(model))
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


def model_parts(model: Mapping[str, Any], log: Any, robot: Robot, step: float) -> ModelParts:
    """Law, terrain, stepper and options; told by name, else as the log has them.

    step: s, between samples of the log
    """
    told = provenance.parse_attributes(log.attrs) if isinstance(log, xr.Dataset) else {}
    if told.get("engine"):  # another engine's law and options are not ours
        told = {name: value for name, value in told.items() if name.startswith("terrain")}
    law = _with(_part("law", model, told, "moreau"), "law", model)
    terrain = _with(_part("terrain", model, told, "plane"), "terrain", model)
    stepper = _part("stepper", model, told, "midpoint")
    # options of the run, then those told
    chosen = {k: deserialize(v) for k, v in told.get("options", {}).items() if k in TAKEN}
    for name, value in model.items():
        part, dot, own = name.partition(".")
        if dot and part == "option":
            if own not in options.declared() or own in REFUSED:
                known = [n for n in options.declared() if n not in REFUSED]
                raise unknown_name("option of an identification", own, known)
            chosen[own] = value
    return ModelParts(
        robot, law, terrain, stepper, time_steps.check_time_step(model.get("dt", step)), chosen
    )


def _part(kind: str, model: Mapping[str, Any], told: Mapping[str, Any], default: str) -> Any:
    """A law, terrain or stepper: as told, as in the log, or the default."""
    make: Any = getattr(resolve, kind)
    if kind in model:
        return make(model[kind])
    where = told.get(f"{kind}_class")
    return part_from_attributes(kind, told) if where else make(default)


def _with(part: Any, kind: str, model: Mapping[str, Any]) -> Any:
    """The part with numbers of its own."""
    changed = {n.partition(".")[2]: v for n, v in model.items() if n.startswith(f"{kind}.")}
    for name in changed:
        if name not in declared(type(part)):
            raise unknown_name(
                f"parameter of the {kind} {name_of(part)}", name, declared(type(part))
            )
    return replace(part, **changed) if changed else part
