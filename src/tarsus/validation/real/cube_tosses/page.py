"""Page of the tosses: a table of laws, the missing effects, and the worst and best tosses."""

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
from tarsus.viewer.html_page import build_document, build_table, embed_png

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
INSTANTS = 7  # of each toss in the figure


@dataclass(frozen=True, eq=False)
class Drawing:
    """Tosses to draw."""

    law: str
    """Name of the law."""
    tosses: Tosses
    """Recorded tosses."""
    path: Array
    """Simulated coordinates, shape (tosses, frames, 7)."""
    corners: Array
    """Mean corner distances, % of the width, shape (tosses,)."""


def build_page(record: Mapping[str, Any], drawing: Drawing | None) -> str:
    """Write the page as HTML."""
    # description and table
    body = [
        "<h1>Real tosses of a cube</h1>",
        f"<p>{record['tosses']} tosses of an acrylic cube of 0.37 kg and 0.1048 m onto a board,"
        " tracked at 148 Hz (data: Pfrommer 2020). Each simulation starts from the first recorded"
        " frame; errors are means over time and tosses, with 95 % bootstrap intervals."
        " <em>Held out</em>: the parameters of each toss were identified without it, from the"
        " other four fifths of the tosses.</p>",
        "<h2>Laws</h2>",
        _build_table(
            ["law", "parameters", *(title for _, title in COLUMNS)],
            [[row["law"], row["parameters"], *_format_errors(row)] for row in record["rows"]],
        ),
    ]
    # parameters, data, missing effects and figure
    if record["laws"]:
        body.append(_write_parameters(record["laws"]))
    body += _write_data(record)
    if "missing" in record:
        body += _write_missing_effects(record["missing"])
    if drawing is not None:
        body.append(f"<h2>Worst and best tosses under {escape(drawing.law)}</h2>")
        body.append(embed_png(_draw_figure(drawing), "worst and best tosses"))
        body.append(
            '<p class="dim">Side view, perpendicular to the motion of the recorded cube. Filled:'
            " recorded; outlined: simulated, at the same instants.</p>"
        )
    return build_document("Real tosses of a cube", body)


def _format_errors(row: Mapping[str, Any]) -> list[str]:
    """Format the four errors."""
    scale = {"missed": 100.0}
    return [_interval(np.multiply(row[name], scale.get(name, 1.0))) for name, _ in COLUMNS]


def _interval(value: Sequence[float] | Array) -> str:
    mean, low, high = (float(v) for v in value)
    return "not finite" if not np.isfinite(mean) else f"{mean:.1f} ({low:.1f} to {high:.1f})"


def _write_parameters(laws: Mapping[str, Any]) -> str:
    """Write the table of identified parameters with their intervals."""
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
    columns = ["law", "identified", "candidates", "corners, parameters chosen per toss"]
    return "<h2>Parameters</h2>\n" + _build_table(columns, rows)


def _write_data(record: Mapping[str, Any]) -> list[str]:
    """Write the section about the recordings themselves."""
    flight, slid = record["flight"], record["sliding"]
    noise, velocity = flight["noise"], flight["velocity_noise"]
    paragraphs = [
        "<h2>Analysis of the recordings</h2>",
        f"<p>In free flight ({flight['tosses']} tosses), the position of a frame deviates from a"
        f" free fall by {1e3 * noise[0]:.2f} mm and its orientation by"
        f" {np.degrees(noise[1]):.2f} degrees per axis. Recorded velocities lag by"
        f" {1e3 * flight['late']:.1f} ms (frames are {1e3 * FRAME:.1f} ms apart) and deviate by"
        f" {velocity[0]:.3f} m/s and {velocity[1]:.2f} rad/s.</p>",
    ]
    if slid:
        terms = ", ".join(f"{n} {v:+.4f} ± {e:.4f}" for n, (v, e) in slid["terms"].items())
        paragraphs.append(
            f"<p>While the cube slides on a face ({slid['frames']} segments of"
            f" {slid['tosses']} tosses), the deceleration divided by g is, by the direction of"
            f" motion and per m/s of speed: {terms}; perpendicular to the motion"
            f" {slid['lateral'][0]:+.4f} ± {slid['lateral'][1]:.4f} (standard errors).</p>"
        )
    return paragraphs


def _write_missing_effects(missing: Mapping[str, Any]) -> list[str]:
    """Write the section about missing effects."""
    rows = [
        [
            f"{model['law']}: {model['title']}",
            *_format_errors(model),
            _interval(model["gain"]),
            ", ".join(
                f"{name} {value:.3g}{_unit(name)}" for name, value in model["values"].items()
            ),
        ]
        for model in missing["models"]
    ]
    bound = ["initial states within the tracking noise", *_format_errors(missing["spread"]), "", ""]
    columns = ["free parameters", *(title for _, title in COLUMNS), "gain in corners, %", "values"]
    return ["<h2>Missing effects</h2>", _build_table(columns, [*rows, bound])]


def _unit(name: str) -> str:
    unit = MEANINGS.get(name, ("[1]", ""))[0]
    return "" if unit == "[1]" else f" {unit}"


def _build_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return build_table(columns, rows, range(2, 7))


def _draw_figure(drawing: Drawing) -> Figure:
    """Draw a panel for each toss."""
    from matplotlib.figure import Figure

    count = len(drawing.tosses)
    figure = Figure(figsize=(11, 2.6 * ((count + 1) // 2)), layout="constrained")
    axes = np.atleast_1d(figure.subplots((count + 1) // 2, 2)).T.ravel()
    for k, ax in enumerate(axes[:count]):
        _draw_toss(ax, drawing, k)
    for ax in axes[count:]:
        ax.set_axis_off()
    return figure


def _draw_toss(ax: Axes, drawing: Drawing, k: int) -> None:
    """Draw one toss at several instants, recorded and simulated."""
    length = int(drawing.tosses.length[k])
    recorded, simulated = drawing.tosses.q[k, :length], drawing.path[k, :length]
    displacement = recorded[-1, :2] - recorded[0, :2]
    along = displacement / max(float(np.linalg.norm(displacement)), 1e-9)
    for i in np.linspace(0, length - 1, INSTANTS).astype(int):
        ax.fill(*_outline(recorded[i], along), color="#b9c2cf", alpha=0.55, lw=0)
        ax.plot(*_outline(simulated[i], along), color="#0b5394", lw=1.0)
    ax.plot(recorded[:, :2] @ along, recorded[:, 2], color="#5a6270", lw=0.8)
    ax.plot(simulated[:, :2] @ along, simulated[:, 2], color="#0b5394", lw=0.8, ls="--")
    ax.axhline(0.0, color="#1c1e21", lw=0.8)
    ax.set_aspect("equal")
    ax.set_title(f"toss {drawing.tosses.names[k]}: corners {drawing.corners[k]:.0f} %", fontsize=9)
    ax.set_xlabel("distance along the motion, m", fontsize=8)
    ax.tick_params(labelsize=8)


def _outline(q: Array, along: Array) -> tuple[Array, Array]:
    """Compute the closed outline of the cube in the vertical plane along a direction."""
    corners = EDGE / 2 * np.array(list(product((-1.0, 1.0), repeat=3)))
    world = Rotation.from_quat(q[3:], scalar_first=True).apply(corners) + q[:3]
    flat = np.stack([world[:, :2] @ along, world[:, 2]], -1)
    ring = ConvexHull(flat).vertices
    ring = np.append(ring, ring[:1])
    return flat[ring, 0], flat[ring, 1]
