"""Plot of a run: trunk pose, foot forces and contact phases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tarsus.files import atomic_write
from tarsus.simulation.recording.attitude import has_floating_base, trunk_angles
from tarsus.simulation.recording.empty_dimensions import add_empty
from tarsus.simulation.recording.foot_rows import combine_by_foot
from tarsus.viewer.colors import COLORS

Array = NDArray[Any]
MAX_FEET = 8
MAX_NAME_LENGTH = 20  # characters of a name; longer names are shortened in the middle
TITLE_WIDTH = 90  # characters
LEGEND_ABOVE: dict[str, Any] = {
    "frameon": False,
    "fontsize": 9,
    "loc": "lower right",
    "bbox_to_anchor": (1, 0.99),
    "borderpad": 0,
    "columnspacing": 1.2,
    "handlelength": 1.4,
}
LEGEND_BESIDE: dict[str, Any] = {
    "frameon": False,
    "fontsize": 8,
    "loc": "upper left",
    "bbox_to_anchor": (1.0, 1.03),
    "handlelength": 1.0,
    "labelspacing": 0.25,
}
NOTE: dict[str, Any] = {"fontsize": 9, "loc": "left", "color": "#555555"}
CONTACT_DURATION = 2.0  # s, at the end of the run, for which forces and phases are plotted


def run_figure(log: xr.Dataset, title: str) -> Figure:
    """Draw a figure of one world's log: its motion and, at the end of the run, its contacts."""
    # two panels for the whole run, and two for its end if there are contacts
    log = combine_by_foot(add_empty(log))
    floating = has_floating_base(log)
    feet = _find_busiest_contacts(log)
    heights = [1.2, 1.2, 1.4, 0.2 + 0.16 * max(len(feet), 1)] if feet else [1.2, 1.2]
    figure = Figure(figsize=(10, 2.25 * len(heights)), layout="constrained")
    axes = figure.subplots(len(heights), 1, height_ratios=heights)
    axes[0].sharex(axes[1])
    # motion
    if floating:
        _draw_position(axes[0], log)
        _draw_attitude(axes[1], log)
    else:
        _draw_joints(axes[0], log)
        _plot_torques(axes[1], log)
    # contacts
    if feet:
        dt = log.attrs["dt"]
        end = log.isel(time=slice(-round(min(CONTACT_DURATION, log.sizes["time"] * dt) / dt), None))
        axes[2].sharex(axes[3])
        _draw_forces(axes[2], end, feet)
        _draw_phases(axes[3], end, feet)
    # labels
    axes[-1].set_xlabel("time / s")
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle("\n".join(wrap(_escape(title), TITLE_WIDTH)), fontsize=12, x=0.01, ha="left")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a PNG atomically."""
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)


def shorten(names: Sequence[str]) -> list[str]:
    """Shorten names to MAX_NAME_LENGTH characters; number them if two would become equal."""
    tail_length = (MAX_NAME_LENGTH - 1) // 2
    cut = [
        n
        if len(n) <= MAX_NAME_LENGTH
        else f"{n[: MAX_NAME_LENGTH - 1 - tail_length]}…{n[-tail_length:]}"
        for n in names
    ]
    if len(set(cut)) < len(set(names)):
        cut = [f"{n[: MAX_NAME_LENGTH - 4]}… {k + 1}" for k, n in enumerate(names)]
    return [_escape(name) for name in cut]


def _escape(text: str) -> str:
    """Escape a text so that Matplotlib neither reads a formula in it nor hides the label."""
    return text.replace("$", r"\$") if text[:1] != "_" else " " + text.replace("$", r"\$")


def _find_busiest_contacts(log: xr.Dataset) -> list[int]:
    """Find the contacts with the largest total impulse, in the robot's order."""
    impulse = log["impulse_contact"].isel(axis=0).sum("time").values
    return np.sort(np.argsort(-impulse, kind="stable")[:MAX_FEET]).tolist()


def _draw_position(ax: Axes, log: xr.Dataset) -> None:
    time, q = log["time"].values, log["q"].values
    for k, name in enumerate("xy"):
        ax.plot(time, q[:, k], color=COLORS[k], label=f"{name} (left)")
    ax.set_ylabel("position / m")
    right = ax.twinx()
    right.plot(time, q[:, 2], color=COLORS[2], label="height z (right)")
    right.set_ylabel("height / m", color=COLORS[2])
    right.spines["top"].set_visible(False)
    low, high = q[:, 2].min(), q[:, 2].max()
    right.set_ylim(low - 0.02, high + 0.02)
    handles = [*ax.get_lines(), *right.get_lines()]
    ax.legend(handles, [str(h.get_label()) for h in handles], ncols=3, **LEGEND_ABOVE)


