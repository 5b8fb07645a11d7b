"""The page of the tosses: a table of laws, what is missing, and the worst and best tosses drawn."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from tarsus.validation.real.cube_tosses.candidates import MEANINGS
from tarsus.validation.real.cube_tosses.data import EDGE, FRAME, Tosses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
STYLE = """
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; color: #1c1e21;
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
p { max-width: 46rem; } .dim { color: #5a6270; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; }
th, td { padding: .3rem .7rem; text-align: left; border-bottom: 1px solid #e7eaee; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1rem 0; } figure img { width: 100%; } figcaption { color: #5a6270; }
"""
COLUMNS = (
    ("position", "position, % of the width"),
    ("rotation", "rotation, degrees"),
    ("corners", "corners, % of the width"),
    ("missed", "on another face, %"),
)
INSTANTS = 7  # of a toss that is drawn


@dataclass(frozen=True, eq=False)
class Drawn:
    """Tosses to draw: the law, the recordings, its coordinates (tosses, frames, 7), and the corner
    distances, % of the width.
    """

    law: str
    tosses: Tosses
    path: Array
    corners: Array


def page(record: Mapping[str, Any], drawn: Drawn | None) -> str:
    """The whole page."""
    # what was done, and the table
    body = [
        "<h1>Real tosses of a cube</h1>",
        f"<p>{record['tosses']} tosses of an acrylic cube of 0.37 kg and 0.1048 m onto a board,"
        " tracked at 148 Hz (data: Pfrommer 2020). Each simulation starts from the first recorded"
        " frame; errors are means over time and tosses, with 95 % intervals of resampled tosses."
        " <em>Held out</em>: each toss under parameters that the other four fifths of the tosses"
        " chose.</p>",
        "<h2>Laws</h2>",
        _table(
            ["law", "parameters", *(title for _, title in COLUMNS)],
            [[row["law"], row["parameters"], *_errors(row)] for row in record["rows"]],
        ),
    ]
    # what was found on the way, and the pictures
    if record["laws"]:
        body.append(_parameters(record["laws"]))
    body += _data(record)
    if "missing" in record:
        body += _missing(record["missing"])
    if drawn is not None:
        body.append(f"<h2>Worst and best tosses under {escape(drawn.law)}</h2>")
        body.append(_image(_figure(drawn), "worst and best tosses"))
        body.append(
            '<p class="dim">Seen across the way of the recorded cube. Filled: recorded; outlined:'
            " simulated, at the same instants.</p>"
        )
    head = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    title = f"<title>Real tosses of a cube</title><style>{STYLE}</style></head><body>"
    return "\n".join([head + title, *body, "</body></html>\n"])


def _errors(row: Mapping[str, Any]) -> list[str]:
    """The cells of the four errors."""
    scale = {"missed": 100.0}
    return [_interval(np.multiply(row[name], scale.get(name, 1.0))) for name, _ in COLUMNS]


def _interval(value: Sequence[float] | Array) -> str:
    mean, low, high = (float(v) for v in value)
    return "not finite" if not np.isfinite(mean) else f"{mean:.1f} ({low:.1f} to {high:.1f})"


def _parameters(laws: Mapping[str, Any]) -> str:
    """What was identified, with intervals."""
    rows = [
        [
            law,
            ", ".join(
                f"{name} {value:.3g} ({each['intervals'][name][0]:.3g} to"
                f" {each['intervals'][name][1]:.3g})"
                for name, value in each["values"].items()
            ),
            f"{each['tried']}, {each['diverged']} diverged",
            f"{each['least_corners']:.1f}",
        ]
        for law, each in laws.items()
    ]
    columns = ["law", "identified", "candidates", "corners, each toss its own parameters"]
    return "<h2>Parameters</h2>\n" + _table(columns, rows)


def _data(record: Mapping[str, Any]) -> list[str]:
    """What the recordings say by themselves."""
    flight, slid = record["flight"], record["sliding"]
    noise, velocity = flight["noise"], flight["velocity_noise"]
    told = [
        "<h2>What the recordings say by themselves</h2>",
        f"<p>In free flight ({flight['tosses']} tosses) a frame's position scatters by"
        f" {1e3 * noise[0]:.2f} mm and its attitude by {np.degrees(noise[1]):.2f} degrees per axis"
        f" around a free fall; a recorded velocity is {1e3 * flight['late']:.1f} ms old (a frame is"
        f" {1e3 * FRAME:.1f} ms) and scatters by {velocity[0]:.3f} m/s and {velocity[1]:.2f} rad/s."
        "</p>",
    ]
    if slid:
        terms = ", ".join(f"{n} {v:+.4f} ± {e:.4f}" for n, (v, e) in slid["terms"].items())
        told.append(
            f"<p>Sliding on a face ({slid['frames']} stretches of {slid['tosses']} tosses), the"
            f" deceleration over g is, by the heading of the way and per m/s of speed: {terms};"
            f" across the way {slid['lateral'][0]:+.4f} ± {slid['lateral'][1]:.4f} (standard"
            " errors).</p>"
        )
    return told


def _missing(missing: Mapping[str, Any]) -> list[str]:
    """The ladder and the bounds."""
    rows = [
        [
            f"{rung['law']}: {rung['title']}",
            *_errors(rung),
            _interval(rung["gain"]),
            ", ".join(f"{name} {value:.3g}{_unit(name)}" for name, value in rung["values"].items()),
        ]
        for rung in missing["rungs"]
    ]
    bound = ["starts that the tracking cannot tell apart", *_errors(missing["spread"]), "", ""]
    columns = ["freed", *(title for _, title in COLUMNS), "gain in corners, %", "found"]
    return ["<h2>What is missing</h2>", _table(columns, [*rows, bound])]


def _unit(name: str) -> str:
    unit = MEANINGS.get(name, ("[1]", ""))[0]
    return "" if unit == "[1]" else f" {unit}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cell(k: int, text: str, tag: str) -> str:
        mark = ' class="n"' if 1 < k < 7 else ""
        return f"<{tag}{mark}>{escape(text)}</{tag}>"

    head = "".join(cell(k, c, "th") for k, c in enumerate(columns))
    lines = ["".join(cell(k, c, "td") for k, c in enumerate(row)) for row in rows]
    inner = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table><tr>{head}</tr>\n{inner}\n</table></div>'


def _figure(drawn: Drawn) -> Figure:
    """A panel for each toss."""
    from matplotlib.figure import Figure

    count = len(drawn.tosses)
    figure = Figure(figsize=(11, 2.6 * ((count + 1) // 2)), layout="constrained")
    axes = np.atleast_1d(figure.subplots((count + 1) // 2, 2)).T.ravel()
    for k, ax in enumerate(axes[:count]):
        _toss(ax, drawn, k)
    for ax in axes[count:]:
        ax.set_axis_off()
    return figure


def _toss(ax: Axes, drawn: Drawn, k: int) -> None:
    """One toss at several instants, recorded and simulated."""
    length = int(drawn.tosses.length[k])
    recorded, simulated = drawn.tosses.q[k, :length], drawn.path[k, :length]
    way = recorded[-1, :2] - recorded[0, :2]
    along = way / max(float(np.linalg.norm(way)), 1e-9)
    for i in np.linspace(0, length - 1, INSTANTS).astype(int):
        ax.fill(*_outline(recorded[i], along), color="#b9c2cf", alpha=0.55, lw=0)
        ax.plot(*_outline(simulated[i], along), color="#0b5394", lw=1.0)
    ax.plot(recorded[:, :2] @ along, recorded[:, 2], color="#5a6270", lw=0.8)
    ax.plot(simulated[:, :2] @ along, simulated[:, 2], color="#0b5394", lw=0.8, ls="--")
    ax.axhline(0.0, color="#1c1e21", lw=0.8)
    ax.set_aspect("equal")
    ax.set_title(f"toss {drawn.tosses.names[k]}: corners {drawn.corners[k]:.0f} %", fontsize=9)
    ax.set_xlabel("along the way, m", fontsize=8)
    ax.tick_params(labelsize=8)


def _outline(q: Array, along: Array) -> tuple[Array, Array]:
    """The cube's outline in the vertical plane along a horizontal direction, closed."""
    corners = EDGE / 2 * np.array(list(product((-1.0, 1.0), repeat=3)))
    world = Rotation.from_quat(q[3:], scalar_first=True).apply(corners) + q[:3]
    flat = np.stack([world[:, :2] @ along, world[:, 2]], -1)
    ring = ConvexHull(flat).vertices
    ring = np.append(ring, ring[:1])
    return flat[ring, 0], flat[ring, 1]


def _image(figure: Figure, alt: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<figure><img alt="{escape(alt)}" src="data:image/png;base64,{data}"></figure>'
