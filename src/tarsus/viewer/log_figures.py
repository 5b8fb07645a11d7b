"""Figures of `log.tarsus.plot`: feet, phases, energy and trunk of one world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tarsus.viewer.colors import COLORS
from tarsus.viewer.figure import ABOVE, BESIDE, MOST_FEET, NOTE, short

WIDTH, PANEL = 10.0, 2.1  # inches
TALL = 0.998  # quantile of forces that a panel shows: an impact of one step would hide the rest
SMALL = 1e-3  # of the largest share: a smaller one is not drawn
DASHED = {"change": "--", "unbalanced": ":"}


def _axes(panels: int, log: xr.Dataset, title: str) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(WIDTH, 0.5 + PANEL * panels), layout="constrained")
    axes = list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("time / s")
    told = ", ".join(str(log.attrs[name]) for name in ("robot", "law") if name in log.attrs)
    figure.suptitle(f"{told}: {title}" if told else title, fontsize=12, x=0.01, ha="left")
    return figure, axes


def _busy(log: xr.Dataset) -> list[str]:
    """The contacts with the largest impulses, in the robot's order."""
    carried = log["impulse_contact"].isel(axis=0).sum("time")
    most = np.sort(np.argsort(-carried.values, kind="stable")[:MOST_FEET])
    return [str(log["contact"].values[k]) for k in most]


def feet(found: xr.Dataset, log: xr.Dataset) -> Figure:
    """Height, normal force and use of friction of the contacts that carry most."""
    figure, axes = _axes(3, log, "feet")
    names = _busy(log)
    rows = ("height", "height / m"), ("normal_force", "normal force / N")
    for ax, (name, label) in zip(axes, (*rows, ("friction_use", "friction use")), strict=True):
        for color, contact, shown in zip(COLORS, names, short(names), strict=False):
            line = found[name].sel(contact=contact)
            ax.plot(found["time"], line, color=color, lw=1.0, label=shown)
        ax.set_ylabel(label)
    axes[0].legend(**BESIDE)
    peaks = found["normal_force"].max("contact").values
    axes[1].set_ylim(0, 1.15 * max(float(np.quantile(peaks, TALL)), 1.0))
    axes[2].set_ylim(0, 1.05)
    axes[2].set_title("tangential force over mu times the normal one: 1 slips", **NOTE)
    return figure


def phases(found: pd.DataFrame, log: xr.Dataset) -> Figure:
    """A bar for every stance of the contacts that carry most; pale where it slips."""
    names, dt = _busy(log), float(log.attrs["dt"])
    figure = Figure(figsize=(WIDTH, 1.2 + 0.3 * max(len(names), 1)), layout="constrained")
    ax = figure.subplots()
    for row, (color, contact) in enumerate(zip(COLORS, names, strict=False)):
        own: Any = found[(found["contact"] == contact) & (found["phase"] == "stance")]
        bars = list(zip(own["start"], own["duration"], strict=True))
        ax.broken_barh(bars, (row - 0.36, 0.72), color=color, lw=0)
        slips = log["time"].values[log["state"].sel(contact=contact).values == 2]
        ax.broken_barh([(t - dt, dt) for t in slips], (row - 0.36, 0.72), color="white", alpha=0.6)
    ax.set_yticks(range(len(names)), short(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(log["time"].values[0] - dt, log["time"].values[-1])
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("time / s")
    told = ", ".join(str(log.attrs[name]) for name in ("robot", "law") if name in log.attrs)
    figure.suptitle(f"{told}: stances, pale where they slip", fontsize=12, x=0.01, ha="left")
    return figure


def energy(found: xr.Dataset, log: xr.Dataset) -> Figure:
    """The ledger's shares so far, and the change of energy that they make."""
    figure, (ax,) = _axes(1, log, "energy since the start")
    figure.set_figheight(4.2)
    names = [str(name) for name in found.data_vars if name not in ("total", "unbalanced")]
    largest = max((float(np.abs(found[name]).max()) for name in names), default=0.0)
    shown = [n for n in names if n == "change" or np.abs(found[n]).max() > SMALL * largest]
    colors = iter(COLORS)
    for name in shown:
        color = "black" if name == "change" else next(colors, COLORS[-1])
        label = name.replace("_", " ")
        ax.plot(found["time"], found[name], DASHED.get(name, "-"), color=color, label=label)
    ax.axhline(0, color="#bbbbbb", lw=0.8, zorder=0)
    ax.set_ylabel("work on the robot / J")
    missed = float(np.abs(found["unbalanced"]).max())
    ax.set_title(f"the shares explain the change to {missed:.1e} J", **NOTE)
    ax.legend(**BESIDE)
    return figure


def trunk(found: xr.Dataset, log: xr.Dataset) -> Figure:
    """Position, attitude, velocity and angular velocity."""
    figure, axes = _axes(4, log, "trunk")
    time = found["time"]
    for k, name in enumerate("xy"):
        axes[0].plot(time, found["position"][:, k], color=COLORS[k], label=f"{name} (left)")
    right = axes[0].twinx()
    right.plot(time, found["position"][:, 2], color=COLORS[2], label="z (right)")
    right.set_ylabel("height / m", color=COLORS[2])
    right.spines["top"].set_visible(False)
    axes[0].set_ylabel("position / m")
    lines = [*axes[0].get_lines(), *right.get_lines()]
    axes[0].legend(lines, [str(line.get_label()) for line in lines], ncols=3, **ABOVE)
    panels = (
        (axes[1], np.rad2deg(found["angles"]), "attitude / deg", found["angle"].values),
        (axes[2], found["velocity"], "velocity / m/s", tuple("xyz")),
        (axes[3], found["angular_velocity"], "turning / rad/s", tuple("xyz")),
    )
    for ax, values, label, names in panels:
        for k, name in enumerate(names):
            ax.plot(time, values[:, k], color=COLORS[k], lw=1.0, label=str(name))
        ax.set_ylabel(label)
        ax.legend(ncols=3, **ABOVE)
    return figure
