"""The page of the tosses: a table of laws, what is missing, and the worst and best tosses drawn."""

from __future__ import annotations

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
from tarsus.viewer.html_page import document, dots, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
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
        body.append(dots(_figure(drawn), "worst and best tosses"))
        body.append(
            '<p class="dim">Seen across the way of the recorded cube. Filled: recorded; outlined:'
            " simulated, at the same instants.</p>"
        )
    return document("Real tosses of a cube", body)


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
    return table(columns, rows, range(2, 7))


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
