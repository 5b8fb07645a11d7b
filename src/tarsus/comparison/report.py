"""The output of `tarsus compare`: the comparison as tables and a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tarsus.comparison.laws import LawRun
from tarsus.files import replacing
from tarsus.mujoco_runs.settings import printed
from tarsus.simulation.recording.attitude import floats, trunk_angles
from tarsus.viewer.colors import COLORS

Value = Callable[[dict[str, Any]], Any]


def _of(group: str, key: str) -> Value:
    return lambda numbers: numbers.get(group, {}).get(key)


MOTION: dict[str, tuple[str, str, float]] = {
    "mu": ("friction mu", "{:.2g}", 1.0),
    "mean_speed": ("mean speed / (m/s)", "{:.3f}", 1.0),
    "penetration_max": ("largest depth / mm", "{:.2f}", 1e3),
    "creep_max": ("largest creep / (mm/s)", "{:.2g}", 1e3),
    "normal_force_max": ("peak force / N", "{:.0f}", 1.0),
    "impulse_max": ("peak impulse / N s", "{:.3f}", 1.0),
    "mean_load": ("mean load / weight", "{:.4f}", 1.0),
    "steps_per_second": ("steps per second", "{:,.0f}", 1.0),
}
ENERGY: dict[str, tuple[str, str, Value]] = {
    "motors": ("motors / J", "{:.3g}", _of("energy", "motors")),
    "friction": ("friction / J", "{:.3g}", _of("energy", "friction")),
    "impact": ("impact / J", "{:.3g}", _of("energy", "impact")),
    "damping": ("damping / J", "{:.3g}", _of("energy", "damping")),
    "stabilization": ("stabilization / J", "{:.3g}", _of("energy", "stabilization")),
    "drift": ("drift / J", "{:.2g}", _of("energy", "drift")),
}
VIOLATIONS: dict[str, tuple[str, str, Value]] = {
    "signorini": ("Signorini / J", "{:.1e}", _of("residuals", "signorini_J")),
    "cone": ("cone / N s", "{:.1e}", _of("residuals", "cone_Ns")),
    "dissipation": ("dissipation / J", "{:.1e}", _of("residuals", "dissipation_J")),
    "motion": ("motion / N", "{:.1e}", _of("residuals", "equation_N")),
    "unconverged": ("unconverged steps", "{:d}", lambda numbers: numbers.get("unconverged_steps")),
}
TITLES = (
    "Motion and contact",
    "Energy ledger: work on the robot, positive where it gives energy",
    "Largest violations of the contact conditions",
)
BARS = "±: the larger difference from the same run at dt / 2 and at dt / 4"
NOTES = (
    "impact, damping, stabilization: normal work of the contacts, at touchdown, taking energy and"
    " giving energy; drift: energy error of the time integration",
    "Signorini: impulse of a contact that separates or pulls; cone: impulse outside the friction"
    " cone; dissipation: work that friction should have taken; motion: residual of the equation of"
    " motion; unconverged: steps whose solver did not meet its tolerance",
)
OTHERS = ("energy_residual_J", "unconverged_steps", "fell", "energy", "residuals")


def rows(runs: Sequence[LawRun]) -> list[dict[str, Any]]:
    """The comparison as data, one row per run.

    error_bars: how far each figure lies from those at dt / 2 and dt / 4; settings: MuJoCo's.
    """
    found = []
    for run in runs:
        row: dict[str, Any] = {"law": run.law, "dt": run.dt, "failure": run.failure}
        row.update({key: run.numbers.get(key) for key in (*MOTION, *OTHERS)})
        row.update(largest_stable_dt=run.largest_dt, error_bars=run.bars, notices=run.notices)
        row["settings"] = None if run.settings is None else asdict(run.settings)
        found.append(row)
    return found


def tell(runs: Sequence[LawRun]) -> None:
    """Print one row per run: its motion, then its energies and violations, then notices."""
    console = Console(highlight=False, width=150)
    tables = [_table(k) for k in range(len(TITLES))]

    # one row per run in each table
    for run in runs:
        name = (run.law, f"{1e3 * run.dt:g}")
        largest = f"{1e3 * run.largest_dt:.2g}" if run.largest_dt else ""
        if run.failure:
            tables[0].add_row(*name, "[red]diverged[/]", *[""] * (len(MOTION) - 1), largest)
            continue
        cells = [_cell(run, key, form, factor) for key, (_, form, factor) in MOTION.items()]
        fell = " [red]fell[/]" if run.numbers["fell"] else ""
        tables[0].add_row(*name, cells[0], cells[1] + fell, *cells[2:], largest)
        for table, columns in zip(tables[1:], (ENERGY, VIOLATIONS), strict=True):
            values = [(form, value(run.numbers)) for _, form, value in columns.values()]
            table.add_row(*name, *("" if v is None else form.format(v) for form, v in values))

    # what the abbreviations mean, and what the user should know of single laws
    bars = BARS if any(run.bars for run in runs) else ""
    for table, note in zip(tables, (bars, *NOTES), strict=True):
        console.print(table)
        if note:
            console.print(f"[dim]{note}[/]")
    for line in printed({run.law: run.settings for run in runs if run.settings}):
        console.print(f"[dim]{line}[/]")
    for law, notice in dict.fromkeys((run.law, notice) for run in runs for notice in run.notices):
        console.print(f"[yellow]{law}[/]: {notice}")


def _table(which: int) -> Table:
    """An empty table: of motion (0), of energy (1) or of violations (2)."""
    table = Table(title=TITLES[which], title_justify="left", box=SIMPLE_HEAD)
    columns = [column[0] for column in (MOTION, ENERGY, VIOLATIONS)[which].values()]
    last = ["largest stable dt / ms"] if which == 0 else []
    for name in ("law", "dt / ms", *columns, *last):
        table.add_column(name, justify="left" if name == "law" else "right")
    return table


def _cell(run: LawRun, key: str, form: str, factor: float) -> str:
    """A figure, with its error bar if the digits shown are not zero."""
    value, bar = run.numbers.get(key), run.bars.get(key, 0.0)
    if value is None:
        return ""
    told, around = form.format(factor * value), form.format(factor * bar)
    shows = key not in ("mu", "steps_per_second") and float(around.replace(",", "")) > 0
    return f"{told} ±{around}" if shows else told


def _quiet_peak(run: LawRun, seconds: float) -> float:
    """The 98 % quantile of the largest normal force, N."""
    assert run.log is not None
    end = run.log["force_contact"].isel(time=slice(-round(seconds / run.dt), None), axis=0).values
    return float(np.quantile(end.max(axis=1), 0.98))


def _band(
    ax: Axes, run: LawRun, seconds: float, value: Callable[[xr.Dataset], Any], color: str
) -> None:
    """Draw a quantity over the last `seconds`, with the band it spans at dt, dt / 2 and dt / 4."""
    assert run.log is not None
    end = run.log.isel(time=slice(-round(seconds / run.dt), None))
    time = end["time"].values
    lines = [np.asarray(value(end))]
    lines += [
        np.interp(time, o.log["time"].values, np.asarray(value(o.log)))
        for o in run.finer
        if o.log is not None
    ]
    ax.fill_between(
        time, np.min(lines, axis=0), np.max(lines, axis=0), color=color, alpha=0.25, lw=0
    )
    ax.plot(time, lines[0], color=color, lw=1, label=run.law)


def _pitch(log: xr.Dataset) -> Any:
    """Pitch of the trunk, degrees."""
    return np.rad2deg(trunk_angles(log).sel(angle="pitch").values)


def picture(runs: Sequence[LawRun], path: Path, seconds: float = 1.0) -> None:
    """Draw the last `seconds` of every law at its smallest dt.

    Normal force of the busiest foot, trunk height and trunk pitch.
    """
    # the finest run of every law that stayed finite
    finest = {
        run.law: run
        for run in sorted(runs, key=lambda run: -run.dt)
        if run.log is not None and not run.failure and "contact" in run.log.sizes
    }
    if not finest:
        return

    # one panel of force a law, then height and pitch of all laws
    figure = Figure(figsize=(10, 1.3 * len(finest) + 5), layout="constrained")
    figure.suptitle(
        "normal force of one foot / N (impacts of rigid laws are cut off), and trunk pose; bands:"
        " dt, dt/2, dt/4",
        fontsize=11,
    )
    ceiling = 1.2 * max(_quiet_peak(run, seconds) for run in finest.values())
    floating = all(run.log is not None and floats(run.log) for run in finest.values())
    panels = len(finest) + (2 if floating else 0)
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    for ax, (law, run), color in zip(axes, finest.items(), COLORS * 3, strict=False):
        assert run.log is not None
        end = run.log.isel(time=slice(-round(seconds / run.dt), None))
        foot = int(run.log["impulse_contact"].isel(axis=0).sum("time").values.argmax())
        _band(
            ax,
            run,
            seconds,
            lambda log, foot=foot: log["force_contact"].isel(contact=foot, axis=0),
            color,
        )
        peak = float(end["force_contact"].isel(contact=foot, axis=0).max())
        title = (
            f"{law}, dt {1e3 * run.dt:g} ms, {run.log['contact'].values[foot]}, peak {peak:.0f} N"
        )
        ax.set_title(title, loc="left", fontsize=9)
        ax.set_ylim(0, ceiling)
        if floating:
            _band(axes[-2], run, seconds, lambda log: log["q"].isel(coordinate=2), color)
            _band(axes[-1], run, seconds, _pitch, color)

    # titles, legend, file
    if floating:
        axes[-2].set_title("trunk height / m", loc="left", fontsize=9)
        axes[-1].set_title("trunk pitch / degrees", loc="left", fontsize=9)
        axes[-1].legend(
            ncols=4, frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.35)
        )
    axes[-1].set_xlabel("time / s")
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130)
