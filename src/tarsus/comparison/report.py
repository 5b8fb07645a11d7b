"""The comparison as a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from tarsus.comparison.laws import Run, largest_stable_dt, spread
from tarsus.viewer.figure import COLOURS

COLUMNS = {
    "mean_speed": ("speed m/s", "{:.3f}", 1.0),
    "penetration_max": ("depth mm", "{:.2f}", 1e3),
    "creep_max": ("creep mm/s", "{:.2g}", 1e3),
    "normal_force_max": ("peak N", "{:.0f}", 1.0),
    "mean_load": ("load / weight", "{:.4f}", 1.0),
    "energy_residual_J": ("energy left over J", "{:.2g}", 1.0),
    "unconverged_steps": ("unconverged", "{:d}", 1),
    "steps_per_second": ("steps/s", "{:,.0f}", 1.0),
}


def rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The comparison as data: one row a run."""
    found = []
    for run in runs:
        row: dict[str, Any] = {"law": run.law, "dt": run.dt, "failure": run.failure}
        row.update({key: run.numbers.get(key) for key in (*COLUMNS, "fell", "residuals")})
        row["largest_stable_dt"] = largest_stable_dt(runs, run.law)
        row["speed_spread"] = spread(runs, run.law, "mean_speed")
        found.append(row)
    return found


def tell(runs: Sequence[Run]) -> None:
    """Print one row a run."""
    console = Console(highlight=False, width=150)
    table = Table()
    for column in ("law", "dt ms", *(title for title, _, _ in COLUMNS.values()), "largest dt ms"):
        table.add_column(column, justify="left" if column == "law" else "right")
    for run in runs:
        cells = [
            "" if run.numbers.get(key) is None else form.format(factor * run.numbers[key])
            for key, (_, form, factor) in COLUMNS.items()
        ]
        stable = largest_stable_dt(runs, run.law)
        ended = "[red]diverged[/]" if run.failure else ("[red]fell[/]" if run.numbers["fell"] else "")
        cells = [ended, *[""] * (len(COLUMNS) - 1)] if run.failure else [f"{cells[0]} {ended}".strip(), *cells[1:]]
        table.add_row(run.law, f"{1e3 * run.dt:g}", *cells, f"{1e3 * stable:g}" if stable else "none")
    console.print(table)
    for law in dict.fromkeys(run.law for run in runs):
        if (moved := spread(runs, law, "mean_speed")) is not None:
            console.print(f"[dim]{law}: speed moves by {moved:.4f} m/s between its two smallest steps[/]")


def _quiet_peak(run: Run, seconds: float) -> float:
    """The force that is exceeded in one sample of fifty only, N."""
    assert run.log is not None
    end = run.log["force_contact"].isel(time=slice(-round(seconds / run.dt), None), axis=0).values
    return float(np.quantile(end.max(axis=1), 0.98))


def picture(runs: Sequence[Run], path: Path, seconds: float = 1.0) -> None:
    """Normal force of the busiest foot and trunk height of every law at its smallest dt, the last `seconds`."""
    finest = {run.law: run for run in sorted(runs, key=lambda run: -run.dt) if run.log is not None and not run.failure}
    figure = Figure(figsize=(10, 1.3 * len(finest) + 3), layout="constrained")
    figure.suptitle("normal force of one foot / N (impacts of rigid laws are cut off), and trunk height", fontsize=11)
    ceiling = 1.2 * max(_quiet_peak(run, seconds) for run in finest.values())
    axes = figure.subplots(len(finest) + 1, 1, sharex=True, squeeze=False)[:, 0]
    for ax, (law, run), colour in zip(axes, finest.items(), COLOURS * 3, strict=False):
        log = run.log
        assert log is not None
        end = log.isel(time=slice(-round(seconds / run.dt), None))
        foot = int(log["impulse_contact"].isel(axis=0).sum("time").values.argmax())
        ax.plot(end["time"], end["force_contact"].isel(contact=foot, axis=0), color=colour, lw=1)
        peak = float(end["force_contact"].isel(contact=foot, axis=0).max())
        title = f"{law}, dt {1e3 * run.dt:g} ms, {log['contact'].values[foot]}, peak {peak:.0f} N"
        ax.set_title(title, loc="left", fontsize=9)
        ax.set_ylim(0, ceiling)
        axes[-1].plot(end["time"], end["q"].isel(coordinate=2), color=colour, lw=1, label=law)
    axes[-1].set_title("trunk height / m", loc="left", fontsize=9)
    axes[-1].set_xlabel("time / s")
    axes[-1].legend(ncols=4, frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.35))
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    part = path.with_name(path.name + ".part")
    figure.savefig(part, format="png", dpi=130)
    part.replace(path)
