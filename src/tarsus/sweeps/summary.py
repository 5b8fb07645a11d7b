"""A sweep in numbers: counts, and the mean of each outcome for each value of what was varied."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tarsus.algebra.intervals import Z95, wilson
from tarsus.sweeps.query import asked, asked_last, failures
from tarsus.sweeps.shares import is_share, unit_of
from tarsus.viewer.tables import TextTable

if TYPE_CHECKING:
    import pandas as pd

BESIDE = ("sample", "failure", "trajectory", "chunk", "tarsus_version", "versions")
DISTINCT = 6  # values of a parameter that are shown one by one; of more, ranges
RANGES = 4  # with as many worlds each


@dataclass(frozen=True)
class MeanOutcome:
    """The mean of an outcome with its 95 % interval; of a 0/1 outcome the share of ones.

    low, high: by the normal distribution of the mean, of a share by Wilson's (1927) formula
    """

    mean: float
    low: float
    high: float
    share: bool


def estimate(values: Any, share: bool) -> MeanOutcome | None:
    """Return the mean of the values that are numbers and its interval; None if there are none.

    share: whether the outcome is 0 or 1 in the whole sweep
    """
    given = np.asarray(values, float)
    given = given[np.isfinite(given)]
    if not len(given):
        return None
    mean = float(given.mean())
    if share:
        return MeanOutcome(mean, *wilson(int(given.sum()), len(given)), True)
    half = Z95 * float(given.std(ddof=1)) / math.sqrt(len(given)) if len(given) > 1 else math.inf
    return MeanOutcome(mean, mean - half, mean + half, False)


@dataclass(frozen=True)
class Cell:
    """Worlds that share a value of what was varied, and their outcomes by name."""

    parameter: str
    value: str
    worlds: int
    failed: int
    outcomes: dict[str, MeanOutcome | None]


def summary(folder: str | Path) -> list[Cell]:
    """Return all worlds, then those of each value or range of each varied parameter."""
    rows = asked(folder)
    spec = asked_last(Path(folder))
    fixed = spec.get("names", [])
    varied = [name for name in spec.get("axes", {}) if name in rows]
    outcomes = [
        name
        for name in rows
        if name not in (*BESIDE, *fixed, *varied, "dt", "seed") and rows[name].dtype.kind in "fi"
    ]
    shares = {name: is_share(name, rows[name]) for name in outcomes}
    found = [_cell("all", "", rows, shares)]
    for name in varied:
        found += [_cell(name, value, part, shares) for value, part in _parts(rows, name)]
    return found


def tables(folder: str | Path) -> tuple[TextTable, str]:
    """Return the summary to print: its table, and why worlds failed."""
    cells = summary(folder)
    names = list(cells[0].outcomes)
    head = [
        "varied",
        "value",
        "worlds",
        "failed",
        *(_heading(name, cells[0].outcomes[name]) for name in names),
    ]
    rows, above = list[list[str]](), ""
    for cell in cells:
        name = "" if cell.parameter == above else cell.parameter
        counts = [str(cell.worlds), str(cell.failed)]
        rows.append([name, cell.value, *counts, *(told(cell.outcomes[n]) for n in names)])
        above = cell.parameter
    why = [f"{w} failed: {t}" for t, w in failures(folder)[["failure", "worlds"]].to_numpy()]
    return TextTable(head, rows, ("varied", "value"), keys=2), "\n".join(why)


def told(found: MeanOutcome | None) -> str:
    """Return a mean with its interval, to the digit that the interval knows."""
    if found is None:
        return "-"
    if found.share:
        low, high = 100 * found.low, 100 * found.high
        return f"{100 * found.mean:.3g} % ({low:.2g} to {high:.2g})"
    half = found.high - found.mean
    if not math.isfinite(half):
        return f"{found.mean:.3g}"
    if half == 0:
        return f"{found.mean:.4g} ±0"
    digits = 1 - math.floor(math.log10(half))  # two digits of the interval
    if abs(found.mean) >= 1e5 or half < 1e-4:
        return f"{found.mean:.3g} ±{half:.2g}"
    return f"{found.mean:.{max(digits, 0)}f} ±{half:.{max(digits, 0)}f}"


def _cell(name: str, value: str, rows: pd.DataFrame, shares: dict[str, bool]) -> Cell:
    failed = int(np.count_nonzero(rows["failure"].notna()))
    means = {outcome: estimate(rows[outcome], share) for outcome, share in shares.items()}
    return Cell(name, value, len(rows), failed, means)


def _parts(rows: Any, name: str) -> list[tuple[str, Any]]:
    """Return the rows of each value of a parameter, or of ranges with as many worlds each."""
    values: Any = rows[name]
    known: list[Any] = sorted(values.dropna().unique(), key=lambda v: (isinstance(v, str), v))
    if len(known) <= DISTINCT or values.dtype.kind not in "fi":
        return [(_name(v), rows[values == v]) for v in known]
    edges = np.unique(np.quantile(np.asarray(values, float), np.linspace(0, 1, RANGES + 1)))
    found = []
    for low, high in itertools.pairwise(edges):
        inside = (values >= low) & ((values < high) | (high == edges[-1]))
        found.append((f"{low:.3g} to {high:.3g}", rows[inside]))
    return found


def _name(value: Any) -> str:
    """Return a value as a cell: of a path its file's name."""
    if isinstance(value, str):
        return Path(value).name if "/" in value or "\\" in value else value
    return f"{value:.4g}"


def _heading(name: str, found: MeanOutcome | None) -> str:
    """Return an outcome with its unit."""
    if found is not None and found.share:
        return f"{name}, share"
    unit = unit_of(name)
    return name if unit == "1" else f"{name} / ({unit})" if "/" in unit else f"{name} / {unit}"
