"""What `tarsus run` shows and leaves: its progress, its summary in words, its log and picture."""

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
    """Where the log of a robot of this name goes."""
    from tarsus.files import file_name

    return out / f"{file_name(name)}.nc"


def picture(log: xr.Dataset, numbers: dict[str, Any], path: Path) -> Path:
    """The picture of a run beside its log, whole or not at all."""
    from tarsus.viewer.figure import run_figure, save

    went = "" if numbers["height_final"] is None else f"{numbers['distance']:.2f} m in "
    title = (
        f"{numbers['robot']}, {numbers['law']}, dt {1e3 * numbers['dt']:g} ms:"
        f" {went}{numbers['duration']:g} s"
    )
    save(run_figure(log, title), path.with_suffix(".png"))
    return path.with_suffix(".png")


def tell(numbers: dict[str, Any], files: list[Path]) -> None:
    """A summary to read."""
    from rich.console import Console
    from rich.table import Table

    # a table of two columns
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    # a run that diverged has few of them
    for name, text in summary_lines(numbers).items():
        if text and ("diverged" not in numbers or name in ("robot", "motion")):
            table.add_row(name, text)
    if numbers["sensors"] and not files:
        table.add_row("readings", "those of every step go into a log: --out FOLDER")
    for warning in numbers["warnings"]:
        table.add_row("[yellow]warning[/]", warning)
    for file in files:
        table.add_row("written", str(file))
    with console.capture() as drawn:
        console.print(table)
    print("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def ended(failure: Mapping[str, str], files: Sequence[Path]) -> int:
    """Why the run ended early, if it did, on standard error; returns the exit code."""
    kept = f"; the log up to there is in {files[0]}" if files else ""
    for text in failure.values():
        print(f"error: {text.removesuffix('.')}{kept}.", file=sys.stderr)
    return INTERRUPTED if "interrupted" in failure else FAILED if failure else 0
