"""Runs in the formats of others as arrays to judge: tables, ROS 2 bags, states of MuJoCo."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from tarsus.comparison.trajectory import NEEDED, OPTIONAL, SCALARS, read
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError, unknown
from tarsus.exchange.ros_bag import is_bag, read_bag
from tarsus.exchange.table import FORMATS, read_table
from tarsus.model.mjcf_compile import compiled
from tarsus.model.mjcf_source import Source
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.recorder import Recorder

COLUMN = re.compile(r"(?P<name>\w+)(?:\[(?P<label>[^\]]+)\])?")
XYZ = {"x": 0, "y": 1, "z": 2}
KNOWN = (*NEEDED, *OPTIONAL, *SCALARS)
STATES = {"time", "qpos", "qvel"}
SAME = 1e-6  # m, rad or their rates: how far MuJoCo may land from the next recorded state


def run_of(path: Path, robot: Robot | None) -> Any:
    """A recorded run in a file: a log (.nc, or a table of `tarsus export`), or arrays.

    robot: needed for a ROS 2 bag
    """
    if is_bag(path):
        if robot is None:
            raise TarsusError(
                "say which robot this bag is of: a name, or an MJCF, URDF or SDF file."
            )
        return read_bag(path, robot)
    if path.suffix not in FORMATS:
        return read(path)
    found = read_table(path)
    return found if isinstance(found, xr.Dataset) else arrays_of_columns(found)


def arrays_of_columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Columns `time`, `qpos[0]`, `contact_force[1,2]`, or with a contact's name
    `contact_force[FL_foot.z]`, `gap[FL_foot]`, as arrays.
    """
    # by array and place
    parts: dict[str, dict[tuple[Any, ...], Any]] = {}
    contacts: list[str] = []
    for column in map(str, frame.columns):
        found = COLUMN.fullmatch(column.strip())
        if found is None or found["name"] not in KNOWN:
            raise unknown("array of a trajectory", column, KNOWN)
        label = found["label"] or ""
        if re.fullmatch(r"[\d,\s]*", label):
            place = tuple(int(k) for k in label.split(",") if k.strip())
        else:
            name, dot, axis = label.rpartition(".")
            named = (name, XYZ[axis]) if dot and axis in XYZ else (label,)
            contacts += [named[0]] if named[0] not in contacts else []
            place = (contacts.index(str(named[0])), *named[1:])
        parts.setdefault(found["name"], {})[place] = frame[column].to_numpy(float)
    # each in its shape
    arrays: dict[str, Any] = {}
    for name, places in parts.items():
        if name in SCALARS:
            arrays[name] = float(places[()][0])
            continue
        shape = tuple(1 + np.max([place for place in places], axis=0)) if () not in places else ()
        if len(places) != np.prod(shape, dtype=int):
            raise TarsusError(f"the table has {len(places)} columns of {name}, not all of {shape}.")
        value = np.zeros((len(frame), *map(int, shape)))
        for place, numbers in places.items():
            value[(slice(None), *place)] = numbers
        arrays[name] = value
    return arrays | ({"contact_body": np.array(contacts)} if contacts else {})


def holds_states_alone(run: Any) -> bool:
    """Whether arrays hold a run's states without its forces."""
    return isinstance(run, Mapping) and set(run) <= {*STATES, "ctrl"} and set(run) >= STATES


def with_forces_of_mujoco(run: Mapping[str, Any], model: Path) -> dict[str, Any]:
    """The whole trajectory of a run of MuJoCo of which the states, and the control signals `ctrl`
    (T, nu) of every step, were kept.

    Row k of `ctrl` acted in the step that ended in row k. MuJoCo steps again from each recorded
    state; TarsusError if it does not land in the next.
    """
    mj = mujoco()
    try:
        made = compiled(Source.of("", model))
    except TarsusError as error:
        raise TarsusError(f"{model.name}: {error}") from None
    time, q, u = (np.asarray(run[name], float) for name in ("time", "qpos", "qvel"))
    ctrl = np.asarray(run.get("ctrl", np.zeros((len(time), made.nu))), float)
    shapes = ((len(time), made.nq), (len(time), made.nv), (len(time), made.nu))
    if (q.shape, u.shape, ctrl.shape) != shapes or len(time) < 2:
        raise TarsusError(f"qpos, qvel and ctrl must have the shapes {shapes} for {model.name}.")
    # step by step from what was recorded
    made.opt.timestep = float(np.diff(time).mean())
    data = mj.MjData(made)
    data.time, data.qpos[:], data.qvel[:] = time[0], q[0], u[0]
    mj.mj_forward(made, data)
    recorder = Recorder(made, data)
    for k in range(1, len(time)):
        data.ctrl[:] = ctrl[k]
        mj.mj_step(made, data)
        off = max(np.abs(data.qpos - q[k]).max(), np.abs(data.qvel - u[k]).max())
        if not off <= SAME:
            raise TarsusError(
                f"from row {k - 1} MuJoCo steps to a state {off:.2g} away from row {k}: the model's"
                " options or the control signals were others."
            )
        recorder.take()
        data.time, data.qpos[:], data.qvel[:] = time[k], q[k], u[k]
    return recorder.arrays()
