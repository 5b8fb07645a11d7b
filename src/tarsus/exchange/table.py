"""A log as a table, a row a step (and world), a column a number; and read again from it.

Columns: `time`, `world` of a batch, and for each variable its name with its labels,
`force_world[FL_foot.z]`. What has no time, units and attributes stand beside: in a file
NAME.csv.json, or in the metadata of a Parquet file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from tarsus.errors import InvalidFile, TarsusError
from tarsus.files import (
    MAX_COMPRESSION_RATIO,
    UNCHECKED_ARCHIVE_SIZE,
    atomic_write,
    is_file,
    json_text,
    missing_file,
    write_text,
)
from tarsus.model.files import needed_library
from tarsus.schema import (
    AnyOf,
    JsonValueRule,
    ListRule,
    NumberRule,
    TableRule,
    TextRule,
    parse_json,
)
from tarsus.simulation.recording.log_schema import check_log

KEY = b"tarsus"  # of a Parquet file's metadata
BESIDE = ".json"  # added to the name of a CSV file
LEADING = ("time", "world")
FORMATS = (".csv", ".parquet")
VARIABLE = TableRule(
    {
        "dims": ListRule(TextRule(), max_items=10),
        "attrs": TableRule(),
        "type": TextRule(longest=100),
        "values": AnyOf((NumberRule(), ListRule(JsonValueRule()), TextRule()), or_none=True),
    },
    required=("dims", "attrs", "type"),
)
BESIDE_RULE = TableRule(
    {"attrs": TableRule(), "variables": TableRule(others=VARIABLE)}, required=("attrs", "variables")
)


def table(log: xr.Dataset) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The columns of a log, and what stands beside them."""
    # whose row it is
    steps = log.sizes["time"]
    worlds = log.sizes.get("world", 1)
    columns: dict[str, Any] = {"time": np.repeat(log["time"].values, worlds)}
    if "world" in log.dims:
        columns["world"] = np.tile(log["world"].values, steps)
    # what has a time becomes columns, all else stands beside
    variables: dict[str, Any] = {}
    for name, value in log.variables.items():
        own = {"dims": list(value.dims), "attrs": dict(value.attrs), "type": value.dtype.str}
        variables[str(name)] = own
        if name in columns:
            continue
        if value.dims[:1] != ("time",):
            own["values"] = (
                [str(v) for v in value.values] if value.dtype.kind in "OUS" else value.values
            )
            continue
        labels = list(
            product(*(map(str, log[dim].values) for dim in value.dims if dim not in LEADING))
        )
        shaped = value.values if "world" in value.dims else np.repeat(value.values, worlds, 0)
        flat = shaped.reshape(steps * worlds, len(labels))
        for k, label in enumerate(labels):
            columns[f"{name}[{'.'.join(label)}]" if label else str(name)] = flat[:, k]
    return pd.DataFrame(columns), {"attrs": dict(log.attrs), "variables": variables}


def dataset(frame: pd.DataFrame, beside: Mapping[str, Any]) -> xr.Dataset:
    """The log again, bit for bit; TarsusError, naming it, for what is missing or does not fit."""
    BESIDE_RULE.check("", beside)
    worlds = len(set(frame["world"])) if "world" in frame else 1
    steps = len(frame) // worlds if worlds else 0
    if steps * worlds != len(frame) or not steps:
        raise InvalidFile(
            f"this table has {len(frame)} rows, not the same number of steps for each of"
            f" {worlds} worlds.",
            "world",
        )
    # every variable from its columns, or from beside
    variables, found = beside["variables"], dict[str, Any]()
    beside_rows = {name: v["values"] for name, v in variables.items() if "values" in v}
    sizes = {name: len(rows) for name, rows in beside_rows.items() if isinstance(rows, list)}
    sizes |= {"time": steps, "world": worlds}
    for name, own in variables.items():
        dims, kind = own["dims"], _kind(name, own["type"])
        shape = [sizes.get(dim, -1) for dim in dims]
        if -1 in shape and "values" not in own:
            lost = dims[shape.index(-1)]
            raise InvalidFile(f"this table lacks the labels of {lost}.", lost)
        values = (
            _beside(name, own["values"], kind)
            if "values" in own
            else _from_columns(frame, name, kind, (steps, worlds, dims, shape))
        )
        if values.ndim != len(dims):
            raise InvalidFile(
                f"{name} must have {len(dims)} dimensions ({', '.join(dims) or 'none'}), not"
                f" {values.ndim}.",
                name,
            )
        found[name] = (dims, values, own["attrs"])
    try:
        return xr.Dataset(found, attrs=beside["attrs"])
    except ValueError as error:  # dimensions of one name and several sizes
        raise InvalidFile(
            f"the variables of this table have inconsistent sizes: {error}.", "variables"
        ) from None


