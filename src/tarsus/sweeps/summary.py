"""Summary of a sweep: counts, and the mean outcomes for each value of the varied parameters."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tarsus.algebra.intervals import Z95, wilson_interval
from tarsus.sweeps.proportions import is_proportion, outcome_unit
from tarsus.sweeps.query import failures, last_spec, run_sql
from tarsus.viewer.tables import TextTable

if TYPE_CHECKING:
    import pandas as pd

METADATA_COLUMNS = ("sample", "failure", "trajectory", "chunk", "tarsus_version", "versions")
MAX_VALUES = 6  # of a numeric parameter that are listed separately; more are shown as ranges
RANGE_COUNT = 4  # ranges with equal numbers of worlds


@dataclass(frozen=True)
class MeanOutcome:
    """Mean of an outcome with its 95 % confidence interval.

    Attributes
    ----------
    mean
        Mean, or proportion of ones of a 0/1 outcome.
    low, high
        Confidence interval: normal for a mean, Wilson's (1927) for a proportion.
    share
        Whether the outcome is a proportion.
    """

    mean: float
    low: float
    high: float
    share: bool


def estimate(values: Any, share: bool) -> MeanOutcome | None:
    """Compute the mean of the finite values with its interval; None if there are none.

    Parameters
    ----------
    values
        Values of the outcome.
    share
        Whether the outcome is 0 or 1 in the whole sweep.
    """
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return None
    mean = float(finite.mean())
    if share:
        return MeanOutcome(mean, *wilson_interval(int(finite.sum()), len(finite)), True)
    half_width = math.inf
    if len(finite) > 1:
        half_width = Z95 * float(finite.std(ddof=1)) / math.sqrt(len(finite))
    return MeanOutcome(mean, mean - half_width, mean + half_width, False)


@dataclass(frozen=True)
class Cell:
    """Worlds that share a value of a varied parameter, and their outcomes by name."""

    parameter: str
    value: str
    worlds: int
    failed: int
    outcomes: dict[str, MeanOutcome | None]


def summary(folder: str | Path) -> list[Cell]:
    """Compute one cell for all worlds, then one for each value or range of each parameter."""
    rows = run_sql(folder)
    spec = last_spec(Path(folder))
    fixed = spec.get("names", [])
    varied = [name for name in spec.get("axes", {}) if name in rows]
    outcomes = [
        name
        for name in rows
        if name not in (*METADATA_COLUMNS, *fixed, *varied, "dt", "seed")
        and rows[name].dtype.kind in "fi"
    ]
    proportions = {name: is_proportion(name, rows[name]) for name in outcomes}
    cells = [_cell("all", "", rows, proportions)]
    for name in varied:
        cells += [_cell(name, value, part, proportions) for value, part in _parts(rows, name)]
    return cells


def tables(folder: str | Path) -> tuple[TextTable, str]:
    """Format the summary as a table to print, and the reasons for failures as text."""
    cells = summary(folder)
    names = list(cells[0].outcomes)
    head = [
        "parameter",
        "value",
        "worlds",
        "failed",
        *(_format_heading(name, cells[0].outcomes[name]) for name in names),
    ]
    rows, previous = list[list[str]](), ""
    for cell in cells:
        name = "" if cell.parameter == previous else cell.parameter
        counts = [str(cell.worlds), str(cell.failed)]
        rows.append([name, cell.value, *counts, *(format_mean(cell.outcomes[n]) for n in names)])
        previous = cell.parameter
    reasons = [f"{w} failed: {t}" for t, w in failures(folder)[["failure", "worlds"]].to_numpy()]
    return TextTable(head, rows, ("parameter", "value"), keys=2), "\n".join(reasons)


def format_mean(outcome: MeanOutcome | None) -> str:
    """Format a mean with its interval, rounded to two significant digits of the interval."""
    if outcome is None:
        return "-"
    if outcome.share:
        low, high = 100 * outcome.low, 100 * outcome.high
        return f"{100 * outcome.mean:.3g} % ({low:.2g} to {high:.2g})"
    half = outcome.high - outcome.mean
    if not math.isfinite(half):
        return f"{outcome.mean:.3g}"
    if half == 0:
        return f"{outcome.mean:.4g} ±0"
    digits = 1 - math.floor(math.log10(half))
    if abs(outcome.mean) >= 1e5 or half < 1e-4:
        return f"{outcome.mean:.3g} ±{half:.2g}"
    return f"{outcome.mean:.{max(digits, 0)}f} ±{half:.{max(digits, 0)}f}"


def _cell(name: str, value: str, rows: pd.DataFrame, proportions: dict[str, bool]) -> Cell:
    failed = int(np.count_nonzero(rows["failure"].notna()))
    means = {outcome: estimate(rows[outcome], share) for outcome, share in proportions.items()}
    return Cell(name, value, len(rows), failed, means)


def _parts(rows: Any, name: str) -> list[tuple[str, Any]]:
    """Split the rows by the values of a parameter, or by ranges with equally many worlds."""
    values: Any = rows[name]
    distinct: list[Any] = sorted(values.dropna().unique(), key=lambda v: (isinstance(v, str), v))
    if len(distinct) <= MAX_VALUES or values.dtype.kind not in "fi":
        return [(_format_value(v), rows[values == v]) for v in distinct]
    edges = np.unique(np.quantile(np.asarray(values, float), np.linspace(0, 1, RANGE_COUNT + 1)))
    parts = []
    for low, high in itertools.pairwise(edges):
        inside = (values >= low) & ((values < high) | (high == edges[-1]))
        parts.append((f"{low:.3g} to {high:.3g}", rows[inside]))
    return parts


def _format_value(value: Any) -> str:
    """Format a value as text; for a path, only the name of the file."""
    if isinstance(value, str):
        return Path(value).name if "/" in value or "\\" in value else value
    return f"{value:.4g}"


def _format_heading(name: str, outcome: MeanOutcome | None) -> str:
    """Format the heading of an outcome, with its unit."""
    if outcome is not None and outcome.share:
        return f"{name} / %"
    unit = outcome_unit(name)
    return name if unit == "1" else f"{name} / ({unit})" if "/" in unit else f"{name} / {unit}"
