"""Output of `tarsus run`: the summary on the terminal, the log file and the plot."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarsus.commands.base import FAILED, INTERRUPTED
from tarsus.simulation.recording.summary_lines import summary_lines

if TYPE_CHECKING:
    import xarray as xr


def log_file(out: Path, name: str) -> Path:
    """Return the path of the log of the robot `name` in the folder `out`."""
    from tarsus.files import file_name

    return out / f"{file_name(name)}.nc"


def save_plot(log: xr.Dataset, summary: dict[str, Any], path: Path) -> Path:
    """Draw the log, save the plot next to `path` as .png, and return its path."""
    from tarsus.viewer.figure import run_figure, save

    distance = "" if summary["height_final"] is None else f"{summary['distance']:.2f} m in "
    title = (
        f"{summary['robot']}, {summary['law']}, dt = {1e3 * summary['dt']:g} ms:"
        f" {distance}{summary['duration']:g} s"
    )
    save(run_figure(log, title), path.with_suffix(".png"))
    return path.with_suffix(".png")


def print_summary(summary: dict[str, Any], files: list[Path]) -> None:
    """Print the summary of a run, its warnings and the files that were written."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    # most rows mean nothing for a run that diverged
    for name, text in summary_lines(summary).items():
        if text and ("diverged" not in summary or name in ("robot", "motion")):
            table.add_row(name, text)
    if summary["sensors"] and not files:
        table.add_row("sensors", "to save the readings of every step, add --out FOLDER")
    for warning in summary["warnings"]:
        table.add_row("[yellow]warning[/]", warning)
    for file in files:
        table.add_row("wrote", str(file))
    with console.capture() as capture:
        console.print(table)
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def report_failure(failure: Mapping[str, str], files: Sequence[Path]) -> int:
    """Print to standard error why the run ended early, if it did, and return the exit code."""
    saved = f"; the log up to that time is in {files[0]}" if files else ""
    for text in failure.values():
        print(f"error: {text.removesuffix('.')}{saved}.", file=sys.stderr)
    return INTERRUPTED if "interrupted" in failure else FAILED if failure else 0
