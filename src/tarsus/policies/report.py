"""Write the result of a policy check as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tarsus.policies.check import PolicyCheck
from tarsus.policies.inspection import events_table, margin_table, separation_table, survival_table
from tarsus.policies.margins import FACTORS
from tarsus.policies.separation import Separation
from tarsus.viewer.html_page import build_document, build_table, embed_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_WIDTH = 8.0  # inches
ROW_HEIGHT = 0.34  # inches
BLUE, GRAY, RED = "#0b5394", "#c9d0d9", "#a61b1b"


def page(check: PolicyCheck) -> str:
    """Render the page as HTML.

    Parameters
    ----------
    check : PolicyCheck
        Result of `tarsus.policies.check.check_policy`.
    """
    name = Path(check.policy.contract.network).name
    title = f"Policy check: {name} on {check.policy.robot.name}"
    body = [f"<h1>{escape(title)}</h1>", f'<p class="dim">{escape(describe_setup(check))}</p>']
    body += [f"<p><strong>{escape(verdict)}</strong></p>" for verdict in verdicts(check)]
    body += _survival(check)
    if check.events:
        body += _events(check)
    if check.margins:
        body += _margins(check)
    if check.separation is not None:
        body += _separation(check.separation)
    if check.policy.contract.assumptions:
        body.append("<h2>Doubts about the contract</h2>")
        body += [f"<p>{escape(doubt)}</p>" for doubt in check.policy.contract.assumptions]
    return build_document(title, body)


def describe_setup(check: PolicyCheck) -> str:
    """Describe the trials in one sentence."""
    forward, left, turning = np.asarray(check.plan.command, float)
    return (
        f"{check.plan.count} trials of {check.plan.seconds:g} s in each engine, commanded"
        f" {forward:g} m/s forward, {left:g} m/s left, {turning:g} rad/s; dt"
        f" {1e3 * check.plan.dt:g} ms, seed {check.plan.seed}."
    )


def verdicts(check: PolicyCheck) -> list[str]:
    """List the conclusions, one sentence each, the most important first."""
    ran = [row for row in check.rows if row.survival is not None]
    sentences = []
    if ran:
        groups: dict[str, list[str]] = {"stands": [], "sometimes falls": [], "falls": []}
        for row in ran:
            assert row.survival is not None
            share = row.survival.share
            key = "stands" if share > 0.95 else "falls" if share < 0.5 else "sometimes falls"
            groups[key].append(row.engine)
        sentences.append(
            "; ".join(f"{key} in {', '.join(names)}" for key, names in groups.items() if names)
            + "."
        )
        sentences[0] = sentences[0][0].upper() + sentences[0][1:]
    if check.separation is not None:
        sentences.append(explanation(check.separation))
    return sentences


def explanation(separation: Separation) -> str:
    """Explain in one sentence why the policy falls in one engine and stands in another."""
    pair = f"{separation.standing} and {separation.falling}"
    if not separation.explaining_variants:
        return f"No single setting explains the difference between {pair}."
    best = separation.explaining_variants[0]
    share = 100 * best.survival.share
    return (
        f"The difference between {pair} is due to one setting: with {best.change} under"
        f" {separation.falling}, {share:.0f} % of the trials stand."
    )


def _survival(check: PolicyCheck) -> list[str]:
    caption = (
        "Left: share of trials without a fall, with 95 % confidence intervals. Right: share of"
        " trials still standing over time."
    )
    return [
        "<h2>Survival</h2>",
        embed_svg(_survival_figure(check), "Survival in each engine", caption, "survival"),
        _html(survival_table(check.rows)),
    ]


def _survival_figure(check: PolicyCheck) -> Figure:
    from matplotlib.figure import Figure

    rows = [row for row in check.rows if row.survival is not None]
    figure = Figure(
        figsize=(FIGURE_WIDTH, 1.6 + ROW_HEIGHT * max(len(rows), 4)), layout="constrained"
    )
    left, right = figure.subplots(1, 2, width_ratios=(1, 1))
    for k, row in enumerate(rows):
        assert row.survival is not None
        low, high = row.survival.interval
        color = f"C{k % 10}"
        left.plot([100 * low, 100 * high], [k, k], color=color, lw=5, alpha=0.3)
        left.plot([100 * row.survival.share], [k], "o", color=color)
        times = np.asarray(check.falls.get(row.engine, ()))
        steps = np.concatenate([[0.0], times, [check.plan.seconds]])
        standing = 100 * (1 - np.arange(len(times) + 1) / row.survival.trials)
        right.step(steps, [*standing, standing[-1]], where="post", color=color)
    left.set(
        xlabel="trials without a fall (%)",
        xlim=(-3, 103),
        ylim=(len(rows) - 0.5, -0.5),
        yticks=range(len(rows)),
        yticklabels=[row.engine for row in rows],
    )
    right.set(xlabel="time (s)", ylabel="still standing (%)", ylim=(-3, 103))
    right.set_xlim(0, check.plan.seconds)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _events(check: PolicyCheck) -> list[str]:
    return [
        "<h2>How falls begin</h2>",
        "<p>Each fall counts for the measure that first left its normal range: the range in trials"
        " without a fall in the engine with the highest survival.</p>",
        _html(events_table(check.events)),
    ]


def _margins(check: PolicyCheck) -> list[str]:
    caption = (
        "From the contract's value (left) to the largest change tried (right). Blue: most trials"
        " succeed; red: interval that contains the failure threshold."
    )
    return [
        "<h2>Margins</h2>",
        f"<p>One factor is changed at a time, with {check.plan.reduced.count} trials per value, to"
        " find the threshold at which half of them fail. A trial fails if the robot falls or misses"
        " the commanded velocity by more than half."
        f" Contact law: {escape(check.law)}, unless the table names another one.</p>",
        embed_svg(_margin_figure(check), "Margins of each factor", caption, "margins"),
        _html(margin_table(check.margins)),
    ]


def _margin_figure(check: PolicyCheck) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(FIGURE_WIDTH, 0.9 + ROW_HEIGHT * len(check.margins)), layout="constrained"
    )
    axes = figure.subplots()
    for k, margin in enumerate(check.margins):
        factor = FACTORS[margin.factor]
        low, high = factor.position(margin.low), factor.position(margin.high)
        axes.barh(k, 1.0, color=GRAY, height=0.5)
        axes.barh(k, low if margin.fails else 1.0, color=BLUE, height=0.5)
        if margin.fails:
            axes.barh(k, high - low, left=low, color=RED, height=0.5)
        text = f"{margin.value:.3g} {margin.unit}" if margin.fails else "no failure"
        axes.text(1.02, k, text, va="center", fontsize=9)
    axes.set(
        xlim=(0, 1.45),
        ylim=(len(check.margins) - 0.4, -0.6),
        yticks=range(len(check.margins)),
        yticklabels=[margin.factor for margin in check.margins],
        xticks=[],
    )
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    return figure


def _separation(separation: Separation) -> list[str]:
    return [
        "<h2>Why engines differ</h2>",
        f"<p>The policy stands in {escape(separation.standing)} ({separation.reference.cells[0]})"
        f" and falls in {escape(separation.falling)} ({separation.unchanged.cells[0]}). Each row"
        " changes one setting of the latter.</p>",
        f"<p><strong>{escape(explanation(separation))}</strong></p>",
        _html(separation_table(separation)),
    ]


def _html(rows: tuple[list[str], list[list[str]]]) -> str:
    """Render a table as HTML, with columns of numbers right-aligned."""
    heads, cells = rows
    numbers = [k for k in range(len(heads)) if _numeric([row[k] for row in cells])]
    return build_table(heads, cells, numbers)


def _numeric(cells: Sequence[str]) -> bool:
    return bool(cells) and all(cell[:1].isdigit() or cell in ("", "-") for cell in cells)
