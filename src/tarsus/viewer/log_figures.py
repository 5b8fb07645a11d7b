"""Figures of `log.tarsus.plot`: feet, phases, energy and trunk of a log of one world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tarsus.viewer.colors import COLORS
from tarsus.viewer.figure import LEGEND_ABOVE, LEGEND_BESIDE, MAX_FEET, NOTE, shorten

WIDTH, PANEL_HEIGHT = 10.0, 2.1  # inches
FORCE_QUANTILE = 0.998  # of the forces within the axis limits; single-step impacts may exceed it
MIN_SHARE = 1e-3  # smallest energy term that is drawn, relative to the largest
LINE_STYLES = {"change": "--", "unbalanced": ":"}


def _axes(panels: int, log: xr.Dataset, title: str) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(WIDTH, 0.5 + PANEL_HEIGHT * panels), layout="constrained")
    axes = list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("time / s")
    figure.suptitle(_create_title(log, title), fontsize=12, x=0.01, ha="left")
    return figure, axes


def _create_title(log: xr.Dataset, text: str) -> str:
    """Create a title that starts with the robot and the law."""
    names = ", ".join(str(log.attrs[name]) for name in ("robot", "law") if name in log.attrs)
    return f"{names}: {text}" if names else text


def _find_busiest_contacts(log: xr.Dataset) -> list[str]:
    """Find the contacts with the largest impulses, in the robot's order."""
    impulse = log["impulse_contact"].isel(axis=0).sum("time")
    largest = np.sort(np.argsort(-impulse.values, kind="stable")[:MAX_FEET])
    return [str(log["contact"].values[k]) for k in largest]


def draw_feet(feet: xr.Dataset, log: xr.Dataset) -> Figure:
    """Plot height, normal force and friction use of the contacts with the largest impulses."""
    figure, axes = _axes(3, log, "feet")
    names = _find_busiest_contacts(log)
    rows = ("height", "height / m"), ("normal_force", "normal force / N")
    for ax, (name, label) in zip(axes, (*rows, ("friction_use", "friction use / 1")), strict=True):
        for color, contact, text in zip(COLORS, names, shorten(names), strict=False):
            line = feet[name].sel(contact=contact)
            ax.plot(feet["time"], line, color=color, lw=1.0, label=text)
        ax.set_ylabel(label)
    axes[0].legend(**LEGEND_BESIDE)
    peaks = feet["normal_force"].max("contact").values
    axes[1].set_ylim(0, 1.15 * max(float(np.quantile(peaks, FORCE_QUANTILE)), 1.0))
    axes[2].set_ylim(0, 1.05)
    axes[2].set_title("tangential force / (mu × normal force); slip at 1", **NOTE)
    return figure


def draw_phases(phases: pd.DataFrame, log: xr.Dataset) -> Figure:
    """Plot the stances of the contacts with the largest impulses as bars, pale during slip."""
    names, dt = _find_busiest_contacts(log), float(log.attrs["dt"])
    figure = Figure(figsize=(WIDTH, 1.2 + 0.3 * max(len(names), 1)), layout="constrained")
    ax = figure.subplots()
    for row, (color, contact) in enumerate(zip(COLORS, names, strict=False)):
        stances: Any = phases[(phases["contact"] == contact) & (phases["phase"] == "stance")]
        bars = list(zip(stances["start"], stances["duration"], strict=True))
        ax.broken_barh(bars, (row - 0.36, 0.72), color=color, lw=0)
        slips = log["time"].values[log["state"].sel(contact=contact).values == 2]
        ax.broken_barh([(t - dt, dt) for t in slips], (row - 0.36, 0.72), color="white", alpha=0.6)
    ax.set_yticks(range(len(names)), shorten(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(log["time"].values[0] - dt, log["time"].values[-1])
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("time / s")
    figure.suptitle(
        _create_title(log, "stance phases (pale: slip)"), fontsize=12, x=0.01, ha="left"
    )
    return figure


def draw_energy(energy: xr.Dataset, log: xr.Dataset) -> Figure:
    """Plot the terms of the energy ledger since the start, and the change of the total energy."""
    figure, (ax,) = _axes(1, log, "energy balance since the start")
    figure.set_figheight(4.2)
    names = [str(name) for name in energy.data_vars if name not in ("total", "unbalanced")]
    largest = max((float(np.abs(energy[name]).max()) for name in names), default=0.0)
    shown = [n for n in names if n == "change" or np.abs(energy[n]).max() > MIN_SHARE * largest]
    colors = iter(COLORS)
    for name in shown:
        color = "black" if name == "change" else next(colors, COLORS[-1])
        style, label = LINE_STYLES.get(name, "-"), name.replace("_", " ")
        ax.plot(energy["time"], energy[name], style, color=color, label=label)
    ax.axhline(0, color="#bbbbbb", lw=0.8, zorder=0)
    ax.set_ylabel("work on the robot / J")
    error = float(np.abs(energy["unbalanced"]).max())
    ax.set_title(f"largest imbalance: {error:.1e} J", **NOTE)
    ax.legend(**LEGEND_BESIDE)
    return figure


def draw_trunk(trunk: xr.Dataset, log: xr.Dataset) -> Figure:
    """Plot position, attitude, velocity and angular velocity of the trunk."""
    figure, axes = _axes(4, log, "trunk")
    time = trunk["time"]
    for k, name in enumerate("xy"):
        axes[0].plot(time, trunk["position"][:, k], color=COLORS[k], label=f"{name} (left)")
    right = axes[0].twinx()
    right.plot(time, trunk["position"][:, 2], color=COLORS[2], label="z (right)")
    right.set_ylabel("height / m", color=COLORS[2])
    right.spines["top"].set_visible(False)
    axes[0].set_ylabel("position / m")
    lines = [*axes[0].get_lines(), *right.get_lines()]
    axes[0].legend(lines, [str(line.get_label()) for line in lines], ncols=3, **LEGEND_ABOVE)
    panels = (
        (axes[1], np.rad2deg(trunk["angles"]), "attitude / deg", trunk["angle"].values),
        (axes[2], trunk["velocity"], "velocity / (m/s)", tuple("xyz")),
        (axes[3], trunk["angular_velocity"], "angular velocity / (rad/s)", tuple("xyz")),
    )
    for ax, values, label, names in panels:
        for k, name in enumerate(names):
            ax.plot(time, values[:, k], color=COLORS[k], lw=1.0, label=str(name))
        ax.set_ylabel(label)
        ax.legend(ncols=3, **LEGEND_ABOVE)
    return figure
