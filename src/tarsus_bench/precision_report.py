"""Output of `tarsus bench --precision`: a table and a figure for each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tarsus_bench.peer_bench import REFERENCE

MARKERS = "osD^vPX"  # of the variants of a simulator
SIZE = (8.0, 4.8)  # inches
MAX_DRAWN = 10.0  # m or rad: larger errors are those of a diverged run


def print_precision(results: Mapping[str, Any]) -> None:
    """Print a table per case, the settings, failed runs and missing simulators."""
    console = Console(highlight=False)
    for name, case in results["cases"].items():
        curves = [curve for curve in results["curves"] if curve["case"] == name]
        table = case_table(case, curves)
        # use the full width of the table in a pipe, too; a narrow terminal wraps its lines
        needed = console.measure(table, options=console.options.update(max_width=1000)).maximum
        Console(highlight=False, width=max(console.width, needed)).print(table)
    for key, value in results["settings"].items():
        console.print(f"{key}: {value}", markup=False)
    for curve in results["curves"]:
        if curve["failures"]:
            steps, reason = ", ".join(curve["failures"]), next(iter(curve["failures"].values()))
            text = f"failed: {curve['simulator']}, {curve['case']}, {steps}: {reason}"
            console.print(text, markup=False, style="red")
    for name, command in results["missing"].items():
        console.print(f"not measured because not installed: {name} ({command})", markup=False)


def case_table(case: Mapping[str, Any], curves: Sequence[Mapping[str, Any]]) -> Table:
    """Make a table with the error and the processor time of every run of a case."""
    table = Table(
        title=f"{case['title']}: error of the {case['error']}, processor time in ms per simulated"
        " second",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("simulator", no_wrap=True)
    dts = sorted({p["dt"] for curve in curves for p in curve["points"]}, reverse=True)
    for dt in dts:
        table.add_column(f"{1e3 * dt:g} ms", justify="right", no_wrap=True)
        table.add_column("time", justify="right", no_wrap=True)
    if not case["exact"]:
        table.add_column(f"limit to {REFERENCE}'s", justify="right")
    for curve in curves:
        points = {point["dt"]: point for point in curve["points"]}
        row = [curve["simulator"]]
        for dt in dts:
            point = points.get(dt)
            row += ["-", "-"] if point is None else [f"{point['error']:.1e}", _ms(point["time"])]
        if not case["exact"]:
            limit = curve["limit_difference"]
            row.append("-" if limit is None else f"{limit:.1e}")
        table.add_row(*row)
    return table


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}"


def draw_precision(results: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw the error over the processor time of each case; return the files.

    A simulator has one color; its variants have different markers.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    labels = list(dict.fromkeys(curve["simulator"] for curve in results["curves"]))
    engines = list(dict.fromkeys(label.partition(" ")[0] for label in labels))
    files = []
    for name, case in results["cases"].items():
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        for curve in results["curves"]:
            if curve["case"] != name:
                continue
            label = curve["simulator"]
            engine = label.partition(" ")[0]
            siblings = [each for each in labels if each.partition(" ")[0] == engine]
            points = [p for p in curve["points"] if 0 < p["error"] < MAX_DRAWN]
            axes.loglog(
                [1e3 * p["time"] for p in points],
                [p["error"] for p in points],
                color=f"C{engines.index(engine)}",
                marker=MARKERS[siblings.index(label) % len(MARKERS)],
                linewidth=2.0 if label == REFERENCE else 1.0,
                markersize=4.5,
                label=label,
            )
        axes.set_title(case["title"])
        axes.set_xlabel("processor time per simulated second / ms")
        axes.set_ylabel(f"error of the {case['error']}")
        axes.grid(True, which="major", alpha=0.3)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
        files.append(folder / f"precision_{name}.svg")
        figure.savefig(files[-1], metadata={"Date": None})
    return files
