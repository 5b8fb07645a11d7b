"""Find the robot of a log."""

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

from tarsus import plugins, registry, robots
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidFile, TarsusError, UnknownName, quote
from tarsus.files import is_file
from tarsus.model.digest import hash_robot
from tarsus.model.read import UnknownOption
from tarsus.model.robot_files import file_bytes
from tarsus.simulation.recording.log_schema import check_attributes

CACHE_SIZE = 8  # robots
FOLDER_OPTIONS = ("asset_folders", "packages")
_IN_PYTHON: dict[str, Robot] = {}  # robots of this process, by digest


def register_robot(robot: Robot) -> None:
    """Register a robot made or changed in Python, so that logs of this process can recreate it."""
    _IN_PYTHON[hash_robot(robot)] = robot
    for oldest in list(_IN_PYTHON)[:-CACHE_SIZE]:
        _IN_PYTHON.pop(oldest)


def robot_of(run: Mapping[str, Any] | xr.Dataset) -> Robot:
    """Load the robot that a log names.

    Raises
    ------
    TarsusError
        If its file has changed or is missing, or the robot was made in Python by another process.
    """
    attrs = check_attributes(run.attrs) if isinstance(run, xr.Dataset) else {}
    name, file = str(attrs.get("robot", "")), Path(str(attrs.get("robot_file", "")))
    if not name:
        raise IncompatibleOptions(
            "this run does not name its robot; give a built-in robot or a model file with --robot.",
            "robot",
        )
    known = _IN_PYTHON.get(str(attrs.get("model_sha256")))
    if file == Path():
        listed = name in registry.names(robots.__name__) or "robot_package" in attrs
        if known is not None and not listed:
            return known
        return _prefer_changed(_load_built_in(name, attrs), known, attrs)
    if not is_file(file):
        raise InvalidFile(
            f"the robot file of the log does not exist: {file}; name it with --robot FILE.", file
        )
    digest = attrs.get("robot_sha256")
    if digest and hashlib.sha256(file_bytes(file)).hexdigest() != digest:
        raise InvalidFile(
            f"{file} has changed since the run; name the file that was simulated with --robot"
            " FILE.",
            file,
        )
    return _prefer_changed(_load(file, attrs), known, attrs)


def _prefer_changed(robot: Robot, known: Robot | None, attrs: Mapping[str, Any]) -> Robot:
    """Return the robot of this process if it is no longer as it was loaded, else the loaded one."""
    if known is None or hash_robot(robot) == attrs.get("model_sha256"):
        return robot
    return known


def scale_masses(robot: Robot, log: xr.Dataset) -> Robot:
    """Apply the mass factors in a log of one world to the robot."""
    options = json.loads(str(log.attrs.get("options", "{}")))
    scales = {name: np.ravel(value) for name, value in (options.get("mass_scale") or {}).items()}
    # later values of `Simulation.set`
    registers = json.loads(str(log.attrs.get("registers", "{}")))
    for name, value in zip(scales, np.ravel(registers.get("mass_scale", [])), strict=False):
        scales[name] = np.ravel(value)
    bodies = tuple(
        replace(body, inertia=body.inertia.scale(float(scales[body.name][0])))
        if body.name in scales
        else body
        for body in robot.bodies
    )
    return replace(robot, bodies=bodies) if scales else robot


def _load_built_in(name: str, attrs: Mapping[str, Any]) -> Robot:
    """Load a built-in robot; the error suggests similar names or what to do about other robots."""
    try:
        return _load(name, attrs)
    except TarsusError as error:
        if name in registry.names(robots.__name__):
            raise
        if release := str(attrs.get("robot_package", "")):
            raise plugins.missing_plugin("robot", name, release) from None
        raise UnknownName(
            f"{str(error).rstrip('.')}. A log does not contain a robot or world made in Python;"
            " create it again and pass it, as in tarsus.rerun(log, robot=...).",
            name,
        ) from None


def _load(source: str | Path, attrs: Mapping[str, Any]) -> Robot:
    """Load a robot with the options in a log."""
    text = str(attrs.get("robot_options", "{}"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the log has the warnings of the run
            options = json.loads(text)
            # a log must not choose folders to read on this machine
            options = {name: value for name, value in options.items() if name not in FOLDER_OPTIONS}
            return robots.load(source, **options)
    except (TypeError, ValueError) as error:  # not an option of this robot
        if isinstance(error, TarsusError) and not isinstance(error, UnknownOption):
            raise
        raise InvalidFile(
            f"the log's robot_options {quote(text)} are not valid for {source}; name the robot"
            " with --robot.",
            "robot_options",
        ) from None
