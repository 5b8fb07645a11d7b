"""Spec of a sweep: fixed entries, varied entries, sampling, outcomes and saved trajectories.

A TOML file such as

[fixed]
robot = "mini_cheetah"
gait = "trot"
seconds = 2.0
command.speed = 0.3

[vary]
law = ["moreau", "compliant"]
"law.mu" = { low = 0.2, high = 1.0 }
"mass.base" = { low = 0.8, high = 1.2 }

[sample]
method = "latin"
count = 1000
seed = 1

[outcomes]
names = ["fell", "speed"]
file = "my_outcomes.py"

[trajectories]
keep = "fell"
max_mb = 2000
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tarsus import registry
from tarsus.errors import IncompatibleOptions, InvalidValue, unknown_name_error
from tarsus.files import read_toml
from tarsus.sweeps import entries
from tarsus.sweeps.sampling import METHODS, Axis, ListAxis

TABLES = {
    "fixed": None,
    "vary": None,
    "sample": ("method", "count", "seed"),
    "outcomes": ("names", "file"),
    "trajectories": ("keep", "max_mb"),
}
DEFAULT_OUTCOMES = ("fell", "speed", "energy", "peak_force", "residuals")
MAX_WORLDS = 10_000_000
DEFAULT_MAX_MB = 10_000.0  # of trajectories


@dataclass(frozen=True)
class SweepSpec:
    """Validated spec of a sweep.

    Attributes
    ----------
    fixed
        Entries that all worlds share, by name.
    axes
        Entries that vary, by name.
    method
        "grid", "latin" (Latin hypercube) or "random".
    count, seed
        Number of samples and their seed, for "latin" and "random".
    outcomes
        Names of outcomes.
    outcome_file
        Python file with more outcomes, or "".
    keep
        Worlds whose trajectories are saved: "all", "failed", an outcome (where it is not zero), a
        number of worlds (evenly spaced), or samples; 0 for none.
    max_mb
        Size of all trajectories beyond which the sweep stops, in MB.
    names
        Names of all entries.
    """

    fixed: Mapping[str, Any]
    axes: Mapping[str, Axis]
    method: str = "grid"
    count: int = 0
    seed: int = 0
    outcomes: tuple[str, ...] = DEFAULT_OUTCOMES
    outcome_file: str = ""
    keep: str | int | tuple[int, ...] = 0
    max_mb: float = DEFAULT_MAX_MB
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        # names and values of the entries
        both = sorted(set(self.fixed) & set(self.axes))
        if both:
            raise IncompatibleOptions(
                f"{', '.join(both)} cannot be in both [fixed] and [vary]: remove one entry.",
                both[0],
            )
        if "robot" not in self.fixed and "robot" not in self.axes:
            raise InvalidValue(
                'a sweep needs a robot: set robot = "mini_cheetah" under [fixed].', "robot"
            )
        for name in (*self.fixed, *self.axes):
            entries.check(name)
        for name, value in self.fixed.items():
            entries.check_value(name, value)
        for name, axis in self.axes.items():
            for value in axis.values if isinstance(axis, ListAxis) else ():
                entries.check_value(name, value)
        # sampling
        if self.method not in METHODS:
            raise unknown_name_error("sampling method", str(self.method), METHODS)
        if self.method != "grid" and not 1 <= self.count <= MAX_WORLDS:
            raise InvalidValue(
                f"count must be a whole number from 1 to {MAX_WORLDS:g}, not {self.count}.",
                "count",
            )
        if self.method == "grid" and self.count:
            raise IncompatibleOptions(
                'count cannot be combined with method = "grid", whose size follows from its axes.',
                "count",
            )
        # saved trajectories
        counts = (self.keep,) if isinstance(self.keep, int) else self.keep
        if not isinstance(counts, str) and any(k < 0 for k in counts):
            raise InvalidValue(
                f"trajectories.keep must not be negative, not {min(counts)}.", "trajectories.keep"
            )
        if not self.max_mb > 0:
            raise InvalidValue(
                f"trajectories.max_mb must be above 0, not {self.max_mb}.", "trajectories.max_mb"
            )
        object.__setattr__(self, "names", tuple(sorted((*self.fixed, *self.axes))))


def read(path: Path) -> SweepSpec:
    """Read the spec in a TOML file; paths in it are relative to the file's folder.

    Raises
    ------
    UntrustedFile
        If the spec refers to a Python file that the user does not trust (`registry.trust`).
    TarsusError
        If the spec is invalid.
    """
    spec = from_tables(read_toml(path), path.parent)
    named = [(name, value) for name, value in spec.fixed.items() if name in entries.WORDS]
    for name, axis in spec.axes.items():
        if name in entries.WORDS and isinstance(axis, ListAxis):
            named += [(name, value) for value in axis.values]
    for name, value in (*named, *([("outcome", spec.outcome_file)] if spec.outcome_file else [])):
        if str(value).endswith(registry.PYTHON_SUFFIX):
            registry.trusted_file(name, str(value), None)
    return spec


def from_tables(tables: Mapping[str, Any], folder: Path = Path()) -> SweepSpec:
    """Parse the spec of tables that have the form of a TOML file.

    Parameters
    ----------
    tables
        Tables by name.
    folder
        Folder that paths are relative to.

    Raises
    ------
    TarsusError
        If the spec is invalid.
    """
    for table, value in tables.items():
        if table not in TABLES:
            raise unknown_name_error("table of a sweep", table, TABLES)
        if not isinstance(value, Mapping):
            raise InvalidValue(f"[{table}] must be a table, not {value!r}.", table)
        for name in value:
            if (known := TABLES[table]) is not None and name not in known:
                raise unknown_name_error(f"entry of [{table}]", name, known)
    # names and values
    fixed = dict(_flatten("", tables.get("fixed", {})))
    varied = dict(_flatten("", tables.get("vary", {}), axes=True))
    sample, measured = tables.get("sample", {}), tables.get("outcomes", {})
    trajectories = tables.get("trajectories", {})
    fixed = {name: _resolve_path(name, value, folder) for name, value in fixed.items()}
    axes = {name: _axis(name, value, folder) for name, value in varied.items()}
    outcome_file = measured.get("file", "")
    outcomes = _words("outcomes.names", measured.get("names", DEFAULT_OUTCOMES))
    return SweepSpec(
        fixed,
        axes,
        sample.get("method", "grid"),
        _whole_number("count", sample.get("count", 0)),
        _whole_number("seed", sample.get("seed", 0)),
        outcomes,
        str((folder / outcome_file).resolve()) if outcome_file else "",
        parse_keep(trajectories.get("keep", 0)),
        _megabytes(trajectories.get("max_mb", DEFAULT_MAX_MB)),
    )


def parse_keep(value: Any) -> str | int | tuple[int, ...]:
    """Parse `SweepSpec.keep`: a word, a number, samples, or a text of sample numbers.

    Names of outcomes are not checked.
    """
    if isinstance(value, str) and value and set(value) <= set("0123456789, "):
        numbers = [int(part) for part in value.split(",") if part.strip()]
        value = numbers if "," in value else numbers[0]
    if isinstance(value, str) or type(value) is int:
        return value
    if not isinstance(value, Sequence) or any(type(k) is not int for k in value) or not value:
        raise InvalidValue(
            'trajectories.keep must be "all", "failed", an outcome such as "fell", a number of'
            f" worlds (20) or a list of samples ([3, 17]), not {value!r}.",
            "trajectories.keep",
        )
    return tuple(sorted(set(value)))


def _megabytes(value: Any) -> float:
    if type(value) not in (int, float):
        raise InvalidValue(
            f"trajectories.max_mb must be a number, not {value!r}.", "trajectories.max_mb"
        )
    return float(value)


def _flatten(prefix: str, table: Mapping[str, Any], axes: bool = False) -> list[tuple[str, Any]]:
    """Flatten nested tables to entries with dotted names; the range of an axis is one entry."""
    flat: list[tuple[str, Any]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and not (axes and {"low", "high"} <= set(value)):
            flat += _flatten(f"{name}.", value, axes)
        else:
            flat.append((name, value))
    return flat


def _axis(name: str, value: Any, folder: Path) -> Axis:
    if isinstance(value, Mapping):
        return Axis.read(name, value)
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise InvalidValue(
            f"{name} must be a list of values or a range, such as {{ low = 0.2, high = 1.0 }}, not"
            f" {value!r}.",
            name,
        )
    kinds = {isinstance(v, str) for v in value}
    if len(kinds) > 1 or any(not isinstance(v, str | int | float | bool) for v in value):
        raise InvalidValue(f"{name} must list only numbers or only words.", name)
    return ListAxis(name, tuple(_resolve_path(name, v, folder) for v in value))


def _resolve_path(name: str, value: Any, folder: Path) -> Any:
    """Resolve a path relative to the spec's folder; other values are unchanged."""
    if not isinstance(value, str | int | float | bool):
        raise InvalidValue(f"{name} must be a number or a word, not {value!r}.", name)
    if isinstance(value, str) and name in entries.FILES and Path(value).suffix:
        return str((folder / value).resolve())
    return value


def _words(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(word, str) for word in value):
        raise InvalidValue(f"{name} must be a list of words, not {value!r}.", name)
    return tuple(value)


def _whole_number(name: str, value: Any) -> int:
    if type(value) is not int:
        raise InvalidValue(f"{name} must be a whole number, not {value!r}.", name)
    return value
