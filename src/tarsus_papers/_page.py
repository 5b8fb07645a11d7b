"""HTML page of a reproduction, self-contained, with inline pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tarsus.viewer.html_page import build_document, build_grid
from tarsus.viewer.html_page import embed_svg as svg
from tarsus_papers.base import Check, Exhibit, Experiment, Finding, Number, Row, Table

MIN_RATIO = 1e-3  # smaller ratios are shown as an upper limit
COLUMNS = ("quantity", "published", "measured", "ratio", "unit", "in the paper", "comment")


def page(experiment: Experiment, results: Mapping[str, Finding], record: Mapping[str, Any]) -> str:
    """Return the page of an experiment."""
    parts = [part for part in experiment.parts if part.name in results]
    body = [_head(experiment, record), _contents(parts)]
    body += [_section(part, results[part.name]) for part in parts]
    body.append(_foot(record))
    return build_document(experiment.title, body)


def _head(experiment: Experiment, record: Mapping[str, Any]) -> str:
    """Return the title, the paper and the kind of run."""
    shortened = (
        "<p><strong>Reduced version</strong>: fewer runs, shorter ones.</p>"
        if record["quick"]
        else ""
    )
    return (
        f"<header>\n<h1>{escape(experiment.title)}</h1>\n<p"
        f' class="dim">{escape(experiment.paper.text())}</p>\n'
        f"<p>{escape(experiment.description)}</p>\n{shortened}</header>"
    )


def _contents(parts: Sequence[Exhibit]) -> str:
    items = "\n".join(f'<li><a href="#{part.name}">{escape(part.title)}</a></li>' for part in parts)
    return f'<nav aria-label="Contents">\n<ul>\n{items}\n</ul>\n</nav>'


def _section(part: Exhibit, finding: Finding) -> str:
    """Return one part: description, picture, numbers and checks."""
    location = f"In the paper: {part.location}." if part.location else "Beyond the paper."
    pieces = [
        (
            f'<section id="{part.name}">\n<h2>{escape(part.title)}</h2>\n<p class="dim'
            f' small">{escape(location)}</p>'
        ),
        f"<p>{escape(part.description)}</p>",
    ]
    picture = part.draw(finding.data)
    if picture is not None:
        pieces.append(svg(picture, part.title, part.caption, part.name))
    if finding.rows:
        pieces.append(_build_rows(finding.rows))
    pieces += [_build_table(table) for table in finding.tables]
    pieces += [f'<p class="small">{escape(note)}</p>' for note in finding.notes]
    if finding.checks:
        pieces.append(_build_checks(finding.checks))
    return "\n".join(pieces) + "\n</section>"


def _build_rows(rows: Sequence[Row]) -> str:
    """Return the table of published and measured numbers, without empty columns."""
    cells = [
        (
            row.quantity,
            row.published,
            row.measured,
            _times(row.ratio),
            row.unit,
            row.location,
            row.comment,
        )
        for row in rows
    ]
    shown = [
        k for k in range(len(COLUMNS)) if k < 3 or any(line[k] not in (None, "") for line in cells)
    ]
    names = {0: "q", 1: "n", 2: "n", 3: "n", 6: "c"}
    head = "".join(f'<th class="{names.get(k, "")}">{COLUMNS[k]}</th>' for k in shown)
    lines = [
        "".join(f'<td class="{names.get(k, "")}">{_cell(line[k])}</td>' for k in shown)
        for line in cells
    ]
    return build_grid(head, lines, "full")


def _build_table(table: Table) -> str:
    """Return a table with numbers aligned to the right."""
    numeric = [
        any(isinstance(line[k], int | float) for line in table.rows)
        for k in range(len(table.columns))
    ]
    marks = ["n" if is_number else "" for is_number in numeric]
    head = "".join(
        f'<th class="{mark}">{escape(c)}</th>' for mark, c in zip(marks, table.columns, strict=True)
    )
    lines = [
        "".join(
            f'<td class="{mark}">{_cell(value)}</td>'
            for mark, value in zip(marks, line, strict=True)
        )
        for line in table.rows
    ]
    title = f"<h3>{escape(table.title)}</h3>\n" if table.title else ""
    return title + build_grid(head, lines)


def _build_checks(checks: Sequence[Check]) -> str:
    marks = {True: ("yes", "&#10003;"), False: ("no", "&#10007;")}
    items = [
        f'<li><span class="{marks[check.holds][0]}">{marks[check.holds][1]}</span>'
        f"&ensp;{escape(check.claim)}"
        f' <span class="dim">({escape(check.numbers)})</span></li>'
        for check in checks
    ]
    return '<h3>Required checks</h3>\n<ul class="checks">\n' + "\n".join(items) + "\n</ul>"


def _foot(record: Mapping[str, Any]) -> str:
    """Return machine, versions, and the command that reproduces this page."""
    repeat = f"tarsus reproduce {record['experiment']}" + (" --quick" if record["quick"] else "")
    settings = {
        **record["machine"],
        "measured": record["measured"].replace("T", " ").replace("+00:00", " UTC"),
        "versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
    }
    items = "\n".join(
        f"<dt>{escape(key)}</dt><dd>{escape(str(value))}</dd>" for key, value in settings.items()
    )
    return (
        f'<footer>\n<h2 id="machine">Machine and versions</h2>\n<dl>\n{items}\n'
        f"<dt>reproduce with</dt><dd><code>{escape(repeat)}</code></dd>\n</dl>\n"
        f'<p class="small">Paper: {escape(record["citation"])}</p>\n</footer>'
    )


def _cell(value: Number) -> str:
    if value is None:
        return '<span class="dim">&ndash;</span>'
    return escape(value) if isinstance(value, str) else format_number(value)


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{format_number(ratio, 2)}×" if abs(ratio) >= MIN_RATIO else f"below {MIN_RATIO:g}×"


def format_number(value: float, digits: int = 3) -> str:
    """Return a number as HTML text with a number of significant digits.

    Thousands are separated, and very small or large numbers get a power of ten.
    """
    if not math.isfinite(value):
        return "not finite"
    if value == round(value) and abs(value) < 1e6:
        return f"{value:,.0f}"
    power = math.floor(math.log10(abs(value)))
    if power >= 9 or power < -4:
        mantissa = value / 10**power
        return f"{mantissa:.{digits - 1}f}&thinsp;&times;&thinsp;10<sup>{power}</sup>"
    decimals = max(digits - 1 - power, 0)
    text = f"{round(value, digits - 1 - power):,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