def _draw_attitude(ax: Axes, log: xr.Dataset) -> None:
    angles = np.rad2deg(trunk_angles(log).values)
    for color, k, name in zip(COLORS, (2, 1, 0), ("roll", "pitch", "yaw"), strict=False):
        ax.plot(log["time"].values, angles[:, k], color=color, label=name, lw=1.2)
    ax.set_ylabel("attitude / deg")
    ax.legend(ncols=3, **LEGEND_ABOVE)


def _draw_joints(ax: Axes, log: xr.Dataset) -> None:
    _plot_lines(ax, log["time"].values, log["q"].values, log["coordinate"].values)
    ax.set_ylabel("joint position / rad, m")


def _plot_torques(ax: Axes, log: xr.Dataset) -> None:
    """Plot motor torques, or joint rates for a robot without motors."""
    motors = log.sizes["actuator"] > 0
    variable, names = ("tau", "actuator") if motors else ("u", "velocity")
    _plot_lines(ax, log["time"].values, log[variable].values, log[names].values)
    ax.set_ylabel("torque / (N m)" if motors else "joint rate / (rad/s), (m/s)")


def _plot_lines(ax: Axes, time: Array, values: Array, names: Array) -> None:
    """Plot the columns of values (time, n) that change most, with a legend."""
    span = np.ptp(values, axis=0)
    columns = np.sort(np.argsort(-span, kind="stable")[: len(COLORS)])
    labels = shorten([str(names[k]) for k in columns])
    for color, k, label in zip(COLORS, columns, labels, strict=False):
        ax.plot(time, values[:, k], color=color, label=label, lw=1.2)
    if len(names) > len(columns):
        ax.set_title(f"the {len(columns)} of {len(names)} that change most", **NOTE)
    ax.legend(**LEGEND_BESIDE)


def _draw_forces(ax: Axes, log: xr.Dataset, feet: list[int]) -> None:
    names = shorten([str(log["contact"].values[k]) for k in feet])
    for color, k, name in zip(COLORS, feet, names, strict=False):
        normal = log["force_contact"].isel(contact=k, axis=0).values
        ax.plot(log["time"].values, normal, color=color, lw=1.2, label=name)
    ax.set_ylabel("normal force / N")
    note = f"last {log.sizes['time'] * log.attrs['dt']:g} s"
    if log.sizes["contact"] > len(feet):
        note += f"; the {len(feet)} of {log.sizes['contact']} contacts with the largest impulses"
    ax.set_title(note, **NOTE)
    peaks = log["force_contact"].isel(axis=0).max("contact").values
    ax.set_ylim(0, 1.15 * max(float(np.quantile(peaks, 0.998)), 1.0))
    ax.legend(**LEGEND_BESIDE)


def _draw_phases(ax: Axes, log: xr.Dataset, feet: list[int]) -> None:
    """Draw a dark bar where a foot sticks and a pale bar where it slips."""
    time, dt = log["time"].values, log.attrs["dt"]
    for row, (color, k) in enumerate(zip(COLORS, feet, strict=False)):
        state = log["state"].isel(contact=k).values
        for value, alpha in ((1, 0.95), (2, 0.4)):
            ax.broken_barh(
                _find_spans(time, state == value, dt),
                (row - 0.36, 0.72),
                color=color,
                alpha=alpha,
                lw=0,
            )
    ax.set_yticks(range(len(feet)), shorten([str(log["contact"].values[k]) for k in feet]))
    ax.tick_params(axis="y", labelsize=8)
    ax.set_ylim(len(feet) - 0.4, -0.6)
    ax.set_title("contact phases (dark: stick, pale: slip)", **NOTE)


def _find_spans(time: Array, on: Array, dt: float) -> list[tuple[float, float]]:
    """Find the start and length, in s, of every interval in which `on` is true."""
    edges = np.diff(np.concatenate([[False], on, [False]]).astype(int))
    starts, ends = np.nonzero(edges == 1)[0], np.nonzero(edges == -1)[0]
    return [(time[a] - dt, (b - a) * dt) for a, b in zip(starts, ends, strict=True)]
