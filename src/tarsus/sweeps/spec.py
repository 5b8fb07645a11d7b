"""What a sweep is: what stays fixed, what is varied and how, and which outcomes are measured.

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
own = "my_outcomes.py"

[trajectories]
keep = "fell"
most_mb = 2000
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tarsus import registry
from tarsus.errors import IncompatibleOptions, InvalidValue, unknown_name
from tarsus.files import read_toml
from tarsus.sweeps import names
from tarsus.sweeps.sampling import METHODS, Axis, Words

TABLES = {
    "fixed": None,
    "vary": None,
    "sample": ("method", "count", "seed"),
    "outcomes": ("names", "own"),
    "trajectories": ("keep", "most_mb"),
}
DEFAULT_OUTCOMES = ("fell", "speed", "energy", "peak_force", "residuals")
MOST = 10_000_000  # worlds of a sweep
MOST_MB = 10_000.0  # of trajectories, unless told otherwise


@dataclass(frozen=True)
class SweepSpec:
    """A sweep, checked.

    fixed: what all worlds have, by name
    axes: what differs, by name
    method: "grid", "latin" (Latin hypercube) or "random"; count, seed: of the latter two
    outcomes: names of outcomes; own: a file with more
    keep: whose trajectories: "all", "failed", an outcome (where it is not zero), a number (so many,
        evenly chosen), or samples; 0 for none
    most_mb: of trajectories, beyond which the sweep stops
    """

    fixed: Mapping[str, Any]
    axes: Mapping[str, Axis]
    method: str = "grid"
    count: int = 0
    seed: int = 0
    outcomes: tuple[str, ...] = DEFAULT_OUTCOMES
    own: str = ""
    keep: str | int | tuple[int, ...] = 0
    most_mb: float = MOST_MB
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        # what is named, and whether it exists
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
            names.check(name)
        for name, value in self.fixed.items():
            names.check_value(name, value)
        for name, axis in self.axes.items():
            for value in axis.values if isinstance(axis, Words) else ():
                names.check_value(name, value)
        # how it is sampled
        if self.method not in METHODS:
            raise unknown_name("sampling method", str(self.method), METHODS)
        if self.method != "grid" and not 1 <= self.count <= MOST:
            raise InvalidValue(
                f"count must be a whole number from 1 to {MOST:g}, not {self.count}.", "count"
            )
        if self.method == "grid" and self.count:
            raise IncompatibleOptions(
                'count cannot be combined with method = "grid", whose size follows from its axes.',
                "count",
            )
        # what is kept
        counts = (self.keep,) if isinstance(self.keep, int) else self.keep
        if not isinstance(counts, str) and any(k < 0 for k in counts):
            raise InvalidValue(
                f"trajectories.keep must not be negative, not {min(counts)}.", "trajectories.keep"
            )
        if not self.most_mb > 0:
            raise InvalidValue(
                f"trajectories.most_mb must be above 0, not {self.most_mb}.", "trajectories.most_mb"
            )
        object.__setattr__(self, "names", tuple(sorted((*self.fixed, *self.axes))))


def read(path: Path) -> SweepSpec:
    """The sweep in a TOML file; paths in it count from its folder. TarsusError for bad input.

    UntrustedFile for a Python file that the user has not named beside it (`registry.trust`).
    """
    found = of(read_toml(path), path.parent)
    named = [(name, value) for name, value in found.fixed.items() if name in names.WORDS]
    for name, axis in found.axes.items():
        if name in names.WORDS and isinstance(axis, Words):
            named += [(name, value) for value in axis.values]
    for name, value in (*named, *([("outcome", found.own)] if found.own else [])):
        if str(value).endswith(registry.PYTHON_SUFFIX):
            registry.trusted_file(name, str(value), None)
    return found


def of(given: Mapping[str, Any], folder: Path = Path()) -> SweepSpec:
    """The sweep of tables as a TOML file has them.

    folder: from which paths count
    """
    for table, value in given.items():
        if table not in TABLES:
            raise unknown_name("table of a sweep", table, TABLES)
        if not isinstance(value, Mapping):
            raise InvalidValue(f"[{table}] must be a table, not {value!r}.", table)
        for name in value:
            if (known := TABLES[table]) is not None and name not in known:
                raise unknown_name(f"entry of [{table}]", name, known)
    # names and values
    fixed = dict(_flat("", given.get("fixed", {})))
    varied = dict(_flat("", given.get("vary", {}), axes=True))
    sample, measured = given.get("sample", {}), given.get("outcomes", {})
    kept = given.get("trajectories", {})
    fixed = {name: _placed(name, value, folder) for name, value in fixed.items()}
    axes = {name: _axis(name, value, folder) for name, value in varied.items()}
    own = measured.get("own", "")
    outcomes = _words("outcomes.names", measured.get("names", DEFAULT_OUTCOMES))
    return SweepSpec(
        fixed,
        axes,
        sample.get("method", "grid"),
        _whole("count", sample.get("count", 0)),
        _whole("seed", sample.get("seed", 0)),
        outcomes,
        str((folder / own).resolve()) if own else "",
        keeping(kept.get("keep", 0)),
        _megabytes(kept.get("most_mb", MOST_MB)),
    )


def keeping(given: Any) -> str | int | tuple[int, ...]:
    """Whose trajectories are kept, checked but for names of outcomes; a text may hold numbers."""
    if isinstance(given, str) and given and set(given) <= set("0123456789, "):
        numbers = [int(part) for part in given.split(",") if part.strip()]
        given = numbers if "," in given else numbers[0]
    if isinstance(given, str) or type(given) is int:
        return given
    if not isinstance(given, Sequence) or any(type(k) is not int for k in given) or not given:
        raise InvalidValue(
            'trajectories.keep must be "all", "failed", an outcome such as "fell", a number of'
            f" worlds (20) or a list of samples ([3, 17]), not {given!r}.",
            "trajectories.keep",
        )
    return tuple(sorted(set(given)))


def _megabytes(given: Any) -> float:
    if type(given) not in (int, float):
        raise InvalidValue(
            f"trajectories.most_mb must be a number, not {given!r}.", "trajectories.most_mb"
        )
    return float(given)


def _flat(prefix: str, table: Mapping[str, Any], axes: bool = False) -> list[tuple[str, Any]]:
    """Entries of nested tables under dotted names; a range of an axis is no table."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and not (axes and {"low", "high"} <= set(value)):
            found += _flat(f"{name}.", value, axes)
        else:
            found.append((name, value))
    return found


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
    return Words(name, tuple(_placed(name, v, folder) for v in value))


def _placed(name: str, value: Any, folder: Path) -> Any:
    """A file's path from the spec's folder; anything else as it is."""
    if not isinstance(value, str | int | float | bool):
        raise InvalidValue(f"{name} must be a number or a word, not {value!r}.", name)
    if isinstance(value, str) and name in names.FILES and Path(value).suffix:
        return str((folder / value).resolve())
    return value


def _words(name: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(word, str) for word in given):
        raise InvalidValue(f"{name} must be a list of words, not {given!r}.", name)
    return tuple(given)


def _whole(name: str, given: Any) -> int:
    if type(given) is not int:
        raise InvalidValue(f"{name} must be a whole number, not {given!r}.", name)
    return given
