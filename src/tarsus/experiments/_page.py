"""A reproduction as one self-contained HTML page: pictures inline, readable on any screen."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from tarsus.experiments.base import Check, Exhibit, Experiment, Finding, Number, Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; \
background: #fff; color: #1c1e21;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", \
Arial, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 3.25rem 0 .25rem; padding-top: 1.25rem;
  border-top: 1px solid #dfe3e8; }
h3 { font-size: 1rem; margin: 1.75rem 0 .35rem; }
p { margin: .6rem 0; max-width: 46rem; }
a { color: #0b5394; }
.dim { color: #5a6270; }
.small { font-size: .875rem; }
nav ul { margin: .5rem 0; padding: 0; list-style: none; columns: 20rem 2; }
nav li { padding: .15rem 0; break-inside: avoid; }
figure { margin: 1.25rem 0; }
figure img { width: 100%; height: auto; display: block; }
figcaption { color: #5a6270; font-size: .875rem; margin-top: .4rem; max-width: 46rem; }
.wide { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.4; min-width: 50%; }
table.full { width: 100%; }
th, td { padding: .35rem .7rem; text-align: left; vertical-align: top; \
border-bottom: 1px solid #e7eaee; }
th { font-weight: 600; border-bottom: 1px solid #9aa3af; vertical-align: bottom; }
tbody tr:last-child td { border-bottom-color: #9aa3af; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.q { min-width: 11rem; }
td.c { color: #5a6270; min-width: 14rem; }
ul.checks { list-style: none; padding: 0; font-size: .875rem; }
ul.checks li { padding-left: 1.5rem; text-indent: -1.5rem; margin: .25rem 0; }
.yes { color: #19692c; } .no { color: #a61b1b; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.25rem; \
font-size: .875rem; }
dt { color: #5a6270; } dd { margin: 0; overflow-wrap: anywhere; }
code { font: .875em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: #f3f5f7;
  padding: .1em .3em; border-radius: 3px; }
@media (max-width: 40rem) { body { padding: 1.25rem 1rem 3rem; } h1 { font-size: 1.4rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
@media print { body { max-width: none; } h2 { break-after: avoid; } \
figure, tr { break-inside: avoid; } }
"""
SMALL = 1e-3  # ratios below this are not given as a number
FOUND = ("quantity", "published", "measured", "ratio", "unit", "in the paper", "comment")


def page(experiment: Experiment, found: Mapping[str, Finding], record: Mapping[str, Any]) -> str:
    """The whole page."""
    parts = [part for part in experiment.parts if part.name in found]
    body = [_head(experiment, record), _contents(parts)]
    body += [_section(part, found[part.name]) for part in parts]
    body.append(_foot(record))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(experiment.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _head(experiment: Experiment, record: Mapping[str, Any]) -> str:
    """Title, paper, and what kind of run this was."""
    shortened = (
        "<p><strong>Reduced version</strong>: fewer runs, shorter ones.</p>"
        if record["quick"]
        else ""
    )
    return (
        f"<header>\n<h1>{escape(experiment.title)}</h1>\n<p"
        f' class="dim">{escape(experiment.paper.text())}</p>\n'
        f"<p>{escape(experiment.about)}</p>\n{shortened}</header>"
    )


def _contents(parts: Sequence[Exhibit]) -> str:
    items = "\n".join(f'<li><a href="#{part.name}">{escape(part.title)}</a></li>' for part in parts)
    return f'<nav aria-label="Contents">\n<ul>\n{items}\n</ul>\n</nav>'


def _section(part: Exhibit, finding: Finding) -> str:
    """One part: what it is, its picture, its numbers, what held."""
    where = f"In the paper: {part.where}." if part.where else "Beyond the paper."
    pieces = [
        (
            f'<section id="{part.name}">\n<h2>{escape(part.title)}</h2>\n<p class="dim'
            f' small">{escape(where)}</p>'
        ),
        f"<p>{escape(part.about)}</p>",
    ]
    picture = part.draw(finding.data)
    if picture is not None:
        pieces.append(_figure(picture, part))
    if finding.rows:
        pieces.append(_rows(finding.rows))
    pieces += [_table(table) for table in finding.tables]
    pieces += [f'<p class="small">{escape(note)}</p>' for note in finding.notes]
    if finding.checks:
        pieces.append(_checks(finding.checks))
    return "\n".join(pieces) + "\n</section>"


def _figure(picture: Figure, part: Exhibit) -> str:
    """A picture as an SVG in an image element, so that names in several pictures cannot clash."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": part.name, "svg.fonttype": "path"}):
        picture.savefig(buffer, format="svg", metadata={"Date": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return (
        f'<figure>\n<img alt="{escape(part.title)}" src="data:image/svg+xml;base64,{data}">\n'
        f"<figcaption>{escape(part.caption)}</figcaption>\n</figure>"
    )


def _rows(rows: Sequence[Row]) -> str:
    """Published beside measured; columns that stay empty are left out."""
    cells = [
        (
            row.quantity,
            row.published,
            row.measured,
            _times(row.ratio),
            row.unit,
            row.where,
            row.comment,
        )
        for row in rows
    ]
    kept = [
        k for k in range(len(FOUND)) if k < 3 or any(line[k] not in (None, "") for line in cells)
    ]
    names = {0: "q", 1: "n", 2: "n", 3: "n", 6: "c"}
    head = "".join(f'<th class="{names.get(k, "")}">{FOUND[k]}</th>' for k in kept)
    lines = [
        "".join(f'<td class="{names.get(k, "")}">{_cell(line[k])}</td>' for k in kept)
        for line in cells
    ]
    return _grid(head, lines, "full")


def _table(table: Table) -> str:
    """A table whose columns of numbers stand to the right."""
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
    return title + _grid(head, lines)


def _grid(head: str, lines: Sequence[str], kind: str = "") -> str:
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    inner = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
    return f'<div class="wide" tabindex="0">\n<table class="{kind}">\n{inner}\n</table>\n</div>'


def _checks(checks: Sequence[Check]) -> str:
    marks = {True: ("yes", "&#10003;"), False: ("no", "&#10007;")}
    items = [
        f'<li><span class="{marks[check.holds][0]}">{marks[check.holds][1]}</span>'
        f"&ensp;{escape(check.claim)}"
        f' <span class="dim">({escape(check.got)})</span></li>'
        for check in checks
    ]
    return '<h3>What must hold</h3>\n<ul class="checks">\n' + "\n".join(items) + "\n</ul>"


def _foot(record: Mapping[str, Any]) -> str:
    """Machine, versions, and how to make this page again."""
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
        f'<footer>\n<h2 id="machine">Machine and versions</h2>\n<dl>\n{items}\n<dt>again</dt>'
        f"<dd><code>{escape(repeat)}</code></dd>\n</dl>\n"
        f'<p class="small">Paper: {escape(record["citation"])}</p>\n</footer>'
    )


def _cell(value: Number) -> str:
    if value is None:
        return '<span class="dim">&ndash;</span>'
    return escape(value) if isinstance(value, str) else spoken(value)


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{spoken(ratio, 2)}×" if abs(ratio) >= SMALL else f"below {SMALL:g}×"


def spoken(value: float, digits: int = 3) -> str:
    """A number as HTML text with so many significant digits.

    Thousands are separated; very small and large numbers get a power of ten.
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
