"""Output of `tarsus compare` as tables and as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from rich.markup import escape

from tarsus.comparison.laws import LawRun
from tarsus.mujoco_runs.settings import describe_sets
from tarsus.viewer.number_format import plus_minus, short_name
from tarsus.viewer.tables import TextTable, text_console

Value = Callable[[dict[str, Any]], Any]


def _get_figure(group: str, key: str) -> Value:
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
    "motors": ("motors / J", "{:.3g}", _get_figure("energy", "motors")),
    "friction": ("friction / J", "{:.3g}", _get_figure("energy", "friction")),
    "impact": ("impact / J", "{:.3g}", _get_figure("energy", "impact")),
    "damping": ("damping / J", "{:.3g}", _get_figure("energy", "damping")),
    "stabilization": ("stabilization / J", "{:.3g}", _get_figure("energy", "stabilization")),
    "drift": ("drift / J", "{:.2g}", _get_figure("energy", "drift")),
}
VIOLATIONS: dict[str, tuple[str, str, Value]] = {
    "signorini": ("Signorini / J", "{:.1e}", _get_figure("residuals", "signorini_J")),
    "cone": ("cone / N s", "{:.1e}", _get_figure("residuals", "cone_Ns")),
    "dissipation": ("dissipation / J", "{:.1e}", _get_figure("residuals", "dissipation_J")),
    "motion": ("motion / N", "{:.1e}", _get_figure("residuals", "equation_N")),
    "unconverged": ("unconverged steps", "{:d}", lambda numbers: numbers.get("unconverged_steps")),
}
TITLES = (
    "Motion and contact",
    "Energy ledger: work on the robot, positive if it adds energy",
    "Largest violations of the contact conditions",
)
BARS = "±: the larger difference from the same run at dt / 2 and at dt / 4"
NOTES = (
    "impact, damping, stabilization: normal work of the contacts at touchdown, removing energy, and"
    " adding energy; drift: energy error of the time integration",
    "Signorini: impulse of a contact that separates or pulls; cone: impulse outside the friction"
    " cone; dissipation: work that friction should have taken; motion: residual of the equation of"
    " motion; unconverged: steps whose solver did not meet its tolerance",
)
OTHER_FIGURES = ("energy_residual_J", "unconverged_steps", "fell", "energy", "residuals")


def build_rows(runs: Sequence[LawRun]) -> list[dict[str, Any]]:
    """Convert the comparison to data, one row per run.

    `error_bars` holds the largest difference of each figure from those at dt / 2 and dt / 4;
    `settings` holds MuJoCo's settings, or None.
    """
    table = []
    for run in runs:
        row: dict[str, Any] = {"law": run.law, "dt": run.dt, "failure": run.failure}
        row.update({key: run.numbers.get(key) for key in (*MOTION, *OTHER_FIGURES)})
        row.update(largest_stable_dt=run.largest_dt, error_bars=run.bars, notices=run.warnings)
        row["settings"] = None if run.settings is None else asdict(run.settings)
        table.append(row)
    return table


def print_tables(runs: Sequence[LawRun]) -> None:
    """Print tables of motion, energy and violations with one row per run, then warnings."""
    motion, energy, violations = list[list[str]](), list[list[str]](), list[list[str]]()

    # one row per run in each table
    for run in runs:
        name = [escape(short_name(run.law)), f"{1e3 * run.dt:g}"]
        largest = f"{1e3 * run.largest_dt:.2g}" if run.largest_dt else ""
        if run.failure:
            motion.append([*name, "[red]diverged[/]", *[""] * (len(MOTION) - 1), largest])
            continue
        cells = [_format_cell(run, key, form, factor) for key, (_, form, factor) in MOTION.items()]
        cells[1] += " [red]fell[/]" if run.numbers["fell"] else ""
        motion.append([*name, *cells, largest])
        for table, columns in ((energy, ENERGY), (violations, VIOLATIONS)):
            values = [(form, value(run.numbers)) for _, form, value in columns.values()]
            table.append([*name, *("" if v is None else form.format(v) for form, v in values)])

    # tables with explanations of their columns, then warnings about single laws
    console = text_console()
    bars = BARS if any(run.bars for run in runs) else ""
    for index, (cells, note) in enumerate(
        zip((motion, energy, violations), (bars, *NOTES), strict=True)
    ):
        last = ["largest stable dt / ms"] if index == 0 else []
        columns = [column[0] for column in (MOTION, ENERGY, VIOLATIONS)[index].values()]
        head = ["law", "dt / ms", *columns, *last]
        TextTable(head, cells, ("law",), keys=2, title=TITLES[index]).print(console)
        if note:
            console.print(f"[dim]{note}[/]")
    for line in describe_sets({run.law: run.settings for run in runs if run.settings}):
        console.print(f"[dim]{line}[/]")
    messages = dict.fromkeys((run.law, message) for run in runs for message in run.warnings)
    for law, message in messages:
        console.print(f"[yellow]{escape(short_name(law))}[/]: {escape(message)}")


def _format_cell(run: LawRun, key: str, form: str, factor: float) -> str:
    """Format a figure with its error bar."""
    value, bar = run.numbers.get(key), run.bars.get(key, 0.0)
    if value is None:
        return ""
    if key in ("mu", "steps_per_second"):
        return form.format(factor * value)
    return plus_minus(factor * value, factor * bar, form)
