"""What `tarsus run` shows and leaves: its progress, its summary in words, its log and picture."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarsus.commands.base import FAILED, INTERRUPTED

if TYPE_CHECKING:
    import xarray as xr


def lines(n: dict[str, Any]) -> dict[str, str]:
    """A line for each thing to know of a run's summary, by its heading; empty where it has none."""
    # what the criteria found, then how the run went
    r = n["residuals"]
    return {
        "robot": (
            f"{n['robot']}, law {n['law']}, stepper {n['stepper']}, terrain {n['terrain']}, "
            f"dt {1e3 * n['dt']:g} ms"
        ),
        "walked": _walked(n),
        "height": (
            ""
            if n["height_final"] is None
            else f"{n['height_final']:.4f} m at the end, {n['height_min']:.4f} m at the lowest"
        ),
        "contact": (
            f"peak normal force {n['normal_force_max']:.1f} N, penetration"
            f" {1e3 * n['penetration_max']:.3f} mm, creep of sticking contacts"
            f" {_measure(n['creep_max'], 'm/s')}"
            if n["contacts"]
            else "there are no contacts"
        ),
        "solver": (
            f"{n['iterations_mean']:.2f} iterations per step, at most {n['iterations_max']}; "
            f"{n['unconverged_steps']} steps unconverged"
            if n["contacts"] or n["drift_max"] is not None
            else ""
        ),
        "residuals": (
            f"Signorini {_measure(r['signorini_J'], 'J')}, cone {_measure(r['cone_Ns'], 'N s')},"
            f" dissipation {_measure(r['dissipation_J'], 'J')}, motion"
            f" {_measure(r['equation_N'], 'N')}"
        ),
        "loops": (
            ""
            if n["drift_max"] is None
            else f"largest gap of a loop joint {n['drift_max']:.1e} m or rad"
        ),
        "energy": _energy(n["energy"]),
        "speed": (
            f"{n['steps_per_second']:,.0f} steps/s, {n['realtime_factor']:,.0f} times real time"
        ),
    }


def _measure(value: float | None, unit: str) -> str:
    """A residual with its unit, or "not applicable" where the stepper defines none."""
    return "not applicable" if value is None else f"{value:.1e} {unit}"


def _energy(e: dict[str, float]) -> str:
    """The ledger's shares that are not zero."""
    shares = {
        name: value for name, value in e.items() if name not in ("change", "unbalanced") and value
    }
    told = ", ".join(f"{name} {value:+.3g}" for name, value in shares.items())
    shown = f"{told} J; " if told else ""
    return f"{shown}change {e['change']:+.3g} J, balanced to {e['unbalanced']:.1e} J"


def _walked(n: dict[str, Any]) -> str:
    if "diverged" in n:
        return f"diverged after {n['duration']:g} s"
    end = ", and fell" if n["fell"] else ""
    end += "; interrupted" if "interrupted" in n else ""
    if n["height_final"] is None:
        return f"nowhere in {n['duration']:g} s, for its base is fixed{end}"
    return f"{n['distance']:.3f} m in {n['duration']:g} s: {n['mean_speed']:.3f} m/s{end}"


def log_file(out: Path, name: str) -> Path:
    """Where the log of a robot of this name goes."""
    from tarsus.files import file_name

    return out / f"{file_name(name)}.nc"


def picture(log: xr.Dataset, numbers: dict[str, Any], path: Path) -> Path:
    """The picture of a run beside its log, whole or not at all."""
    from tarsus.viewer.figure import run_figure, save

    title = (
        f"{numbers['robot']}, {numbers['law']}, dt {1e3 * numbers['dt']:g} ms:"
        f" {numbers['distance']:.2f} m in {numbers['duration']:g} s"
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
    for name, text in lines(numbers).items():
        if text and ("diverged" not in numbers or name in ("robot", "walked")):
            table.add_row(name, text)
    for warning in numbers["warnings"]:
        table.add_row("[yellow]warning[/]", warning)
    for file in files:
        table.add_row("written", str(file))
    console.print(table)


def ended(failure: Mapping[str, str], files: Sequence[Path]) -> int:
    """Why the run ended early, if it did, on standard error; returns the exit code."""
    kept = f"; the log up to there is in {files[0]}" if files else ""
    for text in failure.values():
        print(f"error: {text.removesuffix('.')}{kept}.", file=sys.stderr)
    return INTERRUPTED if "interrupted" in failure else FAILED if failure else 0


def with_bar(simulation: Any, duration: float, quiet: bool, to: Path | None) -> xr.Dataset:
    """Run, with a progress bar on a terminal unless `quiet`; the log, written to a file as well."""
    if quiet or not sys.stderr.isatty():
        return simulation.run(duration, to=to)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(simulation.robot.name, total=duration)
        return simulation.run(duration, lambda seconds: bar.update(task, completed=seconds), to)
