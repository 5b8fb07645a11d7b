"""A sweep's rows, asked with SQL by DuckDB; a picture of two columns; a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tarsus.algebra.intervals import wilson
from tarsus.errors import IncompatibleOptions, InvalidFile, InvalidValue, TarsusError
from tarsus.files import is_file
from tarsus.model.files import needed_library
from tarsus.schema import ListRule, TableRule, TextRule, read_json
from tarsus.sweeps.shares import is_share
from tarsus.sweeps.store import CHUNKS, SPEC, WARNINGS
from tarsus.viewer.html_page import document, dots, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ASKED = TableRule({CHUNKS: ListRule(TextRule())})
ROWS = "rows"  # the table's name in SQL
MARKED = 5000  # points of a picture that are drawn one by one; of more, a sample
LISTED = 20  # reasons for failures on a page
BINS = 12  # of a column of many numbers
SERIES = 12  # groups that a picture tells apart


class NoAccess(IncompatibleOptions):
    """An SQL query reads something other than the sweep's rows. The subject is the option that
    allows it.
    """


def asked(
    folder: str | Path,
    sql: str = "SELECT * FROM rows ORDER BY sample",
    external_access: bool = False,
) -> pd.DataFrame:
    """The answer of a question in SQL to the table `rows` of a sweep's folder: the rows of what was
    asked of it last.

    external_access: whether the question may also read and write files, attach databases and load
    extensions. TarsusError for a folder without rows, and for SQL that DuckDB does not take.
    """
    # the files of its chunks
    last = asked_last(Path(folder)).get(CHUNKS)
    files = [
        path
        for path in sorted((Path(folder) / CHUNKS).glob("*.parquet"))
        if last is None or path.stem in last
    ]
    if not files:
        raise InvalidFile(
            f"{folder} contains no rows of a sweep: run `tarsus sweep` first.", folder
        )
    # the question to them
    duckdb: Any = needed_library("duckdb", "a question about a sweep", "sweeps")
    connection = duckdb.connect()
    try:
        connection.register(ROWS, _rows(files))
        if not external_access:
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        found = connection.sql(sql)
        return pd.DataFrame() if found is None else found.df()
    except duckdb.Error as error:
        if not external_access and (
            isinstance(error, duckdb.PermissionException) or "has been locked" in str(error)
        ):
            raise NoAccess(
                "the query reads more than the sweep's rows (files, databases, extensions or"
                " settings): allow it with --external-access (external_access=True in Python).",
                "external_access",
            ) from None
        said = str(error).splitlines()[0]
        raise InvalidValue(
            f"DuckDB rejects the query: {said} The table is {ROWS!r}; list its columns with"
            f" 'SELECT * FROM {ROWS} LIMIT 1'.",
            "sql",
        ) from None
    finally:
        connection.close()


def _rows(files: Sequence[Path]) -> Any:
    """The rows of all chunks, read as they are asked for; a column may be missing in some."""
    arrow: Any = needed_library("pyarrow", "a question about a sweep", "sweeps")
    dataset: Any = needed_library("pyarrow.dataset", "a question about a sweep", "sweeps")
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
    """Why worlds failed: columns failure, worlds (how many), first (the least sample); the most
    frequent reason first.
    """
    return asked(
        folder,
        "SELECT failure, count(*) AS worlds, min(sample) AS first FROM rows"
        " WHERE failure IS NOT NULL GROUP BY failure ORDER BY worlds DESC, first",
    )


def warned(folder: str | Path) -> list[dict[str, Any]]:
    """What worlds were warned of: "code", "worlds" (how many), and "message", that of the first
    chunk with this kind; the most frequent first.
    """
    rows = asked(
        folder,
        "SELECT warnings, chunk, count(*) AS worlds, min(sample) AS first FROM rows"
        " WHERE warnings IS NOT NULL GROUP BY warnings, chunk ORDER BY first",
    )
    parquet = needed_library("pyarrow.parquet", "a question about a sweep", "sweeps")
    found: dict[str, dict[str, Any]] = {}
    for codes, chunk, worlds in zip(rows["warnings"], rows["chunk"], rows["worlds"], strict=True):
        for code in str(codes).split(", "):
            if code not in found:
                path = Path(folder) / CHUNKS / f"{chunk}.parquet"
                told = json.loads(parquet.read_schema(path).metadata[WARNINGS.encode()])
                found[code] = {"code": code, "worlds": 0, "message": told[code]}
            found[code]["worlds"] += int(worlds)
    return sorted(found.values(), key=lambda one: -one["worlds"])


def picture(folder: str | Path, x: str, y: str, by: str | None = None) -> Figure:
    """Draw y over x, a color for each value of `by`.

    Lines are medians where x is numeric; a 0/1 outcome is drawn as a share with its interval.
    """
    from matplotlib.figure import Figure

    # the columns, words or numbers
    wanted: dict[str, None] = dict.fromkeys([x, y, *([by] if by else [])])
    named = ", ".join(_quoted(name) for name in wanted)
    table = asked(
        folder, f"SELECT {named} FROM rows WHERE {_quoted(y)} IS NOT NULL ORDER BY sample"
    )
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    share = is_share(y, table[y])
    parts = table.groupby(by) if by else [("", table)]
    for k, (name, part) in enumerate(parts):
        if k == SERIES:
            break
        _series(axes, part, x, y, str(name), share)
    axes.set_xlabel(x)
    axes.set_ylabel(f"{y}: share of worlds, 95 % interval" if share else y)
    if by:
        axes.legend(title=by, fontsize=8)
    return figure


def _series(axes: Any, part: Any, x: str, y: str, label: str, share: bool) -> None:
    """Draw points and medians of a few bins; of a 0/1 outcome shares with their intervals."""
    numeric = part[x].dtype.kind in "fi" and part[x].nunique() > 1
    if share:
        places, groups = _bins(part[x]) if numeric else (part[x].unique(), None)
        which = groups if groups is not None else part[x].map({v: k for k, v in enumerate(places)})
        found = part.assign(bin=which).groupby("bin")[y].agg(["sum", "count", "mean"])
        ends = np.array([wilson(int(n), int(of)) for n, of in found[["sum", "count"]].to_numpy()])
        middle = found["mean"].to_numpy()
        at = [places[int(k)] for k in found.index]
        bars = np.abs(ends.T - middle)
        axes.errorbar(at, middle, bars, fmt="o-" if numeric else "o", ms=4, capsize=3, label=label)
        return
    shown = part if len(part) <= MARKED else part.sample(MARKED, random_state=1)
    dots = axes.plot(shown[x], shown[y], ".", ms=3, alpha=0.4, label=label)[0]
    if part[x].dtype.kind == "f" and numeric:
        places, which = _bins(part[x])
        if len(places) > 1:
            middle = part.assign(bin=which).groupby("bin")[[x, y]].median()
            axes.plot(middle[x], middle[y], color=dots.get_color())


def _bins(values: Any) -> tuple[Any, Any]:
    """Return the middles of bins with as many values each, and the bin of each value.

    A value of few has a bin of its own.
    """
    known = np.unique(values)
    if len(known) <= BINS:
        return known, np.searchsorted(known, values)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)))
    which = np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(edges) - 2)
    middles = [float(np.mean(values[which == k])) for k in range(len(edges) - 1)]
    return middles, which


def report(folder: str | Path, plots: Sequence[Sequence[str]] = ()) -> str:
    """A self-contained HTML page: what was asked, outcomes in numbers, failures, pictures."""
    # all rows in numbers
    counts = asked(folder, "SELECT count(*) AS worlds, count(failure) AS failed FROM rows").iloc[0]
    summary = asked(folder, "SUMMARIZE rows")
    columns = ["column_name", "column_type", "min", "max", "avg", "std"]
    why = failures(folder)[:LISTED]
    # the page
    body = [
        "<h1>Sweep</h1>",
        f"<p>{int(counts['worlds'])} worlds, {int(counts['failed'])} failed.</p>",
        "<h2>Columns</h2>",
        _listed(summary[columns]),
    ]
    if len(why):
        body += ["<h2>Failures</h2>", _listed(why)]
    for x, y, *by in plots:
        body += [
            f"<h2>{escape(y)} by {escape(x)}</h2>",
            dots(picture(folder, x, y, *by), f"{y} by {x}"),
        ]
    spec = {name: told for name, told in asked_last(Path(folder)).items() if name != CHUNKS}
    if spec:
        told = json.dumps(spec, indent=1)
        body += ["<h2>What was asked</h2>", f"<pre>{escape(told)}</pre>"]
    return document("Sweep", body)


def asked_last(folder: Path) -> dict[str, Any]:
    """What `sweep.json` holds, the chunks as a set; nothing if there is none, or it is damaged."""
    if not is_file(folder / SPEC):
        return {}
    try:
        found = read_json(folder / SPEC)
        ASKED.check("", found)
    except TarsusError:
        return {}
    return {**found, CHUNKS: set(found[CHUNKS])} if CHUNKS in found else found


def _listed(frame: Any) -> str:
    """A data frame as a table."""
    numbers = [k for k, kind in enumerate(frame.dtypes) if kind.kind in "fiu"]
    rows = [["" if v is None or v != v else str(v) for v in row] for row in frame.to_numpy()]
    return table([str(c) for c in frame.columns], rows, numbers)


def _quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'
