"""Recorded runs in other formats, as arrays to judge: tables and ROS 2 bags."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from tarsus.comparison.trajectory import BESIDE, NEEDED, OPTIONAL, SCALARS, read
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidFile, join_names, unknown_name
from tarsus.exchange.ros_bag import is_bag, read_bag
from tarsus.exchange.table import FORMATS, read_table

COLUMN = re.compile(r"(?P<name>\w+)(?:\[(?P<label>[^\]]+)\])?")
SHOWN = 5  # names of missing columns
XYZ = {"x": 0, "y": 1, "z": 2}
KNOWN = (*NEEDED, *OPTIONAL, *SCALARS, *BESIDE)


def run_of(path: Path, robot: Robot | None) -> Any:
    """A recorded run in a file: a log (.nc, or a table of `tarsus export`), or arrays.

    robot: needed for a ROS 2 bag
    """
    if is_bag(path):
        if robot is None:
            raise IncompatibleOptions(
                "a bag does not name its robot; give a built-in robot or an MJCF, URDF or SDF file"
                " with --robot.",
                "robot",
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
    texts: dict[str, Any] = {}
    for column in map(str, frame.columns):
        found = COLUMN.fullmatch(column.strip())
        if found is None or found["name"] not in KNOWN:
            raise unknown_name("array of a trajectory", column, KNOWN)
        label = found["label"] or ""
        if re.fullmatch(r"[\d,\s]*", label):
            place = tuple(int(k) for k in label.split(",") if k.strip())
        else:
            name, dot, axis = label.rpartition(".")
            named = (name, XYZ[axis]) if dot and axis in XYZ else (label,)
            contacts += [named[0]] if named[0] not in contacts else []
            place = (contacts.index(str(named[0])), *named[1:])
        if found["name"] == "integrator":
            texts["integrator"] = str(frame[column].iloc[0]) if len(frame) else ""
            continue
        parts.setdefault(found["name"], {})[place] = _numbers(pd.Series(frame[column]), column)
    if not parts or not len(frame):
        raise InvalidFile(
            "the table has no rows; the first holds the start, every other row a step.", "time"
        )
    # each in its shape
    arrays: dict[str, Any] = {}
    for name, places in parts.items():
        if name in SCALARS:
            arrays[name] = float(places[()][0])
            continue
        if () in places and len(places) > 1:
            raise InvalidFile(
                f"the table has both a column {name} and columns {name}[...]; keep one kind.", name
            )
        shape = tuple(1 + np.max([place for place in places], axis=0)) if () not in places else ()
        if len(places) != np.prod(shape, dtype=int):
            absent = [place for place in np.ndindex(*shape) if place not in places]
            names = [f"{name}[{','.join(map(str, place))}]" for place in absent]
            raise InvalidFile(f"the table lacks the columns {join_names(names, SHOWN)}.", names[0])
        value = np.zeros((len(frame), *map(int, shape)))
        for place, numbers in places.items():
            value[(slice(None), *place)] = numbers
        arrays[name] = value
    texts |= {"contact_body": np.array(contacts)} if contacts else {}
    return arrays | texts


def _numbers(column: pd.Series, name: str) -> NDArray[np.float64]:
    """Return a column's numbers; InvalidFile names the first row that holds something else."""
    if pd.api.types.is_string_dtype(column):  # a word among them, and maybe decimal commas
        column = column.str.replace(",", ".")
    numbers = np.asarray(pd.to_numeric(column, errors="coerce"), float)
    wrong = np.flatnonzero(np.isnan(numbers) & column.notna().to_numpy())
    if len(wrong):
        row = int(wrong[0])
        raise InvalidFile(
            f"{name} must be a number in row {row}, not {str(column.iloc[row])[:20]!r}.", name
        )
    return numbers
