"""Figures of an identification and of a ranking of laws: intervals and residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tarsus.identification.actuators import ActuatorIdentification
from tarsus.identification.laws import LawRanking
from tarsus.identification.run import Identification
from tarsus.viewer.colors import COLORS

BLUE, RED, GREEN, GRAY = COLORS[0], COLORS[1], COLORS[2], COLORS[7]
MIN_ESTIMATE = 1e-12  # guards a division by an estimate of zero


def draw_identification(result: Identification) -> Figure:
    """Draw a figure of estimates with intervals, and of residuals by quantity and by window."""
    height = 1.4 + 0.34 * max(len(result.estimates), 5)
    figure = Figure(figsize=(10, height + 2.6), layout="constrained")
    axes = figure.subplot_mosaic(
        [["estimates", "quantities"], ["windows", "windows"]],
        width_ratios=[2, 1],
        height_ratios=[height, 2.6],
    )
    _draw_estimates(axes["estimates"], result)
    _draw_quantities(axes["quantities"], result)
    _draw_windows(axes["windows"], result)
    return figure


def draw_ranking(result: LawRanking) -> Figure:
    """Draw a figure of the held-out errors of laws with intervals, the best on top."""
    figure = Figure(figsize=(10, 1.2 + 0.36 * len(result.laws)), layout="constrained")
    axes = figure.subplots()
    for k, law in enumerate(result.laws):
        color = GREEN if law.law == result.chosen else BLUE if law.is_indistinguishable else GRAY
        axes.plot([law.low, law.high], [k, k], color=color, lw=3, solid_capstyle="butt")
        axes.plot(law.error, k, "o", color=color, ms=6)
    labels = [f"{law.law} ({law.parameters})" for law in result.laws]
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.axvline(1.0, color="black", lw=0.8, ls=":")
    axes.set_xlabel("error of held-out windows / standard deviation of the noise")
    return figure


def draw_actuators(result: ActuatorIdentification) -> Figure:
    """Draw the measured and simulated deviation of each joint from its target.

    The file's model and the chosen structure are shown; the held-out part is shaded.
    """
    names = [body.joint.name for body in result.robot.bodies]
    columns = 3 if len(names) % 3 == 0 else 1
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(4.2 * columns, 1.7 * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    log = result.log
    time = log.dt * np.arange(len(log))
    lines = {
        "file": (GRAY, result.fits[0].predicted),
        "identified": (RED, result[result.chosen].predicted),
        "measured": ("black", log.q),
    }
    for k, (name, axes) in enumerate(zip(names, panels, strict=False)):
        for label, (color, q) in lines.items():
            error = 1e3 * (q[:, k] - log.action[:, k])
            axes.plot(time, error, color=color, lw=0.7, label=label)
        held_out = 1e3 * result[result.chosen].held_out[k]
        axes.set_title(f"{name}, held out {held_out:.1f} mrad", fontsize=8, loc="left")
        axes.axvspan(result.split, time[-1], color=GREEN, alpha=0.12, lw=0)
        axes.tick_params(labelsize=7)
    figure.supxlabel("time, s", fontsize=9)
    figure.supylabel("angle above the target, mrad", fontsize=9)
    panels[0].legend(fontsize=7, loc="lower right")
    return figure


def _draw_estimates(axes: Any, result: Identification) -> None:
    """Plot each estimate with its relative interval; undetermined ones in gray."""
    for k, one in enumerate(result.estimates):
        if one.undetermined:
            axes.text(0, k, "not determined", color=GRAY, ha="center", va="center", fontsize=9)
            continue
        size = 0.01 * max(abs(one.value), MIN_ESTIMATE)
        low, high = (one.low - one.value) / size, (one.high - one.value) / size
        axes.plot([low, high], [k, k], color=BLUE, lw=3, solid_capstyle="butt")
        axes.plot(0, k, "o", color=BLUE, ms=5)
        if one.true is not None:
            axes.plot((one.true - one.value) / size, k, "x", color=RED, ms=7, mew=2)
    # limits from the intervals, not from a distant true value
    units = {one.name: "" if one.unit == "1" else f" {one.unit}" for one in result.estimates}
    names = [f"{one.name} = {one.value:.4g}{units[one.name]}" for one in result.estimates]
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set_ylim(len(names) - 0.5, -0.5)
    widest = np.abs(axes.get_xlim()).max()
    axes.set_xlim(-widest, widest)
    axes.axvline(0, color="black", lw=0.8, ls=":")
    known = any(one.true is not None for one in result.estimates)
    axes.set_xlabel("95 % interval, % of the estimate" + (" (cross: true value)" if known else ""))
    axes.set_title(f"estimates under {result.law}", fontsize=10, loc="left")


def _draw_quantities(axes: Any, result: Identification) -> None:
    """Plot the residuals at the first guess, at the estimates and held out."""
    kinds = {"first guess": result.before, "identified": result.after, "held out": result.held_out}
    shown = {name: errors for name, errors in kinds.items() if errors}
    colors = {"first guess": GRAY, "identified": BLUE, "held out": GREEN}
    width = 0.8 / len(shown)
    for k, (name, errors) in enumerate(shown.items()):
        position = np.arange(len(errors)) + k * width
        axes.bar(position, list(errors.values()), width, label=name, color=colors[name])
    axes.set_xticks(np.arange(len(result.after)) + 0.4 - width / 2, list(result.after))
    axes.axhline(1.0, color="black", lw=0.8, ls=":")
    axes.set_yscale("log")
    largest = max(max(errors.values()) for errors in shown.values())
    axes.set_ylim(0.3, 5 * max(largest, 2.0))
    axes.set_title("residuals, in standard deviations of the noise", fontsize=10, loc="left")
    axes.legend(fontsize=8, ncols=3, loc="upper center", columnspacing=0.8, handlelength=0.8)


def _draw_windows(axes: Any, result: Identification) -> None:
    """Plot the residuals window by window, in the order of the logs."""
    kinds = {
        "first guess": (
            GRAY,
            [(k, w.before) for k, w in enumerate(result.window_errors) if w.before],
        ),
        "identified": (
            BLUE,
            [(k, w.after) for k, w in enumerate(result.window_errors) if not w.held_out],
        ),
        "held out": (
            GREEN,
            [(k, w.after) for k, w in enumerate(result.window_errors) if w.held_out],
        ),
    }
    for name, (color, points) in kinds.items():
        if points:
            axes.plot(*zip(*points, strict=True), "o", color=color, ms=4, label=name)
    axes.axhline(1.0, color="black", lw=0.8, ls=":")
    axes.set_yscale("log")
    axes.set_ylim(0.3, 3 * max(2.0, *(by for _, points in kinds.values() for _, by in points)))
    # one tick per log, or times if there is only one log
    logs = [w.log for w in result.window_errors]
    if len(set(logs)) > 1:
        firsts = [logs.index(log) for log in dict.fromkeys(logs)]
        axes.set_xticks(firsts, [f"log {logs[k] + 1}" for k in firsts], fontsize=8)
        axes.set_xlabel("windows, log by log")
    else:
        ticks = np.unique(np.linspace(0, len(logs) - 1, min(9, len(logs))).round().astype(int))
        axes.set_xticks(ticks, [f"{result.window_errors[k].start:.2f}" for k in ticks])
        axes.set_xlabel("start of the window, s")
    axes.set_title("window by window, in standard deviations of the noise", fontsize=10, loc="left")
