"""Specification of an identification: the tables of a TOML file.

[log]
files = ["trot.nc"]
from = 0.5
action = "tau"

[model]
robot = "starleth"
law = "moreau"
terrain = "slope"
dt = 0.0025
"law.e_N" = 0.0

[free]
"law.mu" = { low = 0.2, high = 1.2 }
"mass.base" = { low = 10.0, high = 25.0 }

[compare]
q = 0.0005
u = 0.01

[search]
window = 0.05
hold_out = 0.25
method = "least_squares"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tarsus import registry
from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.files import read_toml
from tarsus.identification.unknowns import Unknown, read_unknowns
from tarsus.model import fixed_base

METHODS = ("least_squares", "cma")
LOG = ("files", "from", "to", "sample", "action", "measured")
MODEL = ("robot", *fixed_base.ENTRIES, "law", "terrain", "stepper", "dt")
FILES = ("robot", "law", "terrain", "stepper")  # entries that may be paths
PARTS = ("law", "terrain", "option")
TABLES = ("log", "model", "free", "compare", "search")
SEARCH = {
    "window": 0.05,
    "every": None,
    "windows": 40,
    "hold_out": 0.25,
    "starts": True,
    "method": "least_squares",
    "candidates": 64,
    "tries": 2,
    "folds": 5,
    "scan": True,
    "seed": 0,
}
INTEGERS = {"windows": (1, 10_000), "candidates": (1, 1_000_000), "tries": (1, 100)}
INTEGERS |= {"folds": (2, 100), "seed": (0, 2**31)}


@dataclass(frozen=True)
class IdentificationSpec:
    """Checked specification of an identification.

    Attributes
    ----------
    unknowns
        The unknowns.
    files
        Paths of the logs.
    span
        Start and end of the used part, in s.
    sample
        Time between the used states, in s.
    action
        Name of the variable with the actions.
    measured
        Whether the coordinates of the logs are readings of encoders, with their offsets.
    model
        robot, fixed_base, law, ... and law.NAME, terrain.NAME, option.NAME; the default is that of
        the log.
    compare
        Noise of q, u and force.
    search
        Entries of `SEARCH`.
    """

    unknowns: tuple[Unknown, ...]
    files: tuple[str, ...] = ()
    span: tuple[float | None, float | None] = (None, None)
    sample: float | None = None
    action: str = ""
    measured: bool = False
    model: Mapping[str, Any] = field(default_factory=dict)
    compare: Mapping[str, Any] = field(default_factory=lambda: {"q": 1e-3, "u": 1e-2})
    search: Mapping[str, Any] = field(default_factory=lambda: dict(SEARCH))


def read_spec(path: Path) -> IdentificationSpec:
    """Read a specification from a TOML file; paths in it are relative to its folder.

    Raises
    ------
    TarsusError
        For bad input.
    UntrustedFile
        For a Python file that the user has not trusted (`registry.trust`).
    """
    spec = parse_spec(read_toml(path), path.parent)
    for name in FILES:
        if str(spec.model.get(name, "")).endswith(registry.PYTHON_SUFFIX):
            registry.trusted_file(name, str(spec.model[name]), None)
    return spec


def parse_spec(tables: Mapping[str, Any], folder: Path = Path()) -> IdentificationSpec:
    """Parse the tables of a TOML file; paths are relative to `folder`."""
    for table, value in tables.items():
        if table not in TABLES:
            raise unknown_name_error("table of an identification", table, TABLES)
        if not isinstance(value, Mapping):
            raise InvalidValue(f"[{table}] must be a table, not {value!r}.", table)
    # log and model
    log = tables.get("log", {})
    for name in log:
        if name not in LOG:
            raise unknown_name_error("entry of [log]", name, LOG)
    files = log.get("files", [])
    files = [files] if isinstance(files, str) else files
    if not isinstance(files, list | tuple) or not all(isinstance(f, str) for f in files):
        raise InvalidValue(
            f"log.files must be a path or a list of paths, not {files!r}.", "log.files"
        )
    span = tuple(_check_seconds(f"log.{name}", log.get(name)) for name in ("from", "to"))
    model = dict(_flatten("", tables.get("model", {})))
    for name in model:
        part, dot, _ = name.partition(".")
        if not (dot and part in PARTS) and name not in MODEL:
            known = (*MODEL, *(f"{part}.NAME" for part in PARTS))
            raise unknown_name_error("entry of [model]", name, known)
    for name in FILES:
        if isinstance(model.get(name), str) and Path(model[name]).suffix:
            model[name] = str((folder / model[name]).resolve())
    fixed_base.base_options(model)
    # unknowns, comparison and search
    compare = tables.get("compare", {"q": 1e-3, "u": 1e-2})
    return IdentificationSpec(
        read_unknowns(_collect_ranges(tables.get("free", {}))),
        tuple(str((folder / f).resolve()) for f in files),
        (span[0], span[1]),
        _check_seconds("log.sample", log.get("sample")),
        str(log.get("action", "")),
        _check_flag("log.measured", log.get("measured", False)),
        model,
        compare,
        _complete_search(tables.get("search", {})),
    )


def _complete_search(table: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the entries of [search] with their defaults."""
    for name in table:
        if name not in SEARCH:
            raise unknown_name_error("entry of [search]", name, SEARCH)
    entries = {**SEARCH, **table}
    if entries["method"] not in METHODS:
        raise unknown_name_error("method", str(entries["method"]), METHODS)
    if not isinstance(entries["starts"], bool):
        raise InvalidValue(
            f"search.starts must be true (fitted) or false (as logged), not {entries['starts']!r}.",
            "search.starts",
        )
    if not isinstance(entries["scan"], bool):
        raise InvalidValue(
            "search.scan must be true (intervals by scanning) or false (by curvature), not"
            f" {entries['scan']!r}.",
            "search.scan",
        )
    for name, (low, high) in INTEGERS.items():
        if type(entries[name]) is not int or not low <= entries[name] <= high:
            raise InvalidValue(
                f"search.{name} must be a whole number from {low} to {high}, not"
                f" {entries[name]!r}.",
                f"search.{name}",
            )
    for name in ("window", "every"):
        if (
            entries[name] is not None
            and not (_check_seconds(f"search.{name}", entries[name]) or 0) > 0
        ):
            raise InvalidValue(
                f"search.{name} must be a positive number of seconds, not {entries[name]!r}.",
                f"search.{name}",
            )
    share = entries["hold_out"]
    if type(share) not in (int, float) or not 0 <= share < 1:
        raise InvalidValue(
            f"search.hold_out must be a share of the windows, from 0 to below 1, not {share!r}.",
            "search.hold_out",
        )
    return entries


def _check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue(f"{name} must be true or false, not {value!r}.", name)
    return value


def _check_seconds(name: str, value: Any) -> float | None:
    if value is not None and (type(value) not in (int, float) or value < 0):
        raise InvalidValue(f"{name} must be a number of seconds, 0 or more, not {value!r}.", name)
    return None if value is None else float(value)


def _flatten(prefix: str, table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Flatten nested tables to entries with dotted names."""
    entries: list[tuple[str, Any]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        entries += _flatten(f"{name}.", value) if isinstance(value, Mapping) else [(name, value)]
    return entries


def _collect_ranges(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Read ranges by dotted name, quoted ("law.mu" = ...) or nested (law.mu = ...)."""
    ranges: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        nested = isinstance(value, Mapping) and value
        if nested and all(isinstance(v, Mapping) for v in value.values()):
            ranges |= _collect_ranges(value, f"{name}.")
        else:
            ranges[name] = value
    return ranges
