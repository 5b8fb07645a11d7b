"""Recorded runs in other formats, as arrays to judge: tables and ROS 2 bags."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from tarsus.comparison.trajectory import INTEGRATION, OPTIONAL, REQUIRED, SCALARS, read_arrays
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidFile, join_names, unknown_name_error
from tarsus.exchange.ros_bag import is_bag, read_bag
from tarsus.exchange.table import FORMATS, read_table

COLUMN = re.compile(r"(?P<name>\w+)(?:\[(?P<label>[^\]]+)\])?")
MAX_LISTED = 5  # missing columns that an error lists
XYZ = {"x": 0, "y": 1, "z": 2}
KNOWN = (*REQUIRED, *OPTIONAL, *SCALARS, *INTEGRATION)


def read_run(path: Path, robot: Robot | None) -> Any:
    """Read a recorded run from a file.

    Parameters
    ----------
    path
        A log (.nc, or a table of `tarsus export`), arrays (.npz or a table), or a ROS 2 bag.
    robot
        Robot that moved, required for a ROS 2 bag.

    Returns
    -------
    xarray.Dataset or dict
        Log of Tarsus, or arrays by name.
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
        return read_arrays(path)
    table = read_table(path)
    return table if isinstance(table, xr.Dataset) else columns_to_arrays(table)


def columns_to_arrays(frame: pd.DataFrame) -> dict[str, Any]:
    """Assemble arrays from the columns of a table.

    Column names are those of the arrays with an index: `time`, `qpos[0]`, `contact_force[1,2]`, or
    with the name of a contact, `contact_force[FL_foot.z]` and `gap[FL_foot]`.
    """
    # by array and index
    columns: dict[str, dict[tuple[Any, ...], Any]] = {}
    contacts: list[str] = []
    texts: dict[str, Any] = {}
    for column in map(str, frame.columns):
        match = COLUMN.fullmatch(column.strip())
        if match is None or match["name"] not in KNOWN:
            raise unknown_name_error("array of a trajectory", column, KNOWN)
        label = match["label"] or ""
        if re.fullmatch(r"[\d,\s]*", label):
            index = tuple(int(k) for k in label.split(",") if k.strip())
        else:
            name, dot, axis = label.rpartition(".")
            named = (name, XYZ[axis]) if dot and axis in XYZ else (label,)
            contacts += [named[0]] if named[0] not in contacts else []
            index = (contacts.index(str(named[0])), *named[1:])
        if match["name"] == "integrator":
            texts["integrator"] = str(frame[column].iloc[0]) if len(frame) else ""
            continue
        columns.setdefault(match["name"], {})[index] = _numbers(pd.Series(frame[column]), column)
    if not columns or not len(frame):
        raise InvalidFile(
            "the table has no rows; row 0 must contain the start, and every later row one step.",
            "time",
        )
    # each in its shape
    arrays: dict[str, Any] = {}
    for name, indexed in columns.items():
        if name in SCALARS:
            arrays[name] = float(indexed[()][0])
            continue
        if () in indexed and len(indexed) > 1:
            raise InvalidFile(
                f"the table has both a column {name} and columns {name}[...]; keep one kind.", name
            )
        shape = tuple(1 + np.max([index for index in indexed], axis=0)) if () not in indexed else ()
        if len(indexed) != np.prod(shape, dtype=int):
            absent = [index for index in np.ndindex(*shape) if index not in indexed]
            names = [f"{name}[{','.join(map(str, index))}]" for index in absent]
            raise InvalidFile(
                f"the table lacks the columns {join_names(names, MAX_LISTED)}.", names[0]
            )
        value = np.zeros((len(frame), *map(int, shape)))
        for index, numbers in indexed.items():
            value[(slice(None), *index)] = numbers
        arrays[name] = value
    texts |= {"contact_body": np.array(contacts)} if contacts else {}
    return arrays | texts


def _numbers(column: pd.Series, name: str) -> NDArray[np.float64]:
    """Convert a column to numbers; raise InvalidFile that names the first invalid row."""
    if pd.api.types.is_string_dtype(column):  # holds a word, and perhaps decimal commas
        column = column.str.replace(",", ".")
    numbers = np.asarray(pd.to_numeric(column, errors="coerce"), float)
    wrong = np.flatnonzero(np.isnan(numbers) & column.notna().to_numpy())
    if len(wrong):
        row = int(wrong[0])
        raise InvalidFile(
            f"{name} must be a number in row {row}, not {str(column.iloc[row])[:20]!r}.", name
        )
    return numbers
