"""Query the rows of a sweep with SQL (DuckDB), plot two columns, or write a report page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tarsus.algebra.intervals import wilson_interval
from tarsus.errors import IncompatibleOptions, InvalidFile, InvalidValue, TarsusError
from tarsus.files import is_file
from tarsus.model.files import import_library
from tarsus.schema import ListRule, TableRule, TextRule, read_json
from tarsus.sweeps.proportions import is_proportion, outcome_unit
from tarsus.sweeps.store import CHUNKS, SPEC, WARNINGS
from tarsus.viewer.html_page import build_document, build_table, embed_png

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPEC_RULE = TableRule({CHUNKS: ListRule(TextRule())})
ROWS = "rows"  # the table's name in SQL
MAX_POINTS = 5000  # of a series in a plot; a sample of more is drawn
MAX_REASONS = 20  # for failures on a page
MAX_BINS = 12  # of a numeric column
MAX_SERIES = 12  # in a plot


class NoAccess(IncompatibleOptions):
    """Raised if an SQL query reads anything but the rows; the subject is the option to allow it."""


def run_sql(
    folder: str | Path,
    sql: str = "SELECT * FROM rows ORDER BY sample",
    external_access: bool = False,
) -> pd.DataFrame:
    """Run an SQL query on the rows of a sweep.

    If several sweeps share the folder, the rows are those of the last one.

    Parameters
    ----------
    folder
        Folder of the sweep.
    sql
        Query on the table `rows`.
    external_access
        Whether the query may read and write files, attach databases and load extensions.

    Returns
    -------
    pandas.DataFrame
        Result of the query.

    Raises
    ------
    InvalidFile
        If the folder contains no rows.
    InvalidValue
        If DuckDB rejects the query.
    NoAccess
        If the query needs `external_access`.

    Examples
    --------
    >>> import tarsus
    >>> from tarsus.sweeps.query import run_sql
    >>> fixed = {"robot": "mini_cheetah", "gait": "stand", "seconds": 0.1}
    >>> spec = {"fixed": fixed, "vary": {"law": ["moreau", "compliant"]}}
    >>> report = tarsus.sweep(spec, "stand", engine="inline")
    >>> run_sql("stand", "SELECT law, fell FROM rows ORDER BY law")["fell"].tolist()
    [0.0, 0.0]
    """
    # files of the chunks
    last = last_spec(Path(folder)).get(CHUNKS)
    files = [
        path
        for path in sorted((Path(folder) / CHUNKS).glob("*.parquet"))
        if last is None or path.stem in last
    ]
    if not files:
        raise InvalidFile(
            f"{folder} contains no rows of a sweep: run `tarsus sweep` first.", folder
        )
    # query
    duckdb: Any = import_library("duckdb", "querying a sweep", "sweeps")
    connection = duckdb.connect()
    try:
        connection.register(ROWS, _read_rows(files))
        if not external_access:
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        result = connection.sql(sql)
        return pd.DataFrame() if result is None else result.df()
    except duckdb.Error as error:
        if not external_access and (
            isinstance(error, duckdb.PermissionException) or "has been locked" in str(error)
        ):
            raise NoAccess(
                "the query reads more than the sweep's rows (files, databases, extensions or"
                " settings): allow it with --external-access (external_access=True in Python).",
                "external_access",
            ) from None
        reason = str(error).splitlines()[0]
        raise InvalidValue(
            f"DuckDB rejects the query: {reason} The table is {ROWS!r}; list its columns with"
            f" 'SELECT * FROM {ROWS} LIMIT 1'.",
            "sql",
        ) from None
    finally:
        connection.close()


def _read_rows(files: Sequence[Path]) -> Any:
    """Read the rows of all chunks on demand; chunks may lack some columns."""
    arrow: Any = import_library("pyarrow", "querying a sweep", "sweeps")
    dataset: Any = import_library("pyarrow.dataset", "querying a sweep", "sweeps")
    try:
        schemas = [dataset.dataset(file).schema for file in files]
        schema = arrow.unify_schemas(schemas, promote_options="permissive")
        return dataset.dataset(files, schema=schema)
    except (OSError, arrow.ArrowException) as error:
        raise InvalidFile(
            f"cannot read the rows in {files[0].parent}: {str(error).splitlines()[0]}",
            files[0].parent,
        ) from None


def failures(folder: str | Path) -> pd.DataFrame:
    """Count the reasons why worlds failed, the most frequent first.

    The columns are `failure`, `worlds` (number of worlds) and `first` (smallest sample).
    """
    return run_sql(
        folder,
        "SELECT failure, count(*) AS worlds, min(sample) AS first FROM rows"
        " WHERE failure IS NOT NULL GROUP BY failure ORDER BY worlds DESC, first",
    )


def warnings(folder: str | Path) -> list[dict[str, Any]]:
    """Collect the warnings of a sweep, the most frequent first.

    Each has "code", "worlds" (number of worlds), and "message", from the first chunk with the code.
    """
    rows = run_sql(
        folder,
        "SELECT warnings, chunk, count(*) AS worlds, min(sample) AS first FROM rows"
        " WHERE warnings IS NOT NULL GROUP BY warnings, chunk ORDER BY first",
    )
    parquet = import_library("pyarrow.parquet", "querying a sweep", "sweeps")
    by_code: dict[str, dict[str, Any]] = {}
    for codes, chunk, worlds in zip(rows["warnings"], rows["chunk"], rows["worlds"], strict=True):
        for code in str(codes).split(", "):
            if code not in by_code:
                path = Path(folder) / CHUNKS / f"{chunk}.parquet"
                messages = json.loads(parquet.read_schema(path).metadata[WARNINGS.encode()])
                by_code[code] = {"code": code, "worlds": 0, "message": messages[code]}
            by_code[code]["worlds"] += int(worlds)
    return sorted(by_code.values(), key=lambda one: -one["worlds"])


def plot(folder: str | Path, x: str, y: str, by: str | None = None) -> Figure:
    """Plot y over x, with a color for each value of `by`.

    For a numeric x, lines show medians. A 0/1 outcome is plotted as a proportion with its 95 %
    confidence interval.

    Parameters
    ----------
    folder
        Folder of the sweep.
    x, y, by
        Names of columns.
    """
    from matplotlib.figure import Figure

    columns: dict[str, None] = dict.fromkeys([x, y, *([by] if by else [])])
    listed = ", ".join(_quote_column(name) for name in columns)
    table = run_sql(
        folder, f"SELECT {listed} FROM rows WHERE {_quote_column(y)} IS NOT NULL ORDER BY sample"
    )
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    proportion = is_proportion(y, table[y])
    parts = table.groupby(by) if by else [("", table)]
    for k, (name, part) in enumerate(parts):
        if k == MAX_SERIES:
            break
        _plot_series(axes, part, (x, y), str(name), proportion)
    axes.set_xlabel(x)
    axes.set_ylabel(f"{y}: share of worlds, 95 % interval" if proportion else _create_label(y))
    if by:
        axes.legend(title=by, fontsize=8)
    return figure


def _create_label(outcome: str) -> str:
    """Create an axis label: the outcome with its unit."""
    unit = outcome_unit(outcome)
    return (
        outcome
        if unit == "1"
        else f"{outcome} / ({unit})"
        if "/" in unit
        else f"{outcome} / {unit}"
    )


def _plot_series(
    axes: Any, part: Any, columns: tuple[str, str], label: str, proportion: bool
) -> None:
    """Plot points and medians of bins, or the proportions of a 0/1 outcome with intervals."""
    x, y = columns
    numeric = part[x].dtype.kind in "fi" and part[x].nunique() > 1
    if proportion:
        centers, groups = _bins(part[x]) if numeric else (part[x].unique(), None)
        index = groups if groups is not None else part[x].map({v: k for k, v in enumerate(centers)})
        counts = part.assign(bin=index).groupby("bin")[y].agg(["sum", "count", "mean"])
        pairs = counts[["sum", "count"]].to_numpy()
        limits = np.array([wilson_interval(int(ones), int(total)) for ones, total in pairs])
        mean = counts["mean"].to_numpy()
        positions = [centers[int(k)] for k in counts.index]
        bars, style = np.abs(limits.T - mean), "o-" if numeric else "o"
        axes.errorbar(positions, mean, bars, fmt=style, ms=4, capsize=3, label=label)
        return
    shown = part if len(part) <= MAX_POINTS else part.sample(MAX_POINTS, random_state=1)
    dots = axes.plot(shown[x], shown[y], ".", ms=3, alpha=0.4, label=label)[0]
    if part[x].dtype.kind == "f" and numeric:
        centers, index = _bins(part[x])
        if len(centers) > 1:
            median = part.assign(bin=index).groupby("bin")[[x, y]].median()
            axes.plot(median[x], median[y], color=dots.get_color())


def _bins(values: Any) -> tuple[Any, Any]:
    """Compute the centers of bins of equal count, and the bin of each value.

    If there are only a few distinct values, each has its own bin.
    """
    distinct = np.unique(values)
    if len(distinct) <= MAX_BINS:
        return distinct, np.searchsorted(distinct, values)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, MAX_BINS + 1)))
    index = np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(edges) - 2)
    centers = [float(np.mean(values[index == k])) for k in range(len(edges) - 1)]
    return centers, index


def report(folder: str | Path, plots: Sequence[Sequence[str]] = ()) -> str:
    """Build a self-contained HTML page with a summary, the failures, plots and the spec.

    Parameters
    ----------
    folder
        Folder of the sweep.
    plots
        Columns x, y and optionally `by` of each plot.
    """
    # summary of all rows
    counting = "SELECT count(*) AS worlds, count(failure) AS failed FROM rows"
    counts = run_sql(folder, counting).iloc[0]
    summary = run_sql(folder, "SUMMARIZE rows")
    columns = ["column_name", "column_type", "min", "max", "avg", "std"]
    reasons = failures(folder)[:MAX_REASONS]
    # page
    body = [
        "<h1>Sweep</h1>",
        f"<p>{int(counts['worlds'])} worlds, {int(counts['failed'])} failed.</p>",
        "<h2>Columns</h2>",
        _format_html_table(summary[columns]),
    ]
    if len(reasons):
        body += ["<h2>Failures</h2>", _format_html_table(reasons)]
    for x, y, *by in plots:
        body += [
            f"<h2>{escape(y)} by {escape(x)}</h2>",
            embed_png(plot(folder, x, y, *by), f"{y} by {x}"),
        ]
    spec = {name: value for name, value in last_spec(Path(folder)).items() if name != CHUNKS}
    if spec:
        text = json.dumps(spec, indent=1)
        body += ["<h2>Spec</h2>", f"<pre>{escape(text)}</pre>"]
    return build_document("Sweep", body)


def last_spec(folder: Path) -> dict[str, Any]:
    """Read the spec of the last sweep in a folder, with the set of its chunks.

    Returns an empty dictionary if `sweep.json` is missing or damaged.
    """
    if not is_file(folder / SPEC):
        return {}
    try:
        spec = read_json(folder / SPEC)
        SPEC_RULE.check("", spec)
    except TarsusError:
        return {}
    return {**spec, CHUNKS: set(spec[CHUNKS])} if CHUNKS in spec else spec


def _format_html_table(frame: Any) -> str:
    """Format a data frame as an HTML table."""
    numbers = [k for k, kind in enumerate(frame.dtypes) if kind.kind in "fiu"]
    rows = [["" if v is None or v != v else str(v) for v in row] for row in frame.to_numpy()]
    return build_table([str(c) for c in frame.columns], rows, numbers)


def _quote_column(name: str) -> str:
    """Quote the name of a column for SQL."""
    return '"' + name.replace('"', '""') + '"'
