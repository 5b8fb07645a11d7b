"""Self-contained HTML pages in one style for all reports, with inline images."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

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
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n { white-space: nowrap; }
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
PNG_DPI = 110


def build_document(title: str, body: Sequence[str]) -> str:
    """Build a complete page with a title and body elements in HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def build_grid(head: str, lines: Sequence[str], kind: str = "") -> str:
    """Build a table whose head and rows are HTML cells; a wide table scrolls on its own."""
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    inner = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
    return f'<div class="wide" tabindex="0">\n<table class="{kind}">\n{inner}\n</table>\n</div>'


def build_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]
) -> str:
    """Build a table of plain text; `numbers` are the columns to align right."""
    classes = [' class="n"' if k in numbers else "" for k in range(len(columns))]
    head = "".join(f"<th{c}>{escape(text)}</th>" for c, text in zip(classes, columns, strict=True))
    lines = [
        "".join(f"<td{c}>{escape(cell)}</td>" for c, cell in zip(classes, row, strict=True))
        for row in rows
    ]
    return build_grid(head, lines)


def embed_png(figure: Figure, alt: str, caption: str = "") -> str:
    """Embed a figure with many points as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return _image("png", buffer.getvalue(), alt, caption)


def embed_svg(figure: Figure, alt: str, caption: str, salt: str) -> str:
    """Embed a figure as SVG in an image element, so that IDs in figures cannot clash.

    Parameters
    ----------
    figure
        Figure to embed.
    alt
        Alternative text.
    caption
        Caption; may be empty.
    salt
        Salt of the IDs in the SVG, which makes its bytes reproducible.
    """
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return _image("svg+xml", buffer.getvalue(), alt, caption)


def _image(kind: str, data: bytes, alt: str, caption: str) -> str:
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
    under = f"<figcaption>{escape(caption)}</figcaption>\n" if caption else ""
    return f'<figure>\n<img alt="{escape(alt)}" src="{source}">\n{under}</figure>'
