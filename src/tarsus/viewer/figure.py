"""The picture that `tarsus run` draws: trunk pose, foot forces, contact phases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tarsus.files import replacing
from tarsus.simulation.recording.empty import with_empty
from tarsus.viewer.colors import COLORS

MOST_FEET = 8
ABOVE: dict[str, Any] = {
    "frameon": False,
    "fontsize": 9,
    "loc": "lower right",
    "bbox_to_anchor": (1, 0.99),
    "borderpad": 0,
}
CLOSE_UP = 2.0  # s: forces and phases are shown for the end of the run


def run_figure(log: xr.Dataset, title: str) -> Figure:
    """A figure of one world's log."""
    log = with_empty(log)
    # four panels: two of the whole run, two of its end
    figure = Figure(figsize=(10, 9), layout="constrained")
    floating = log.sizes["coordinate"] > 6 and str(log["coordinate"].values[0]).endswith(".x")
    feet = [str(name) for name in _busiest(log)]
    axes = figure.subplots(4, 1, height_ratios=[1.2, 1.2, 1.4, 0.2 + 0.16 * max(len(feet), 1)])
    axes[0].sharex(axes[1])
    axes[2].sharex(axes[3])
    # the end of the run
    end = log.isel(
        time=slice(
            -round(min(CLOSE_UP, log.sizes["time"] * log.attrs["dt"]) / log.attrs["dt"]), None
        )
    )
    # motion
    if floating:
        _position(axes[0], log)
        _attitude(axes[1], log)
    else:
        _joints(axes[0], log)
        _torques(axes[1], log)
    # contacts
    _forces(axes[2], end, feet)
    _phases(axes[3], end, feet)
    # labels
    axes[3].set_xlabel("time / s")
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a PNG, whole or not at all."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)


def _busiest(log: xr.Dataset) -> list[Any]:
    """The contacts with the largest total impulse, in the robot's order."""
    carried = log["impulse_contact"].isel(axis=0).sum("time").values
    chosen = np.sort(np.argsort(-carried)[:MOST_FEET])
    return [log["contact"].values[k] for k in chosen]


def _position(ax: Axes, log: xr.Dataset) -> None:
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
    ax.legend(handles, [str(h.get_label()) for h in handles], ncols=3, **ABOVE)


def _attitude(ax: Axes, log: xr.Dataset) -> None:
    w, x, y, z = log["q"].values[:, 3:7].T
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1, 1))
    yaw = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
    for color, (name, angle) in zip(
        COLORS, {"roll": roll, "pitch": pitch, "yaw": yaw}.items(), strict=False
    ):
        ax.plot(log["time"].values, np.rad2deg(angle), color=color, label=name, lw=1.2)
    ax.set_ylabel("attitude / deg")
    ax.legend(ncols=3, **ABOVE)


def _joints(ax: Axes, log: xr.Dataset) -> None:
    for k in range(min(log.sizes["coordinate"], len(COLORS))):
        ax.plot(
            log["time"].values,
            log["q"].values[:, k],
            color=COLORS[k],
            label=str(log["coordinate"].values[k]),
        )
    ax.set_ylabel("joints / rad")
    ax.legend(ncols=4, frameon=False, fontsize=8)


def _torques(ax: Axes, log: xr.Dataset) -> None:
    for k in range(min(log.sizes["actuator"], len(COLORS))):
        ax.plot(
            log["time"].values,
            log["tau"].values[:, k],
            color=COLORS[k],
            label=str(log["actuator"].values[k]),
        )
    ax.set_ylabel("torque / N m")


def _forces(ax: Axes, log: xr.Dataset, feet: list[str]) -> None:
    for color, name in zip(COLORS, feet, strict=False):
        normal = log["force_contact"].sel(contact=name, axis="normal").values
        ax.plot(log["time"].values, normal, color=color, lw=1.2, label=name)
    ax.set_ylabel("normal force / N")
    ax.set_title(
        f"the last {log.sizes['time'] * log.attrs['dt']:g} s",
        fontsize=9,
        loc="left",
        color="#555555",
    )
    if feet:
        peaks = log["force_contact"].sel(axis="normal").max("contact").values
        ax.set_ylim(0, 1.15 * max(float(np.quantile(peaks, 0.998)), 1.0))
        ax.legend(ncols=len(feet), **ABOVE)


def _phases(ax: Axes, log: xr.Dataset, feet: list[str]) -> None:
    """A bar where a foot sticks, a pale one where it slips."""
    time, dt = log["time"].values, log.attrs["dt"]
    for row, (color, name) in enumerate(zip(COLORS, feet, strict=False)):
        state = log["state"].sel(contact=name).values
        for value, alpha in ((1, 0.95), (2, 0.4)):
            ax.broken_barh(
                _spans(time, state == value, dt),
                (row - 0.36, 0.72),
                color=color,
                alpha=alpha,
                lw=0,
            )
    ax.set_yticks(range(len(feet)), feet, fontsize=9)
    ax.set_ylim(len(feet) - 0.4, -0.6)
    ax.set_title("contact: dark sticks, pale slips", fontsize=9, loc="left", color="#555555")


def _spans(time: np.ndarray, on: np.ndarray, dt: float) -> list[tuple[float, float]]:
    edges = np.diff(np.concatenate([[False], on, [False]]).astype(int))
    starts, ends = np.nonzero(edges == 1)[0], np.nonzero(edges == -1)[0]
    return [(time[a] - dt, (b - a) * dt) for a, b in zip(starts, ends, strict=True)]
