"""An identification as a picture: where estimates lie in their ranges, and what is left over."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tarsus.identification.run import Identification
from tarsus.viewer.colors import COLORS

BLUE, RED, GREEN, GRAY = COLORS[0], COLORS[1], COLORS[2], COLORS[7]


def picture(found: Identification) -> Figure:
    """Estimates with their intervals, and residuals before, after and of held-out windows."""
    figure = Figure(figsize=(10, 2.2 + 0.32 * len(found.estimates)), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[2, 1])
    # each estimate, its interval and the truth, as parts of the estimate
    for k, one in enumerate(found.estimates):
        size = max(abs(one.value), abs(one.high - one.low), 1e-12)
        known = np.nan if one.true is None else one.true
        ends = np.array([one.low, one.value, one.high, known])
        low, value, high, true = (ends - one.value) / size
        color = GRAY if one.open else BLUE
        left.plot([low, high], [k, k], color=color, lw=3, solid_capstyle="butt")
        left.plot(value, k, "o", color=color, ms=5)
        left.plot(true, k, "x", color=RED, ms=7)
    units = {one.name: "" if one.unit == "1" else f" {one.unit}" for one in found.estimates}
    names = [f"{one.name} = {one.value:.4g}{units[one.name]}" for one in found.estimates]
    left.set_yticks(range(len(names)), names, fontsize=8)
    left.invert_yaxis()
    left.set_xlabel("from the estimate, as part of it or of a wider interval (95 %); x: true value")
    left.set_title(f"{found.law}: estimates", fontsize=10, loc="left")
    # what is left over
    kinds = {"first guess": found.before, "identified": found.after, "held out": found.held_out}
    shown = {name: errors for name, errors in kinds.items() if errors}
    colors = {"first guess": GRAY, "identified": BLUE, "held out": GREEN}
    width = 0.8 / len(shown)
    for k, (name, errors) in enumerate(shown.items()):
        at = np.arange(len(errors)) + k * width
        right.bar(at, list(errors.values()), width, label=name, color=colors[name])
    right.set_xticks(np.arange(len(found.after)) + 0.4 - width / 2, list(found.after))
    right.axhline(1.0, color="black", lw=0.8, ls=":")
    right.set_yscale("log")
    right.set_title("residuals, in deviations of the noise", fontsize=10, loc="left")
    right.legend(fontsize=8)
    return figure
