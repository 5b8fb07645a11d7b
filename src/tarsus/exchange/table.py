"""Write a log as a table with one row per step and world, and read it again.

The columns are `time`, `world` for a batch, and one for each number of a variable, named by its
labels, such as `force_world[FL_foot.z]`. Variables without a time, units and attributes are stored
as metadata: in a file NAME.csv.json, or in the metadata of a Parquet file.
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
    missing_file_error,
    write_text,
)
from tarsus.model.files import import_library
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

METADATA_KEY = b"tarsus"  # in a Parquet file
METADATA_SUFFIX = ".json"  # added to the name of a CSV file
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
METADATA_RULE = TableRule(
    {"attrs": TableRule(), "variables": TableRule(others=VARIABLE)}, required=("attrs", "variables")
)


def log_to_table(log: xr.Dataset) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Convert a log to columns and metadata."""
    steps = log.sizes["time"]
    worlds = log.sizes.get("world", 1)
    columns: dict[str, Any] = {"time": np.repeat(log["time"].values, worlds)}
    if "world" in log.dims:
        columns["world"] = np.tile(log["world"].values, steps)
    # variables with a time become columns, all others metadata
    variables: dict[str, Any] = {}
    for name, value in log.variables.items():
        entry = {"dims": list(value.dims), "attrs": dict(value.attrs), "type": value.dtype.str}
        variables[str(name)] = entry
        if name in columns:
            continue
        if value.dims[:1] != ("time",):
            entry["values"] = (
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


def log_from_table(frame: pd.DataFrame, metadata: Mapping[str, Any]) -> xr.Dataset:
    """Convert a table and its metadata to a log that is bit-identical to the original.

    Raises
    ------
    InvalidFile
        If a variable is missing or inconsistent.
    """
    METADATA_RULE.check("", metadata)
    worlds = len(set(frame["world"])) if "world" in frame else 1
    steps = len(frame) // worlds if worlds else 0
    if steps * worlds != len(frame) or not steps:
        raise InvalidFile(
            f"this table has {len(frame)} rows, but every one of its {worlds} worlds must have the"
            " same number.",
            "world",
        )
    # every variable, from its columns or the metadata
    entries, variables = metadata["variables"], dict[str, Any]()
    labels = {name: entry["values"] for name, entry in entries.items() if "values" in entry}
    sizes = {name: len(values) for name, values in labels.items() if isinstance(values, list)}
    sizes |= {"time": steps, "world": worlds}
    for name, entry in entries.items():
        dims, kind = entry["dims"], _read_dtype(name, entry["type"])
        shape = [sizes.get(dim, -1) for dim in dims]
        if -1 in shape and "values" not in entry:
            missing = dims[shape.index(-1)]
            raise InvalidFile(f"this table lacks the labels of {missing}.", missing)
        values = (
            _from_metadata(name, entry["values"], kind)
            if "values" in entry
            else _from_columns(frame, name, kind, (steps, worlds, dims, shape))
        )
        if values.ndim != len(dims):
            raise InvalidFile(
                f"{name} must have {len(dims)} dimensions ({', '.join(dims) or 'none'}), not"
                f" {values.ndim}.",
                name,
            )
        variables[name] = (dims, values, entry["attrs"])
    try:
        return xr.Dataset(variables, attrs=metadata["attrs"])
    except ValueError as error:  # several sizes for one dimension
        raise InvalidFile(
            f"the variables of this table have inconsistent sizes: {error}.", "variables"
        ) from None


def _read_dtype(name: str, text: str) -> np.dtype[Any]:
    """Read the type of a variable; raise InvalidFile unless it is numeric or text."""
    try:
        kind = np.dtype(text)
    except TypeError:
        kind = np.dtype("V")
    if kind.kind not in "fiubOUS":
        raise InvalidFile(
            f"variables.{name}.type must be a type of numbers or text.", f"variables.{name}.type"
        )
    return np.dtype(str) if kind.kind in "OUS" else kind


def _from_metadata(name: str, values: Any, kind: np.dtype[Any]) -> Any:
    """Read a variable of the metadata as an array."""
    try:
        return np.asarray(_read_numbers(values) if kind.kind == "f" else values, kind)
    except (TypeError, ValueError, OverflowError):
        raise InvalidFile(
            f"variables.{name}.values must be {kind} values in rows of equal length.",
            f"variables.{name}.values",
        ) from None


def _from_columns(
    frame: pd.DataFrame,
    name: str,
    kind: np.dtype[Any],
    layout: tuple[int, int, Sequence[str], Sequence[int]],
) -> Any:
    """Read a variable from its columns.

    The layout has the numbers of steps and worlds, the dimensions, and their sizes.
    """
    steps, worlds, dims, shape = layout
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
        raise InvalidFile(f"the columns of {name} must contain {kind} values.", name) from None
    if name == "world":
        return values[0]
    return values if "world" in dims else values[:, 0]


def _read_numbers(values: Any) -> Any:
    """Read the numbers in a JSON value, where null represents NaN."""
    if isinstance(values, list):
        return [_read_numbers(value) for value in values]
    return np.nan if values is None else values


def write_table(log: xr.Dataset, to: Path) -> list[Path]:
    """Write a log as a .csv or .parquet file, atomically.

    Parameters
    ----------
    log
        Log of one or several worlds.
    to
        File to write. A CSV file has its metadata in an additional file NAME.csv.json.

    Returns
    -------
    list of Path
        Files that were written.
    """
    check_log(log)
    frame, metadata = log_to_table(log)
    if to.suffix == ".parquet":
        arrow, parquet = (
            import_library("pyarrow", "Parquet", "exchange"),
            import_library("pyarrow.parquet", "Parquet", "exchange"),
        )
        content = arrow.Table.from_pandas(frame, preserve_index=False)
        content = content.replace_schema_metadata({METADATA_KEY: json_text(metadata).encode()})
        with atomic_write(to) as temporary:
            parquet.write_table(content, temporary)
        return [to]
    metadata_file = to.with_name(to.name + METADATA_SUFFIX)
    with atomic_write(to) as temporary:
        frame.to_csv(temporary, index=False)
        write_text({metadata_file: json_text(metadata, indent=1)})
    return [to, metadata_file]


def read_table(path: Path) -> xr.Dataset | pd.DataFrame:
    """Read a .csv or .parquet table.

    Returns
    -------
    xarray.Dataset or pandas.DataFrame
        The log, if `write_table` wrote the file; else the columns of the table.

    Raises
    ------
    InvalidFile
        If the table cannot be read.
    """
    if not is_file(path):
        raise missing_file_error(path, "a table (.csv, .parquet)")
    try:
        if path.suffix == ".parquet":
            frame, text = _read_parquet(path)
        else:
            frame = pd.read_csv(path, **_dialect(path))  # bit-identical to what was written
            metadata_file = path.with_name(path.name + METADATA_SUFFIX)
            exists = is_file(metadata_file)
            text = metadata_file.read_text(encoding="utf-8") if exists else None
    except TarsusError:
        raise
    except Exception as error:  # a damaged file can raise an exception of any kind
        reason = str(error).partition("\n")[0]
        raise InvalidFile(f"{path} cannot be read as a table: {reason}.", path) from None
    if text is None:
        return frame
    return log_from_table(frame, parse_json("the metadata of this table", text))


def _read_parquet(path: Path) -> tuple[pd.DataFrame, Any]:
    """Read the columns of a Parquet file, and its metadata as text."""
    parquet = import_library("pyarrow.parquet", "Parquet", "exchange")
    declared = parquet.read_metadata(path)
    cells = declared.num_rows * declared.num_columns
    if cells * 8 > UNCHECKED_ARCHIVE_SIZE + MAX_COMPRESSION_RATIO * path.stat().st_size:
        raise InvalidFile(
            f"{path} declares {cells:.3g} numbers, too many for its size: it is damaged or"
            " malicious.",
            path,
        )
    content = parquet.read_table(path)
    return content.to_pandas(), (content.schema.metadata or {}).get(METADATA_KEY)


def _dialect(path: Path) -> dict[str, Any]:
    """Detect pandas's options for the separator of a file, and for decimal commas."""
    with path.open(encoding="utf-8", errors="replace") as file:
        header, first = file.readline(), file.readline()
    if ";" not in header and "\t" not in header:
        return {}
    return {"sep": ";" if ";" in header else "\t", "decimal": "," if "," in first else "."}
