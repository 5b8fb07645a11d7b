"""Figure 6: prox iterations against relaxation alpha (Gehring 2014, Computation Speed)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.gehring2014.configurations import (
    BY_NAME,
    CONFIGURATIONS,
    Configuration,
    select_configurations,
)
from tarsus_papers.gehring2014.runs import record_cycle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALPHAS = np.round(np.arange(0.05, 2.0, 0.05), 2)
QUICK = np.round(np.arange(0.2, 2.0, 0.2), 2)
BEFORE, QUICK_BEFORE = 4.0, 1.6  # s of trot before the cycle
BAND = 0.9  # [1], fraction of the steps inside the band of the figure


class Figure6(Exhibit):
    """Iterations of every step of the gait, repeated for every alpha."""

    name: ClassVar[str] = "figure6"
    title: ClassVar[str] = "Figure 6: prox iterations and the limit of alpha"
    location: ClassVar[str] = "Figure 6 and Table 1, section Computation Speed"
    description: ClassVar[str] = (
        "Every step of one trotting cycle is repeated with each alpha from the same start,"
        " including the warm start, in one batch. The iteration ends when all impulses change by"
        " less than the fraction 1e-6 plus 1e-6 N s, or after the maximum number of iterations"
        " (200; more if bilateral constraints are iterated too). The limit is the largest alpha"
        " with which every step of the cycle converges. The paper shows the curves in a figure"
        " only. It states that half of the upper limit was chosen, so twice the alpha of Table 1 is"
        " taken as its limit."
    )
    caption: ClassVar[str] = (
        "Iterations per step against alpha: mean over the steps of one trotting cycle with a"
        " closed contact (line) and the range of 90 % of them (band). A cross marks the limit,"
        " above which a step does not converge; to the left of a line the number of iterations is"
        " not sufficient. Dashed: bilateral constraints in the prox."
    )

    def measure(self, task: Task) -> Finding:
        alphas = QUICK if task.quick else ALPHAS
        counts: dict[str, dict[str, Any]] = {}
        for configuration in select_configurations(task.quick):
            if configuration.hard:
                task.on_progress(configuration.name)
                counts[configuration.name] = count_iterations(
                    configuration, alphas, QUICK_BEFORE if task.quick else BEFORE
                )
        rows = [_row(c, counts[c.name]) for c in CONFIGURATIONS if c.name in counts]
        return Finding(
            {"alpha": alphas, "iterations": counts},
            rows,
            [_tabulate_iterations(counts)],
            _build_checks(counts),
        )

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # a panel for each set of coordinates
        alphas, counts = np.asarray(data["alpha"]), data["iterations"]
        shown = [
            kind
            for kind in ("minimal", "extended", "maximal")
            if any(BY_NAME[c].coordinates == kind for c in counts)
        ]
        figure = Figure(figsize=(9, 4), layout="constrained")
        axes = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        # iterations against the relaxation
        for ax, kind in zip(axes, shown, strict=True):
            for name, count in counts.items():
                if BY_NAME[name].coordinates == kind:
                    _draw_line(ax, BY_NAME[name], alphas, count)
            ax.set_title(f"{kind} coordinates", loc="left", fontsize=10)
            ax.set_xlim(0, 2)
            ax.set_xlabel("relaxation α")
            ax.spines[["top", "right"]].set_visible(False)
            ax.legend(frameon=False, fontsize=9, loc="upper right")
        # the common axis
        axes[0].set_yscale("log")
        axes[0].set_ylim(10, 4000)
        ticks = (10, 20, 50, 100, 200, 500, 1000, 2000)
        axes[0].set_yticks(ticks, [str(tick) for tick in ticks])
        axes[0].minorticks_off()
        axes[0].set_ylabel("iterations per step")
        return figure


def _draw_line(
    ax: Axes, configuration: Configuration, alphas: np.ndarray, count: Mapping[str, Any]
) -> None:
    """Draw mean and band; color for JOR or SOR, line style for direct or prox."""
    converged = np.asarray(count["whole"], bool)
    low, mean, high = (np.asarray(count[key], float)[converged] for key in ("low", "mean", "high"))
    color = COLORS[0 if configuration.solver == "jor" else 1]
    style = "--" if configuration.bilateral == "prox" else "-"
    width = 3.0 if configuration.solver == "jor" else 1.5  # equal lines are both visible
    ax.fill_between(alphas[converged], low, high, color=color, alpha=0.12, lw=0)
    ax.plot(alphas[converged], mean, style, color=color, lw=width, label=configuration.name)
    ax.plot(alphas[converged][-1:], mean[-1:], "x", color=color, ms=8, mew=2)


def count_iterations(
    configuration: Configuration, alphas: np.ndarray, before: float
) -> dict[str, Any]:
    """Count the iterations of a cycle by alpha; find the limit and the best alpha."""
    # every step with every alpha, in one batch
    steps = record_cycle(configuration, before)
    worlds = steps.worlds(copies=len(alphas))
    worlds.set("law.alpha", np.repeat(alphas, steps.count)[:, None])
    worlds.advance(1)
    iterations = worlds.get("iterations").reshape(len(alphas), steps.count)
    converged = worlds.get("converged").reshape(len(alphas), steps.count) > 0

    # the limit of alpha, and statistics of the steps with a closed contact
    loaded = (worlds.get("impulse") != 0).any(axis=1).reshape(len(alphas), steps.count)
    contact = loaded[0]  # steps without a closed contact need no iteration
    counts = iterations[:, contact]
    finite = np.isfinite(worlds.get("u")).all(axis=1).reshape(converged.shape)
    converged &= finite  # the iteration also ends on an overflow
    whole = _select_first_run(np.asarray(converged.all(axis=1)))
    limit = float(alphas[whole].max(initial=0.0))
    low, high = np.quantile(counts, [(1 - BAND) / 2, (1 + BAND) / 2], axis=1)
    mean = counts.mean(axis=1)
    usable = np.where(whole, mean, np.inf)
    return {
        "whole": whole,
        "mean": mean,
        "deviation": counts.std(axis=1),
        "low": low,
        "high": high,
        "unconverged": (~converged).mean(axis=1),
        "limit": limit,
        "best": float(alphas[np.argmin(usable)]),
        "at_best": float(usable.min()),
        "at_table1": float(np.interp(configuration.alpha or 0, alphas, mean)),
    }


def _select_first_run(good: np.ndarray) -> np.ndarray:
    """Select the first contiguous run of True."""
    first = int(np.argmax(good))
    bad = np.flatnonzero(~good[first:])
    last = first + int(bad[0]) if len(bad) else len(good)
    return good & (np.arange(len(good)) < last)


def _row(configuration: Configuration, count: dict[str, Any]) -> Row:
    """Compare the limit of alpha with the paper's."""
    name, published = configuration.name, 2 * (configuration.alpha or 0.0)
    return Row(
        f"{name}, limit of alpha", published, count["limit"], "", "Table 1", configuration.words
    )


def _tabulate_iterations(counts: dict[str, dict[str, Any]]) -> Table:
    """Tabulate the iterations with the alpha of Table 1 and with the best alpha."""
    rows = []
    for c in CONFIGURATIONS:
        if c.name in counts:
            count = counts[c.name]
            rows.append(
                (
                    c.name,
                    c.alpha,
                    count["at_table1"],
                    count["limit"],
                    count["best"],
                    count["at_best"],
                )
            )
    columns = (
        "",
        "alpha of Table 1",
        "its mean iterations",
        "limit",
        "best alpha",
        "its mean iterations",
    )
    return Table("Iterations per step with a closed contact", columns, rows)


def _build_checks(counts: dict[str, dict[str, Any]]) -> list[Check]:
    return [
        Check(
            f"{c.name}: every step of the cycle converges with the alpha of Table 1",
            counts[c.name]["limit"] >= (c.alpha or 0) - 0.2,
            f"limit {counts[c.name]['limit']:g}",
        )
        for c in CONFIGURATIONS
        if c.name in counts
    ]
