"""HTML pages of an identification and of a ranking of laws."""

from __future__ import annotations

from html import escape

from tarsus.errors import join_names
from tarsus.identification.estimates import Estimate
from tarsus.identification.figures import draw_identification, draw_ranking
from tarsus.identification.laws import LawRanking
from tarsus.identification.run import Identification
from tarsus.viewer.html_page import build_document, build_table, embed_svg
from tarsus.viewer.number_format import interval

RESIDUALS = (
    "Residuals are differences between log and model, divided by the given noise: 1 means noise"
    " alone. The starts of windows are fitted."
)

CAPTION = (
    "Mean over windows and 95 % interval of resampled windows, with the number of parameters in"
    " brackets. Green: recommended; blue: not distinguishable from the best; gray: worse. All laws"
    " predict the same windows, so intervals of differences (below) are narrower than these."
)


def build_page(result: Identification) -> str:
    """Build the page of an identification: estimates, remarks and residuals."""
    # summary
    train, test = result.windows
    undetermined = [one.name for one in result.estimates if one.undetermined]
    count = f"{len(result.estimates) - len(undetermined)} of {len(result.estimates)} parameters"
    body = [
        f"<h1>Identified under {escape(result.law)}</h1>",
        f"<p>{count} from {train} windows; {_format_window_count(test)} held out. Residuals are"
        f" {result.after['all']:.3g} standard deviations of the noise"
        + (f", {result.held_out['all']:.3g} held out" if result.held_out else "")
        + f" ({result.before['all']:.3g} at the first guess).</p>",
    ]
    if result.remarks:
        items = "".join(f"<li>{escape(text)}</li>" for text in result.remarks)
        body += ["<h2>Remarks</h2>", f"<ul>{items}</ul>"]
    # estimates
    body += ["<h2>Estimates</h2>", _build_estimate_table(result.estimates)]
    if result.derived:
        body += ["<h3>Resulting inertias</h3>", _build_estimate_table(result.derived)]
    if result.correlated:
        rows = [[a, b, f"{by:.3f}"] for a, b, by in result.correlated]
        names = ["parameter", "and", "correlation"]
        body += ["<h3>Strongly correlated</h3>", build_table(names, rows, [2])]
    # residuals
    kinds = {"first guess": result.before, "identified": result.after, "held out": result.held_out}
    shown = {name: errors for name, errors in kinds.items() if errors}
    rows = [[what, *(f"{errors[what]:.3g}" for errors in shown.values())] for what in result.after]
    body += ["<h2>Residuals</h2>", f"<p>{RESIDUALS}</p>"]
    body.append(build_table(["quantity", *shown], rows, range(1, 1 + len(shown))))
    body.append(
        embed_svg(draw_identification(result), "estimates and residuals", "", "identification")
    )
    outcome = "converged" if result.converged else "did not converge"
    body.append(
        f'<p class="dim small">{result.simulated:,} windows simulated; the search {outcome} after'
        f" {result.rounds} rounds.</p>"
    )
    return build_document(f"Identified under {result.law}", body)


def build_ranking_page(result: LawRanking) -> str:
    """Build the page of a ranking: laws in order, their parameters, and laws that failed."""
    # recommendation
    good = [law.law for law in result.laws if law.is_indistinguishable]
    why = (
        "its error is the smallest, and the data distinguish it from all others."
        if len(good) == 1
        else f"the data cannot distinguish {join_names(good, len(good))}, and of these it has the"
        " fewest parameters."
    )
    body = [
        "<h1>Contact laws ranked</h1>",
        f"<p><strong>Choose {escape(result.chosen)}</strong>: {escape(why)}</p>",
        f"<p>Cross-validation: {result.windows} windows in {result.folds} folds, each predicted"
        f" with parameters from the other folds. {RESIDUALS}</p>",
        embed_svg(draw_ranking(result), "held-out errors", CAPTION, "ranking"),
    ]
    # table of errors
    rows = [
        [
            law.law + (" *" if law.is_indistinguishable else ""),
            f"{law.error:.3g}",
            f"{law.low:.3g} to {law.high:.3g}",
            f"{law.excess[0]:.3g}",
            f"{law.excess[1]:.3g} to {law.excess[2]:.3g}",
            str(law.parameters),
            f"{1e3 * law.dt:.3g}",
        ]
        for law in result.laws
    ]
    names = ["law", "error", "95 %", "excess over the best", "95 %", "parameters", "dt, ms"]
    body += ["<h2>Errors</h2>", build_table(names, rows, range(1, 7))]
    rows = [
        [law.law, ", ".join(f"{name} {value:.4g}" for name, value in law.values.items())]
        for law in result.laws
    ]
    body += [
        "<h2>Parameters fitted to all windows</h2>",
        build_table(["law", "parameters"], rows, ()),
    ]
    if result.failed:
        items = "".join(f"<li>{escape(text)}</li>" for text in result.failed)
        body += ["<h2>Not ranked</h2>", f"<ul>{items}</ul>"]
    return build_document("Contact laws ranked", body)


def _format_window_count(count: int) -> str:
    return "none" if not count else f"{count} more"


def _build_estimate_table(estimates: tuple[Estimate, ...]) -> str:
    """Build the table of estimates, with true values where they are known."""
    known = any(one.true is not None for one in estimates)
    names = ["parameter", "estimate", "95 % interval", "unit", "first guess"]
    names += ["true", "error"] if known else []
    rows = []
    for one in estimates:
        limits = "not determined" if one.undetermined else interval(one.low, one.high)
        notes = (
            f" (at the {one.bound}er end of its range)"
            if one.bound and not one.undetermined
            else ""
        )
        unit = "" if one.unit == "1" else one.unit.replace("^2", "²")
        row = [one.name + notes, f"{one.value:.5g}", limits, unit, f"{one.start:.4g}"]
        if known:
            row += ["" if one.true is None else f"{one.true:.4g}", one.error_text]
        rows.append(row)
    return build_table(names, rows, [1, 2, 4, 5, 6])
