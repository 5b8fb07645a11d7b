"""A log as a table, a row a step (and world), a column a number; and read again from it.

Columns: `time`, `world` of a batch, and for each variable its name with its labels,
`force_world[FL_foot.z]`. What has no time, units and attributes stand beside: in a file
NAME.csv.json, or in the metadata of a Parquet file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from tarsus.errors import TarsusError
from tarsus.files import is_file, json_text, replacing, write_text
from tarsus.model.files import needed_library

KEY = b"tarsus"  # of a Parquet file's metadata
BESIDE = ".json"  # added to the name of a CSV file
LEADING = ("time", "world")
FORMATS = (".csv", ".parquet")


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
    """The log again, bit for bit; TarsusError if columns are missing."""
    # every variable from its columns, or from beside
    worlds = len(set(frame["world"])) if "world" in frame else 1
    steps = len(frame) // worlds
    found: dict[str, Any] = {}
    for name, own in beside["variables"].items():
        dims, kind = own["dims"], np.dtype(own["type"])
        if "values" in own:
            kind = np.dtype(str) if kind.kind in "OUS" else kind
            values = np.asarray(
                _numbers(own["values"]) if kind.kind == "f" else own["values"], kind
            )
            found[name] = (dims, values, own["attrs"])
            continue
        columns = [c for c in frame.columns if c == name or c.startswith(f"{name}[")]
        if not columns and name != "world":
            raise TarsusError(f"this table lacks the columns of {name}.")
        sizes = [len(beside["variables"][d]["values"]) for d in dims if d not in LEADING]
        values = frame[columns].to_numpy(kind).reshape(steps, worlds, *sizes)
        if name == "world":
            values = values[0]
        elif "world" not in dims:
            values = values[:, 0]
        found[name] = (dims, values, own["attrs"])
    return xr.Dataset(found, attrs=beside["attrs"])


def _numbers(values: Any) -> Any:
    """Numbers from JSON, which says null for what is not finite."""
    if isinstance(values, list):
        return [_numbers(value) for value in values]
    return np.nan if values is None else values


def write_table(log: xr.Dataset, to: Path) -> list[Path]:
    """Write a .csv or .parquet file, whole or not at all; the files written."""
    frame, beside = table(log)
    if to.suffix == ".parquet":
        arrow, parquet = (
            needed_library("pyarrow", "Parquet", "exchange"),
            needed_library("pyarrow.parquet", "Parquet", "exchange"),
        )
        made = arrow.Table.from_pandas(frame, preserve_index=False)
        made = made.replace_schema_metadata({KEY: json_text(beside).encode()})
        with replacing(to) as temporary:
            parquet.write_table(made, temporary)
        return [to]
    notes = to.with_name(to.name + BESIDE)
    with replacing(to) as temporary:
        frame.to_csv(temporary, index=False)
        write_text({notes: json_text(beside, indent=1)})
    return [to, notes]


def read_table(path: Path) -> xr.Dataset | pd.DataFrame:
    """The log in a table that `write_table` wrote, or the columns of another's table."""
    if path.suffix == ".parquet":
        parquet = needed_library("pyarrow.parquet", "Parquet", "exchange")
        found = parquet.read_table(path)
        told = (found.schema.metadata or {}).get(KEY)
        frame = found.to_pandas()
    else:
        frame = pd.read_csv(path)  # pandas reads back what it wrote, to the last bit
        notes = path.with_name(path.name + BESIDE)
        told = notes.read_text(encoding="utf-8") if is_file(notes) else None
    return frame if told is None else dataset(frame, json.loads(told))