def _kind(name: str, text: str) -> np.dtype[Any]:
    """Return the type of a variable; InvalidFile unless it is one of numbers or text."""
    try:
        kind = np.dtype(text)
    except TypeError:
        kind = np.dtype("V")
    if kind.kind not in "fiubOUS":
        raise InvalidFile(
            f"variables.{name}.type must be a type of numbers or text.", f"variables.{name}.type"
        )
    return np.dtype(str) if kind.kind in "OUS" else kind


def _beside(name: str, values: Any, kind: np.dtype[Any]) -> Any:
    """What stands beside the columns, as an array."""
    try:
        return np.asarray(_numbers(values) if kind.kind == "f" else values, kind)
    except (TypeError, ValueError, OverflowError):
        raise InvalidFile(
            f"variables.{name}.values must be {kind} values in rows of equal length.",
            f"variables.{name}.values",
        ) from None


def _from_columns(
    frame: pd.DataFrame,
    name: str,
    kind: np.dtype[Any],
    place: tuple[int, int, Sequence[str], Sequence[int]],
) -> Any:
    """A variable from its columns; place: steps, worlds, dimensions, and their sizes."""
    steps, worlds, dims, shape = place
    columns = [c for c in frame.columns if c == name or c.startswith(f"{name}[")]
    inner = [size for dim, size in zip(dims, shape, strict=True) if dim not in LEADING]
    if len(columns) != math.prod(inner):
        raise InvalidFile(
            f"this table has {len(columns)} columns of {name}, but it needs {math.prod(inner)}.",
            name,
        )
    try:
        values = frame[columns].to_numpy(kind).reshape(steps, worlds, *inner)
    except (TypeError, ValueError, OverflowError):
        raise InvalidFile(f"the columns of {name} must hold {kind} values.", name) from None
    if name == "world":
        return values[0]
    return values if "world" in dims else values[:, 0]


def _numbers(values: Any) -> Any:
    """Numbers from JSON, which says null for what is not finite."""
    if isinstance(values, list):
        return [_numbers(value) for value in values]
    return np.nan if values is None else values


def write_table(log: xr.Dataset, to: Path) -> list[Path]:
    """Write a .csv or .parquet file, whole or not at all; the files written."""
    check_log(log)
    frame, beside = table(log)
    if to.suffix == ".parquet":
        arrow, parquet = (
            needed_library("pyarrow", "Parquet", "exchange"),
            needed_library("pyarrow.parquet", "Parquet", "exchange"),
        )
        made = arrow.Table.from_pandas(frame, preserve_index=False)
        made = made.replace_schema_metadata({KEY: json_text(beside).encode()})
        with atomic_write(to) as temporary:
            parquet.write_table(made, temporary)
        return [to]
    notes = to.with_name(to.name + BESIDE)
    with atomic_write(to) as temporary:
        frame.to_csv(temporary, index=False)
        write_text({notes: json_text(beside, indent=1)})
    return [to, notes]


def read_table(path: Path) -> xr.Dataset | pd.DataFrame:
    """The log in a table that `write_table` wrote, or the columns of another's table; TarsusError
    if it cannot be read.
    """
    if not is_file(path):
        raise missing_file(path, "a table (.csv, .parquet)")
    try:
        if path.suffix == ".parquet":
            frame, told = _parquet(path)
        else:
            frame = pd.read_csv(path, **_dialect(path))  # reads what it wrote to the last bit
            notes = path.with_name(path.name + BESIDE)
            told = notes.read_text(encoding="utf-8") if is_file(notes) else None
    except TarsusError:
        raise
    except Exception as error:  # readers let whatever a damaged file provokes through
        reason = str(error).partition("\n")[0]
        raise InvalidFile(f"{path} cannot be read as a table: {reason}.", path) from None
    if told is None:
        return frame
    return dataset(frame, parse_json("what stands beside this table", told))


def _parquet(path: Path) -> tuple[pd.DataFrame, Any]:
    """The columns of a Parquet file, and what stands beside them."""
    parquet = needed_library("pyarrow.parquet", "Parquet", "exchange")
    declared = parquet.read_metadata(path)
    cells = declared.num_rows * declared.num_columns
    if cells * 8 > UNCHECKED_ARCHIVE_SIZE + MAX_COMPRESSION_RATIO * path.stat().st_size:
        raise InvalidFile(
            f"{path} declares {cells:.3g} numbers, too many for its size: it is damaged or"
            " malicious.",
            path,
        )
    found = parquet.read_table(path)
    return found.to_pandas(), (found.schema.metadata or {}).get(KEY)


def _dialect(path: Path) -> dict[str, Any]:
    """Return pandas's options for semicolons or tabs, and for decimal commas between them."""
    with path.open(encoding="utf-8", errors="replace") as file:
        header, first = file.readline(), file.readline()
    if ";" not in header and "\t" not in header:
        return {}
    return {"sep": ";" if ";" in header else "\t", "decimal": "," if "," in first else "."}
