"""The robot of a log, by what the log says of it."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tarsus import robots
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError, shortened
from tarsus.model.files import file_bytes, is_file


def robot_of(run: Mapping[str, Any] | xr.Dataset) -> Robot:
    """The robot that a log names; TarsusError if its file is no longer what it was."""
    attrs = run.attrs if isinstance(run, xr.Dataset) else {}
    name, file = str(attrs.get("robot", "")), Path(str(attrs.get("robot_file", "")))
    if not name:
        raise TarsusError(
            "this run names no robot: say which robot's it is, by a built-in one's name or its file"
            " (--robot)."
        )
    if file == Path():
        return _loaded(name, attrs)
    if not is_file(file):
        raise TarsusError(f"the log's robot file {file} is not there: name it (--robot FILE).")
    digest = attrs.get("robot_sha256")
    if digest and hashlib.sha256(file_bytes(file)).hexdigest() != digest:
        raise TarsusError(
            f"{file} has changed since the run: name the file that was simulated (--robot FILE)."
        )
    return _loaded(file, attrs)


def as_heavy(robot: Robot, log: xr.Dataset) -> Robot:
    """The robot with the factors on masses that a log of one world tells."""
    options = json.loads(str(log.attrs.get("options", "{}")))
    scales = {name: np.ravel(value) for name, value in (options.get("mass_scale") or {}).items()}
    bodies = tuple(
        replace(body, inertia=body.inertia.scaled(float(scales[body.name][0])))
        if body.name in scales
        else body
        for body in robot.bodies
    )
    return replace(robot, bodies=bodies) if scales else robot


def _loaded(source: str | Path, attrs: Mapping[str, Any]) -> Robot:
    """The robot with the options that a log names."""
    told = str(attrs.get("robot_options", "{}"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the run, which the log has
            return robots.load(source, **json.loads(told))
    except TarsusError:
        raise
    except (TypeError, ValueError):  # no JSON object, or no option of this robot
        raise TarsusError(
            f"the log's robot_options are none of {source}, {shortened(told)}: name the robot"
            " (--robot)."
        ) from None
